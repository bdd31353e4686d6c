"""A knowledge base: graph, shapes, oracle, labels and words opened together, in one place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from kg.base.errors import MissingFileError, MissingShapesError, UnknownPredicateError
from kg.claims import Regime
from kg.domain import Domain, adhoc_domain, load_domain
from kg.graph import Graph
from kg.loading import count_as_old, no_garbage_collection
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import iri_tail
from kg.words.labels import Labels
from kg.words.phrasing import split_name
from kg.words.plain_text import plain
from kg.words.verbalise import Verbaliser

Engine = Literal["incremental", "pyshacl"]

DEFAULT_DOMAIN = "rivers"


@dataclass(frozen=True)
class KnowledgeBase:
    """Everything the stages need to know about one graph."""

    domain: Domain
    graph: Graph
    shapes: Shapes
    oracle: Oracle
    labels: Labels
    words: Verbaliser

    @classmethod
    def open(
        cls,
        domain: str | Path | Domain | None = None,
        graph: Sequence[Path | str] = (),
        shapes: Sequence[Path | str] = (),
        regime: Regime | None = None,
        engine: Engine = "incremental",
    ) -> KnowledgeBase:
        """Loads a domain, or a graph with its shapes, or a domain with either replaced.

        Args:
            domain: shipped name, folder, ``domain.toml`` or a ``Domain``; the rivers when neither
                it nor ``graph`` is given.
            graph: graph files instead of the domain's.
            shapes: shapes files instead of the domain's.
            regime: entailment regime instead of the domain's.
            engine: which engine checks shapes.

        Raises:
            MissingShapesError: ``graph`` without ``shapes`` and without a domain.
            EpocheError: whatever reading the domain, the graph or the shapes found wrong.
        """
        if isinstance(domain, Domain):
            chosen = domain
        elif domain is not None or not graph:
            chosen = load_domain(domain if domain is not None else DEFAULT_DOMAIN)
        else:
            chosen = adhoc_domain(graph, shapes)
        chosen = _with_files(chosen, graph, shapes, regime)
        if not chosen.shapes_files:
            raise MissingShapesError(
                "no shapes given, so nothing could ever be contradictory",
                where=", ".join(map(str, chosen.graph_files)),
                hint="Give a SHACL file with --shapes.",
            )
        _require_built(chosen)
        # What is made here stays: the collector, were it on, would walk the whole graph again and
        # again while shapes are read.
        with no_garbage_collection():
            loaded = Graph.load(chosen.graph_files)
            compiled = Shapes.load(chosen.shapes_files)
            oracle = Oracle(
                loaded,
                compiled,
                regime=chosen.regime,
                unique_names=chosen.unique_names,
                engine=engine,
            )
            labels = Labels(loaded, languages=chosen.languages)
            words = Verbaliser(chosen, labels, loaded, oracle.closure, compiled)
            count_as_old()
            return cls(chosen, loaded, compiled, oracle, labels, words)

    @classmethod
    def shared(
        cls,
        domain: str | None = None,
        graph: Sequence[Path | str] = (),
        shapes: Sequence[Path | str] = (),
    ) -> KnowledgeBase:
        """As ``open``, but a second call with unchanged files returns the same object.

        For systems that run in one process and all need the same graph.
        """
        files = tuple(map(str, graph)), tuple(map(str, shapes))
        stamps = tuple(_stamp(Path(name)) for group in files for name in group)
        return _shared(domain, *files, stamps)

    def with_label(self, pred: str, label: str) -> KnowledgeBase:
        """The same knowledge base with another name for one predicate (``--pred-label``)."""
        return replace(self, words=self.words.with_label(pred, label))

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """Predicates that occur in the closure, in the graph's order, then the inferred ones."""
        terms = self.graph.index.terms
        order = dict.fromkeys(self.graph.index.predicates())
        order.update(dict.fromkeys(self.oracle.closure.index.predicates()))
        return tuple(terms.text(pred) for pred in order)

    def resolve_predicate(self, text: str) -> str:
        """The predicate that ``text`` means: an IRI, CURIE, local name or label.

        Raises:
            UnknownPredicateError: none or several; the hint names the nearest, or all of them.
        """
        known = self.predicates
        for candidate in (text, text.strip("<>"), *self._expansions(text)):
            if candidate in known:
                return candidate
        wanted = _key(text)
        for spelt in (iri_tail, self.words.label, self.labels.label):
            hits = [pred for pred in known if wanted and _key(spelt(pred)) == wanted]
            if len(hits) == 1:
                return hits[0]
            if hits:
                raise UnknownPredicateError(
                    f"{plain(text)!r} means several predicates",
                    where=self._where(),
                    hint=f"Give one by IRI: {', '.join(hits[:5])}.",
                )
        raise UnknownPredicateError(
            f"predicate {plain(text)!r} does not occur in the graph",
            where=self._where(),
            hint=self._nearest_predicates(text),
        )

    def _expansions(self, text: str) -> list[str]:
        prefix, colon, rest = text.partition(":")
        if not colon:
            return []
        return [
            p[prefix] + rest for p in (self.domain.prefixes, self.graph.prefixes) if prefix in p
        ]

    def _where(self) -> str:
        return ", ".join(map(str, self.domain.graph_files))

    def _nearest_predicates(self, text: str) -> str:
        from rapidfuzz import fuzz, process

        spellings: dict[str, str] = {}
        for pred in self.predicates:
            for spelt in (pred, iri_tail(pred), self.words.label(pred)):
                spellings.setdefault(_key(spelt) or spelt, pred)
        wanted = _key(iri_tail(text)) or text[:200]
        hits = process.extract(wanted, list(spellings), scorer=fuzz.WRatio, limit=6)
        nearest = dict.fromkeys(spellings[spelling] for spelling, score, _ in hits if score >= 50)
        if nearest:
            return f"Nearest: {', '.join(list(nearest)[:3])}."
        return f"The graph has: {', '.join(self.predicates[:8])}."


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", split_name(text[:1_000]).casefold())


def _require_built(domain: Domain) -> None:
    """Says how to make a graph that is built where it is used and was not yet."""
    for file in domain.graph_files:
        if domain.built_by and not file.exists():
            raise MissingFileError(
                f"the graph of {domain.name} is built, not shipped, and was not built yet",
                where=str(file),
                hint=f"Run: {domain.built_by}",
            )


def _with_files(
    domain: Domain,
    graph: Sequence[Path | str],
    shapes: Sequence[Path | str],
    regime: Regime | None,
) -> Domain:
    import msgspec

    return msgspec.structs.replace(
        domain,
        graph_files=tuple(map(Path, graph)) or domain.graph_files,
        shapes_files=tuple(map(Path, shapes)) or domain.shapes_files,
        regime=regime or domain.regime,
    )


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)  # Opening it names what is wrong.
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _shared(
    domain: str | None,
    graph: tuple[str, ...],
    shapes: tuple[str, ...],
    _stamps: tuple[tuple[int, int], ...],
) -> KnowledgeBase:
    return KnowledgeBase.open(domain, graph, shapes)
