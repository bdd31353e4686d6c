"""Engines that find the violations a claim adds: compiled shapes, and two on the whole graph.

All return the multiset of results that the graph with the claim (G ∪ {claim}) has in addition to
those of the graph G alone, so that the engines can be compared result by result. ``absence``
decides afterwards which of these results contradict the claim, and which only rest on absent
triples.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from kg.base.errors import ShapesError
from kg.base.time_budget import VARIABLE, limit_time
from kg.shapes.evaluation import Result
from kg.shapes.model import RawResult
from kg.shapes.program import Program, TargetedShape
from kg.shapes.rdflib_terms import silence_rdflib
from kg.terms import is_blank, to_rdflib
from kg.triples.index import Index, Triple
from kg.validation.focus_validation import validate_focus_nodes
from kg.validation.pyrudof_validation import PyrudofSession, is_supported
from kg.validation.pyshacl_validation import index_to_rdflib, run_pyshacl
from kg.validation.same_names import drop_merged_counts, has_same_names

if TYPE_CHECKING:
    import rdflib

EngineName: TypeAlias = Literal["incremental", "retargeted-pyshacl", "pyshacl", "pyrudof"]

MAX_CACHED_PAIRS = 200_000
"""Maximum (shape, focus node) pairs whose results in the graph itself are cached."""


class Findings(NamedTuple):
    """The results that a claim adds."""

    new_results: list[Result]
    """New results, with multiplicity, in no particular order."""
    checked_pairs: list[tuple[str, str]]
    """The (shape name, focus node) pairs that were evaluated; an empty focus node stands for all
    focus nodes of the shape."""
    engine: EngineName
    """The slowest engine that was needed."""


class DataGraph:
    """The closed graph as an rdflib graph, built when pySHACL is first needed."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._graph: rdflib.Graph | None = None

    def graph_without(self, triple: Triple | None) -> rdflib.Graph:
        """Returns the graph without ``triple``, a claim that may currently be in the index."""
        if self._graph is None:
            was_present = triple is not None and self._index.discard_triple(*triple)
            self._graph = index_to_rdflib(self._index)
            if was_present and triple is not None:
                self._index.add_triple(*triple)
        return self._graph

    @contextlib.contextmanager
    def graph_with(self, triple: Triple) -> Iterator[rdflib.Graph]:
        """Yields the graph with a claim added; the claim is removed when the block ends."""
        data = self.graph_without(triple)
        get_text = self._index.terms.get_text
        with silence_rdflib():
            s, p, o = (to_rdflib(get_text(term)) for term in triple)
        # rdflib may treat two different literals as equal: a triple that it already had must not
        # be removed afterwards.
        is_new = (s, p, o) not in data
        if is_new:
            data.add((s, p, o))
        try:
            yield data
        finally:
            if is_new:
                data.remove((s, p, o))


def drop_merged_raw_counts(
    index: Index, program: Program, results: Counter[RawResult]
) -> Counter[RawResult]:
    """Does the same as ``drop_merged_counts`` for results of pySHACL."""
    if not results or not has_same_names(index):
        return results
    kept = drop_merged_counts(index, map(program.from_raw_result, results.elements()))
    return Counter(map(program.to_raw_result, kept))


def make_time_error(shape: str, node: str, seconds: float) -> ShapesError:
    """Makes the error for a shape that takes too long on one node."""
    return ShapesError(
        f"a shape takes more than {seconds:g} s of processor time on {node}",
        where=shape,
        hint="Simplify its path, sh:pattern or query, leave the shape out, or give it more time "
        f"with {VARIABLE}.",
    )


class TemporaryTriple:
    """Adds a claim to the index until the block ends."""

    def __init__(self, index: Index, triple: Triple) -> None:
        self._index, self._triple = index, triple

    def __enter__(self) -> None:
        self._index.add_triple(*self._triple)

    def __exit__(self, *_: object) -> None:
        self._index.discard_triple(*self._triple)


class PyshaclEngine:
    """The reference engine: pySHACL over G (once) and over G ∪ {claim}."""

    def __init__(self, index: Index, program: Program, data: DataGraph) -> None:
        self._index, self._data, self._program = index, data, program
        self._shapes = program.shapes
        self._checked_pairs = [(t.compiled.shape.name, "") for t in program.targeted_shapes]
        self._baseline: Counter[RawResult] | None = None

    def collect_baseline(self) -> Counter[RawResult]:
        """Collects the results of the graph itself."""
        if self._baseline is None:
            data = self._data.graph_without(None)
            self._baseline = drop_merged_raw_counts(
                self._index,
                self._program,
                run_pyshacl(data, self._shapes.to_rdflib(), self._shapes),
            )
        return self._baseline

    def find_new_results(self, triple: Triple) -> Findings:
        """Finds the results that the claim adds; ``triple`` must not be in the index."""
        baseline = self.collect_baseline()
        with self._data.graph_with(triple) as data:
            results = run_pyshacl(data, self._shapes.to_rdflib(), self._shapes)
        with TemporaryTriple(self._index, triple):
            results = drop_merged_raw_counts(self._index, self._program, results)
        new_results = [
            self._program.from_raw_result(raw) for raw in (results - baseline).elements()
        ]
        return Findings(new_results, list(self._checked_pairs), "pyshacl")


class PyrudofEngine:
    """pyrudof over G (once) and over G ∪ {claim}; pySHACL for the shapes that it cannot check."""

    def __init__(self, index: Index, program: Program, data: DataGraph) -> None:
        self._index, self._program = index, program
        self._checked_pairs = [(t.compiled.shape.name, "") for t in program.targeted_shapes]
        self._has_blanks = any(
            is_blank(index.terms.get_text(term)) for t in index.iter_triples() for term in t
        )
        nodes = [t.node for t in program.targeted_shapes]
        supported = {
            node
            for node in nodes
            if is_supported(program.shapes, node, has_blanks=self._has_blanks)
        }
        self._session = PyrudofSession(index, program.shapes.select_shapes(supported))
        self._baseline: Counter[RawResult] | None = None

        def select_program(nodes: list[str]) -> Program:
            return Program(program.shapes.select_shapes(nodes), index.terms)

        rest = [node for node in nodes if node not in supported]
        self._pyshacl_for_rest = PyshaclEngine(index, select_program(rest), data) if rest else None
        self._pyshacl_for_all = PyshaclEngine(index, program, data)

    def collect_baseline(self) -> Counter[RawResult]:
        """Collects the results of the graph itself."""
        results = self._collect_own_baseline()
        if self._pyshacl_for_rest is not None:
            results = results + self._pyshacl_for_rest.collect_baseline()
        return results

    def find_new_results(self, triple: Triple) -> Findings:
        """Finds the results that the claim adds; ``triple`` must not be in the index."""
        get_text = self._index.terms.get_text
        if not self._has_blanks and any(is_blank(get_text(term)) for term in triple):
            return self._pyshacl_for_all.find_new_results(triple)
        baseline = self._collect_own_baseline()
        results = self._session.validate(triple)
        with TemporaryTriple(self._index, triple):
            results = drop_merged_raw_counts(self._index, self._program, results)
        new_results = [
            self._program.from_raw_result(raw) for raw in (results - baseline).elements()
        ]
        if self._pyshacl_for_rest is not None:
            new_results += self._pyshacl_for_rest.find_new_results(triple).new_results
        return Findings(new_results, list(self._checked_pairs), "pyrudof")

    def _collect_own_baseline(self) -> Counter[RawResult]:
        if self._baseline is None:
            self._baseline = drop_merged_raw_counts(
                self._index, self._program, self._session.validate()
            )
        return self._baseline


class IncrementalEngine:
    """The fast engine: evaluates compiled shapes on the focus nodes that a claim can affect.

    Shapes that cannot be compiled are checked by pySHACL: on the affected focus nodes where these
    can be derived, otherwise on all focus nodes of the shape.
    """

    def __init__(
        self, index: Index, program: Program, data: DataGraph, *, memoise: bool = True
    ) -> None:
        self._index, self._data, self._program = index, data, program
        # Answers about types may be cached only if the program is used with a single index.
        self._memoise = memoise
        self._cache: dict[tuple[int, int], tuple[Result, ...]] = {}
        self._pyshacl_engines: dict[tuple[str, ...], PyshaclEngine] = {}

    def collect_baseline(self) -> Counter[RawResult]:
        """Collects the results of the graph itself by evaluating every focus node."""
        results: list[Result] = []
        uncompiled_nodes: list[str] = []
        shape, focus, get_text = "", 0, self._index.terms.get_text
        with limit_time(lambda seconds: make_time_error(shape, get_text(focus), seconds)) as budget:
            for targeted in self._program.targeted_shapes:
                if targeted.evaluation != "compiled":
                    uncompiled_nodes.append(targeted.node)
                    continue
                shape = targeted.compiled.shape.name
                for focus in list(targeted.target.find_focus_nodes(self._index)):
                    budget.restart()
                    targeted.compiled.collect_results(self._index, focus, results)
        results = drop_merged_counts(self._index, results)
        raw_results = Counter(map(self._program.to_raw_result, results))
        if uncompiled_nodes:
            raw_results += self._get_pyshacl_engine(uncompiled_nodes).collect_baseline()
        return raw_results

    def find_new_results(self, triple: Triple) -> Findings:
        """Finds the results that the claim adds; ``triple`` must not be in the index.

        The index is unchanged afterwards.
        """
        index, get_text = self._index, self._index.terms.get_text
        if self._memoise:
            # A claim that can change types makes cached answers about types wrong: switch the
            # cache off for this claim.
            cache_scope = self._program.compiler.cache_scope
            cache_scope.index = None if triple[1] in self._program.typing_predicates else index
        name = "path to the nodes that a claim affects"
        focus = triple[0]
        with (
            TemporaryTriple(index, triple),
            limit_time(lambda seconds: make_time_error(name, get_text(focus), seconds)) as budget,
        ):
            affected = list(self._program.find_affected(index, *triple))
            results: list[Result] = []
            uncompiled: list[tuple[TargetedShape, list[int]]] = []
            checked_pairs: list[tuple[str, str]] = []
            for targeted, foci in affected:
                shape = targeted.compiled
                name = shape.shape.name
                checked_pairs += [(name, get_text(focus)) for focus in foci]
                if targeted.evaluation == "compiled":
                    for focus in foci:
                        budget.restart()
                        shape.collect_results(index, focus, results)
                else:
                    uncompiled.append((targeted, foci))
            results = drop_merged_counts(index, results)
        new_results: list[Result] = []
        engine: EngineName = "incremental"
        if results:
            new_results = self._subtract_baseline(results, affected)
        if uncompiled:
            engine = "retargeted-pyshacl"
            new_results += self._run_retargeted_pyshacl(triple, uncompiled)
        whole_shapes = self._program.find_affected_whole_shapes(triple[1])
        if whole_shapes:
            engine = "pyshacl"
            findings = self._get_pyshacl_engine([t.node for t in whole_shapes]).find_new_results(
                triple
            )
            new_results += findings.new_results
            checked_pairs += findings.checked_pairs
        return Findings(new_results, checked_pairs, engine)

    def recheck_with_pyshacl(self, triple: Triple) -> list[Result]:
        """Finds the same results as ``find_new_results``, with pySHACL only; used for audits."""
        index = self._index
        with TemporaryTriple(index, triple):
            affected = list(self._program.find_affected(index, *triple))
        new_results = self._run_retargeted_pyshacl(triple, affected)
        whole_shapes = self._program.find_affected_whole_shapes(triple[1])
        if whole_shapes:
            new_results += (
                self._get_pyshacl_engine([t.node for t in whole_shapes])
                .find_new_results(triple)
                .new_results
            )
        return new_results

    def _subtract_baseline(
        self, results: list[Result], affected: list[tuple[TargetedShape, list[int]]]
    ) -> list[Result]:
        """Subtracts, as multisets, the results that the graph has without the claim.

        Args:
            results: the results with the claim.
            affected: shapes and the focus nodes at which they were evaluated.
        """
        baseline: list[Result] = []
        owners = {result[0] for result in results}
        for targeted, foci in affected:
            # Only shapes that produced one of the results need to be evaluated again.
            if targeted.evaluation == "compiled" and not owners.isdisjoint(targeted.owners):
                for focus in foci:
                    baseline += self._collect_focus_baseline(targeted, focus)
        if not baseline:
            return results
        remaining_counts = Counter(baseline)
        new_results: list[Result] = []
        for result in results:
            if remaining_counts[result]:
                remaining_counts[result] -= 1
            else:
                new_results.append(result)
        return new_results

    def _collect_focus_baseline(self, targeted: TargetedShape, focus: int) -> tuple[Result, ...]:
        key = (targeted.number, focus)
        cached = self._cache.get(key)
        if cached is None:
            results: list[Result] = []
            if targeted.target.is_focus_node(self._index, focus):
                targeted.compiled.collect_results(self._index, focus, results)
                results = drop_merged_counts(self._index, results)
            if len(self._cache) >= MAX_CACHED_PAIRS:
                self._cache.clear()
            cached = self._cache[key] = tuple(results)
        return cached

    def _run_retargeted_pyshacl(
        self, triple: Triple, affected: list[tuple[TargetedShape, list[int]]]
    ) -> list[Result]:
        get_text = self._index.terms.get_text
        shapes = self._program.shapes
        # The claim may make a node a focus node of a shape. Only results of nodes that are focus
        # nodes without the claim must be subtracted.
        pairs_with_claim = [(t.node, get_text(focus)) for t, foci in affected for focus in foci]
        pairs_without_claim = [
            (t.node, get_text(focus))
            for t, foci in affected
            for focus in foci
            if t.target.is_focus_node(self._index, focus)
        ]
        with self._data.graph_with(triple) as data:
            results = validate_focus_nodes(data, shapes, pairs_with_claim)
            with TemporaryTriple(self._index, triple):
                results = drop_merged_raw_counts(self._index, self._program, results)
        if not results:
            return []
        old_results = validate_focus_nodes(data, shapes, pairs_without_claim)
        new_results = results - drop_merged_raw_counts(self._index, self._program, old_results)
        return [self._program.from_raw_result(raw) for raw in new_results.elements()]

    def _get_pyshacl_engine(self, nodes: list[str]) -> PyshaclEngine:
        key = tuple(nodes)
        engine = self._pyshacl_engines.get(key)
        if engine is None:
            program = Program(self._program.shapes.select_shapes(nodes), self._index.terms)
            engine = self._pyshacl_engines[key] = PyshaclEngine(self._index, program, self._data)
        return engine
