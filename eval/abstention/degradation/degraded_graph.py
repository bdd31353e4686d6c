"""Drops or replaces a share of a graph's facts, and says the same of the facts on a card.

Facts are the triples that a card may state. Types, labels, schema and denials stay, as do facts
about blank nodes. Which facts are damaged depends on the seed and the facts alone, and those of a
smaller share are among those of a larger one, so that the points of a curve can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from cards.card import Card
from kg.base.errors import RecordError
from kg.claims import Claim
from kg.fact_predicates import find_fact_predicates
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.triples.index import Triple

_MAX_ATTEMPTS = 20
"""Maximum number of other values that are tried for one fact."""


class Level(NamedTuple):
    """How much of a graph is damaged: shares of its facts."""

    dropped: float = 0.0
    replaced: float = 0.0

    @property
    def name(self) -> str:
        """The level as the name of a folder: ``dropped-10``, ``replaced-2.5``, ``intact``."""
        parts = [
            f"{kind}-{100 * share:g}"
            for kind, share in (("dropped", self.dropped), ("replaced", self.replaced))
            if share
        ]
        return "-".join(parts) or "intact"


@dataclass(frozen=True)
class DegradedGraph:
    """A graph with some of its facts dropped or replaced.

    Attributes:
        graph: the graph.
        dropped: the facts that it lacks.
        replaced: the facts that it lacks, each with the fact that it has instead.
    """

    graph: Graph
    dropped: frozenset[Claim]
    replaced: dict[Claim, Claim]

    def rewrite_fact(self, fact: Claim) -> Claim | None:
        """Returns what the graph has instead of a fact: itself, another one, or nothing."""
        return None if fact in self.dropped else self.replaced.get(fact, fact)


class GraphDegrader:
    """Damages one graph at several levels.

    Args:
        kb: the graph that the cards were made from.
        seed: decides which facts are damaged.
    """

    def __init__(self, kb: KnowledgeBase, seed: int) -> None:
        self._kb = kb
        self._index = kb.graph.index
        self._seed = seed
        predicates = find_fact_predicates(kb.domain, self._index)
        blanks = self._index.terms.blanks
        self._facts: list[Triple] = [
            (s, p, o)
            for p in predicates
            for s, o in self._index.iter_pairs(p)
            if s not in blanks and o not in blanks
        ]
        values: dict[int, set[int]] = {}
        for _, p, o in self._facts:
            values.setdefault(p, set()).add(o)
        self._values = {p: sorted(found, key=self._get_text) for p, found in values.items()}

    @property
    def n_facts(self) -> int:
        """Number of facts that can be damaged."""
        return len(self._facts)

    def degrade(self, level: Level) -> DegradedGraph:
        """Returns the graph with shares of its facts dropped and replaced.

        A fact that is to be dropped is not replaced as well.
        """
        dropped = set(self._facts_to_drop[: round(level.dropped * self.n_facts)])
        replaced: dict[Triple, Triple] = {}
        n_replaced = round(level.replaced * self.n_facts)
        for fact in self._facts_to_replace if n_replaced else ():
            if len(replaced) == n_replaced:
                break
            other = None if fact in dropped else self._choose_other_value(fact)
            if other is not None:
                replaced[fact] = other
        graph = self._kb.graph.without(dropped | replaced.keys())
        graph = graph.with_claims(map(self._to_claim, replaced.values()))
        return DegradedGraph(
            graph,
            frozenset(map(self._to_claim, dropped)),
            {self._to_claim(old): self._to_claim(new) for old, new in replaced.items()},
        )

    @cached_property
    def _facts_to_drop(self) -> list[Triple]:
        """All facts in the order in which they are dropped."""
        return self._rank_facts("drop")

    @cached_property
    def _facts_to_replace(self) -> list[Triple]:
        """All facts in the order in which they are replaced."""
        return self._rank_facts("replace")

    def _rank_facts(self, purpose: str) -> list[Triple]:
        return sorted(self._facts, key=lambda fact: self._hash_fact(purpose, fact))

    def _choose_other_value(self, fact: Triple) -> Triple | None:
        """Chooses a value of the same predicate that the subject does not have."""
        s, p, _ = fact
        values = self._values[p]
        for attempt in range(_MAX_ATTEMPTS):
            digest = self._hash_fact(f"value {attempt}", fact)
            o = values[int.from_bytes(digest) % len(values)]
            if o != s and not self._index.has_triple(s, p, o):
                return s, p, o
        return None

    def _hash_fact(self, purpose: str, fact: Triple) -> bytes:
        parts = (str(self._seed), purpose, *map(self._get_text, fact))
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest()

    def _to_claim(self, fact: Triple) -> Claim:
        return Claim(*map(self._get_text, fact))

    def _get_text(self, term: int) -> str:
        return self._index.terms.get_text(term)


def list_degraded_sentences(
    cards: Iterable[Card], degraded: DegradedGraph, kb: KnowledgeBase, where: str
) -> dict[str, str | None]:
    """Returns what a card says instead of a sentence; ``None`` where it says nothing.

    Sentences that stay as they are do not occur.

    Args:
        cards: the cards.
        degraded: the graph.
        kb: words the facts that replace others.
        where: the card file, for messages.

    Raises:
        RecordError: a card does not say which triples its facts state.
    """
    changed: dict[str, str | None] = {}
    for card in cards:
        triples = card.meta.get("triples")
        if not isinstance(triples, list) or len(triples) != len(card.facts):
            raise RecordError(
                f"card {card.id!r} does not say which triples its facts state (meta.triples)",
                where=where,
                hint="Use cards made by `epoche cards`.",
            )
        for sentence, triple in zip(card.facts, triples, strict=True):
            fact = _read_fact(triple)
            if fact is None or (other := degraded.rewrite_fact(fact)) == fact:
                continue
            changed[sentence] = None if other is None else kb.verbaliser.render_fact(other)
    return changed


def _read_fact(triple: Any) -> Claim | None:
    """Returns the claim of an entry of ``meta.triples``; ``None`` for a denied one."""
    if not isinstance(triple, dict) or "denied" in triple:
        return None
    return Claim(str(triple.get("subj")), str(triple.get("pred")), str(triple.get("obj")))
