"""Opens a knowledge base: a graph with its shapes, oracle, labels and verbaliser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kg.base.errors import MissingFileError, MissingShapesError, UnknownPredicateError
from kg.base.plain_text import clean_text
from kg.claims import Regime
from kg.domain import Domain, load_domain, make_adhoc_domain
from kg.entailment import Closure
from kg.graph import Graph
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import iri_tail
from kg.triples.loader import pause_garbage_collection, promote_gc_objects
from kg.words.label_grammar import split_name
from kg.words.labels import Labels
from kg.words.verbaliser import Verbaliser

if TYPE_CHECKING:
    from kg.text.facts.evidence import Evidence

Engine = Literal["incremental", "pyshacl", "pyrudof"]

DEFAULT_DOMAIN = "rivers"


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """A graph with its shapes and domain, and the objects that commands build from them."""

    domain: Domain
    graph: Graph
    shapes: Shapes
    oracle: Oracle
    labels: Labels
    verbaliser: Verbaliser
    left_out: frozenset[str] = frozenset()
    """Nodes that no card may mention, because they break the shapes."""

    @classmethod
    def open(
        cls,
        domain: str | Path | Domain | None = None,
        graph: Sequence[Path | str] = (),
        shapes: Sequence[Path | str] = (),
        regime: Regime | None = None,
        engine: Engine = "incremental",
    ) -> KnowledgeBase:
        """Opens a domain's knowledge base, or that of a graph and shapes without a domain.

        Args:
            domain: name of a shipped domain, its folder, its ``domain.toml`` or a ``Domain``;
                by default ``DEFAULT_DOMAIN`` if no ``graph`` is given, else no domain.
            graph: graph files, used instead of the domain's.
            shapes: shapes files, used instead of the domain's.
            regime: entailment regime, used instead of the domain's.
            engine: the engine that checks shapes.

        Raises:
            MissingShapesError: ``graph`` without ``shapes`` and without a domain.
            EpocheError: the domain, the graph or the shapes cannot be read.
        """
        if isinstance(domain, Domain):
            resolved_domain = domain
        elif domain is not None or not graph:
            resolved_domain = load_domain(domain if domain is not None else DEFAULT_DOMAIN)
        else:
            resolved_domain = make_adhoc_domain(graph, shapes)
        resolved_domain = _apply_overrides(resolved_domain, graph, shapes, regime)
        if not resolved_domain.shapes_files:
            raise MissingShapesError(
                "no shapes given; without shapes no claim can be contradictory",
                where=", ".join(map(str, resolved_domain.graph_files)),
                hint="Give a SHACL file with --shapes.",
            )
        _require_built_graph(resolved_domain)
        # All objects created here stay alive, so the garbage collector would traverse the whole
        # graph repeatedly without freeing anything.
        with pause_garbage_collection():
            loaded_graph = Graph.load(resolved_domain.graph_files)
            loaded_shapes = Shapes.load(resolved_domain.shapes_files)
            oracle = Oracle(
                loaded_graph,
                loaded_shapes,
                regime=resolved_domain.regime,
                unique_names=resolved_domain.unique_names,
                engine=engine,
            )
            labels = Labels(
                loaded_graph,
                resolved_domain.languages,
                resolved_domain.naming_predicates,
                resolved_domain.qualifiers,
                resolved_domain.coded_names,
            )
            verbaliser = Verbaliser(
                resolved_domain, labels, loaded_graph, oracle.closure, loaded_shapes
            )
            promote_gc_objects()
            return cls(resolved_domain, loaded_graph, loaded_shapes, oracle, labels, verbaliser)

    @classmethod
    def open_cached(
        cls,
        domain: str | None = None,
        graph: Sequence[Path | str] = (),
        shapes: Sequence[Path | str] = (),
        engine: Engine = "incremental",
    ) -> KnowledgeBase:
        """Opens a knowledge base like ``open``; a repeated call with unchanged files reuses it.

        For several systems that run in one process and use the same graph.
        """
        files = tuple(map(str, graph)), tuple(map(str, shapes))
        stamps = tuple(_get_file_stamp(Path(name)) for group in files for name in group)
        return _open_cached(domain, *files, engine, stamps)

    def with_predicate_label(self, pred: str, label: str) -> KnowledgeBase:
        """Returns a copy that uses another label for one predicate (``--pred-label``)."""
        return replace(self, verbaliser=self.verbaliser.with_label(pred, label))

    def with_graph(self, graph: Graph, closure: Closure) -> KnowledgeBase:
        """Returns a knowledge base of another graph over the same terms, named by the same labels.

        Args:
            graph: a graph whose names are those of this one: a part of it, say.
            closure: its closure by the domain's regime.
        """
        oracle = Oracle(
            closure,
            self.shapes,
            unique_names=self.domain.unique_names,
            engine=self.oracle.engine,
        )
        verbaliser = self.verbaliser.with_graph(graph, oracle.closure)
        return replace(self, graph=graph, oracle=oracle, verbaliser=verbaliser)

    @cached_property
    def evidence(self) -> Evidence | None:
        """The passages that the graph was extracted from; None if the domain names none.

        Raises:
            EpocheError: a file is missing or not valid.
        """
        if self.domain.passages_file is None or self.domain.quotes_file is None:
            return None
        from kg.text.facts.evidence import Evidence

        return Evidence.load(self.domain.passages_file, self.domain.quotes_file)

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """Predicates of the closure: those of the graph in its order, then inferred ones."""
        terms = self.graph.index.terms
        predicate_ids = dict.fromkeys(self.graph.index.list_predicates())
        predicate_ids.update(dict.fromkeys(self.oracle.closure.index.list_predicates()))
        return tuple(terms.get_text(pred) for pred in predicate_ids)

    def resolve_predicate(self, text: str) -> str:
        """Finds the predicate with the given IRI, CURIE, local name or label.

        Raises:
            UnknownPredicateError: no predicate matches (the hint suggests similar ones), or several
                do (the hint lists up to five).
        """
        predicates = self.predicates
        for candidate in (text, text.strip("<>"), *self._expand_prefix(text)):
            if candidate in predicates:
                return candidate
        normalised = _normalise_name(text)
        for get_name in (iri_tail, self.verbaliser.get_label, self.labels.get_label):
            matches = [
                pred
                for pred in predicates
                if normalised and _normalise_name(get_name(pred)) == normalised
            ]
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise UnknownPredicateError(
                    f"{clean_text(text)!r} matches several predicates",
                    where=self._join_graph_files(),
                    hint=f"Give one of these IRIs: {', '.join(matches[:5])}.",
                )
        raise UnknownPredicateError(
            f"predicate {clean_text(text)!r} does not occur in the graph",
            where=self._join_graph_files(),
            hint=self._suggest_predicates(text),
        )

    def _expand_prefix(self, text: str) -> list[str]:
        prefix, colon, local_name = text.partition(":")
        if not colon:
            return []
        return [
            prefixes[prefix] + local_name
            for prefixes in (self.domain.prefixes, self.graph.prefixes)
            if prefix in prefixes
        ]

    def _join_graph_files(self) -> str:
        return ", ".join(map(str, self.domain.graph_files))

    def _suggest_predicates(self, text: str) -> str:
        from rapidfuzz import fuzz, process

        predicate_by_spelling: dict[str, str] = {}
        for pred in self.predicates:
            for name in (pred, iri_tail(pred), self.verbaliser.get_label(pred)):
                predicate_by_spelling.setdefault(_normalise_name(name) or name, pred)
        query = _normalise_name(iri_tail(text)) or text[:200]
        # Scores are 0 to 100; spellings below 50 are too different to be suggested.
        hits = process.extract(query, list(predicate_by_spelling), scorer=fuzz.WRatio, limit=6)
        nearest = dict.fromkeys(
            predicate_by_spelling[spelling] for spelling, score, _ in hits if score >= 50
        )
        if nearest:
            return f"Nearest: {', '.join(list(nearest)[:3])}."
        return f"The graph has: {', '.join(self.predicates[:8])}."


def _normalise_name(text: str) -> str:
    """Returns a name without case, spaces and punctuation; "flowsInto" equals "flows into"."""
    # Cut off, because a label may be megabytes long.
    return re.sub(r"[\W_]+", "", split_name(text[:1_000]).casefold())


def _require_built_graph(domain: Domain) -> None:
    """Checks that the files of a graph that users must build themselves exist.

    Raises:
        MissingFileError: a file is missing; the hint says how to build it.
    """
    for file in domain.graph_files:
        if domain.built_by and not file.exists():
            raise MissingFileError(
                f"the graph of {domain.name} is not shipped and has not been built yet",
                where=str(file),
                hint=f"Run: {domain.built_by}",
            )


def _apply_overrides(
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


def _get_file_stamp(path: Path) -> tuple[int, int]:
    """Returns modification time (ns) and size of a file, to notice that it has changed."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)  # Opening the file reports the error.
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _open_cached(
    domain: str | None,
    graph: tuple[str, ...],
    shapes: tuple[str, ...],
    engine: Engine,
    _stamps: tuple[tuple[int, int], ...],  # only part of the cache key
) -> KnowledgeBase:
    return KnowledgeBase.open(domain, graph, shapes, engine=engine)
