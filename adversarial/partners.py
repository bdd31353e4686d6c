"""Finds partners: entities like the one that a near-miss asks about, whose claim has another label.

Near-misses are made in pairs, one false and one unknown. Both ask about the same *anchor* (a term
of the claim) in the same words and share their facts; they differ in the entity on the varying
side only. So neither the strategy nor the question nor the facts tell which of the two is which.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from random import Random

from cards.generation.balance import (
    MAX_SAMPLED_NAMES,
    compute_dissimilarity,
    count_shared_words,
    find_frequent_words,
)
from cards.generation.graph_lookup import GraphLookup
from cards.generation.pools import Pool
from cards.leakage.degrees import DegreeCounter
from kg.claims import Label

MAX_USES = 2
"""Maximum number of pairs of one predicate in which an entity is on the varying side."""
MAX_CANDIDATES = 40
"""Maximum number of random entities compared with the one that a partner is sought for."""
MAX_PROPOSALS = 3
"""Maximum number of partners proposed from one source, the most similar ones first."""
MAX_EXACT_DEGREE = 4
"""Numbers of links up to this one must be equal, larger ones have the same number of binary digits:
5 to 7, 8 to 15 …"""


class Partners:
    """Proposes partners for one predicate and varying side.

    Args:
        pool: the entities on the varying side.
        rng: the random generator.
    """

    def __init__(self, pool: Pool, rng: Random) -> None:
        self.pool, self.rng = pool, rng
        self.lookup: GraphLookup = pool.lookup
        self.counter = DegreeCounter(
            self.lookup.graph_index, self.lookup.closure_index, self.lookup
        )
        self.uses: Counter[int] = Counter()
        self._degrees_cache: dict[int, tuple[int, int]] = {}

    def propose(self, x: int, anchor: int, label: Label, *, strict: bool) -> list[int]:
        """Proposes entities whose claim with the anchor may have a label.

        The likeliest sources come first, and the most similar entities of each.

        Args:
            x: the entity that they must be similar to.
            anchor: the other term of the claim.
            label: C or U.
            strict: whether partners must have the same classes and frequent words as ``x``; else
                one common class is enough, or that neither has any. Degrees are alike in any case.
        """
        if self.lookup.terms.is_literal(x) or self.uses[x] >= MAX_USES:
            return []
        seen = {x, anchor}
        proposals: list[int] = []
        for source in self._list_false(anchor) if label == "C" else self._list_unknown():
            suitable = [
                y
                for y in source
                if y not in seen
                and self.uses[y] < MAX_USES
                and not self.pool.is_entailed(y, anchor)
                and self._is_similar(x, y, anchor, strict=strict)
            ]
            suitable.sort(key=lambda y: self._compute_distance(x, y))
            seen.update(suitable)
            proposals += suitable[:MAX_PROPOSALS]
        return proposals

    def choose_true(self, x: int, anchor: int, *, strict: bool) -> int | None:
        """Chooses an entity for which the anchor is true, as similar to ``x`` as possible."""
        if self.lookup.terms.is_literal(x):
            return None
        holders = [
            e
            for e in self._sample(self.pool.get_holders(anchor))
            if e not in (x, anchor)
            and self.lookup.is_nameable(e)
            and self._is_similar(x, e, anchor, strict=strict)
        ]
        return min(holders, key=lambda e: self._compute_distance(x, e), default=None)

    @cached_property
    def entities_without_anchor(self) -> list[int]:
        """Entities of the usual classes of this side that have no anchor in the closure."""
        rows = self.pool.anchor_rows
        return [x for x in self.pool.members if x not in rows]

    @cached_property
    def _holders(self) -> list[int]:
        return list(self.pool.anchor_rows)

    @cached_property
    def _denied_by_anchor(self) -> dict[int, list[int]]:
        """Anchor → entities whose claim with it the graph denies."""
        denied: dict[int, list[int]] = {}
        for fact in itertools.chain.from_iterable(self.lookup.denials.values()):
            if fact.p == self.pool.p:
                x, anchor = (fact.s, fact.o) if self.pool.varying == "subj" else (fact.o, fact.s)
                denied.setdefault(anchor, []).append(x)
        return denied

    def _list_false(self, anchor: int) -> Iterator[list[int]]:
        """Yields entities that may contradict: denied ones, those on a chain, other holders."""
        yield self._sample(self._denied_by_anchor.get(anchor, []))
        if not self.lookup.terms.is_literal(anchor):
            yield self._sample(self.pool.get_anchors(anchor))
        yield self._sample(self._holders)

    def _list_unknown(self) -> Iterator[list[int]]:
        """Yields entities of which nothing may be known: those without an anchor, then others."""
        yield self._sample(self.entities_without_anchor)
        yield self._sample(self._holders)

    def _sample(self, terms: Iterable[int]) -> list[int]:
        term_list = terms if isinstance(terms, list) else list(terms)
        if len(term_list) <= MAX_CANDIDATES:
            return term_list
        return self.rng.sample(term_list, MAX_CANDIDATES)

    @cached_property
    def _frequent_words(self) -> frozenset[str]:
        rng, sampled = self.rng, []
        for terms in (self._holders, self.entities_without_anchor):
            sampled += rng.sample(terms, min(MAX_SAMPLED_NAMES, len(terms)))
        return find_frequent_words(self.lookup, sampled)

    def _is_similar(self, x: int, y: int, anchor: int, *, strict: bool) -> bool:
        lookup = self.lookup
        types, other_types = set(lookup.get_types(x)), set(lookup.get_types(y))
        if self._get_levels(x) != self._get_levels(y):
            return False
        if not strict:
            return types == other_types or bool(types & other_types)
        words, other_words = lookup.get_label_words(x), lookup.get_label_words(y)
        return (
            types == other_types
            and words & self._frequent_words == other_words & self._frequent_words
            and count_shared_words(lookup, x, anchor) == count_shared_words(lookup, y, anchor)
        )

    def _compute_distance(self, x: int, y: int) -> float:
        degrees = zip(self._get_degrees(x), self._get_degrees(y), strict=True)
        return compute_dissimilarity(self.lookup, self.pool.p, x, y) + sum(
            2 * abs(math.log2((1 + n) / (1 + m))) for n, m in degrees
        )

    def _get_levels(self, x: int) -> list[int]:
        return [
            n if n <= MAX_EXACT_DEGREE else MAX_EXACT_DEGREE + n.bit_length()
            for n in self._get_degrees(x)
        ]

    def _get_degrees(self, x: int) -> tuple[int, int]:
        """Returns the numbers of links to and from ``x``, as the audit counts them."""
        degrees = self._degrees_cache.get(x)
        if degrees is None:
            counter, is_subject = self.counter, self.pool.varying == "subj"
            degrees = self._degrees_cache[x] = (
                counter.count_of_subject if is_subject else counter.count_of_object
            )(x, self.pool.p)
        return degrees
