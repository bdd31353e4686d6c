"""Two engines that find the violations a claim adds: compiled shapes, and pySHACL on everything.

Both answer with the same thing, so that they can be compared result by result: the multiset of
results that G ∪ {claim} has and G has not, *before* it is read for absence (``kg.reading``).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from kg.index import Index, Triple
from kg.reference import index_to_rdflib, validate
from kg.retarget import validate_foci
from kg.shapes.evaluation import Result
from kg.shapes.lexicon import quiet_rdflib
from kg.shapes.model import Raw
from kg.shapes.program import Program, Targeted
from kg.terms import to_rdflib

if TYPE_CHECKING:
    import rdflib

EngineName: TypeAlias = Literal["incremental", "retargeted-pyshacl", "pyshacl"]

CACHE_LIMIT = 200_000
"""(shape, focus node) pairs whose results in the graph itself are remembered."""


class Findings(NamedTuple):
    """What a claim adds."""

    new: list[Result]
    """New results, each as often as it is new, in no particular order."""
    checked: list[tuple[str, str]]
    """(shape's name, focus node) evaluated; an empty focus node stands for all of a shape's."""
    engine: EngineName
    """The slowest of those that had to be asked."""


class DataGraph:
    """The closed graph as rdflib sees it, made when pySHACL is first needed."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._graph: rdflib.Graph | None = None

    def without(self, triple: Triple | None) -> rdflib.Graph:
        """The graph, not counting a claim that may be in the index just now."""
        if self._graph is None:
            pending = triple is not None and self._index.discard(*triple)
            self._graph = index_to_rdflib(self._index)
            if pending and triple is not None:
                self._index.add(*triple)
        return self._graph

    @contextlib.contextmanager
    def having(self, triple: Triple) -> Iterator[rdflib.Graph]:
        """The graph with a claim in it, for the length of a ``with`` block."""
        data = self.without(triple)
        text = self._index.terms.text
        with quiet_rdflib():
            s, p, o = (to_rdflib(text(term)) for term in triple)
        # rdflib may hold two of our literals to be one; what was there must stay there.
        added = (s, p, o) not in data
        if added:
            data.add((s, p, o))
        try:
            yield data
        finally:
            if added:
                data.remove((s, p, o))


class WholeGraph:
    """The reference engine: pySHACL over G (once) and over G ∪ {claim}."""

    def __init__(self, index: Index, program: Program, data: DataGraph) -> None:
        self._index, self._data, self._program = index, data, program
        self._shapes = program.shapes
        self._checked = [(t.compiled.shape.name, "") for t in program.targeted]
        self._before: Counter[Raw] | None = None

    def before(self) -> Counter[Raw]:
        """Results of the graph itself."""
        if self._before is None:
            data = self._data.without(None)
            self._before = validate(data, self._shapes.rdflib(), self._shapes)
        return self._before

    def find(self, triple: Triple) -> Findings:
        """What the claim adds; ``triple`` must not be in the index."""
        before = self.before()
        with self._data.having(triple) as data:
            after = validate(data, self._shapes.rdflib(), self._shapes)
        new = [self._program.result(raw) for raw in (after - before).elements()]
        return Findings(new, list(self._checked), "pyshacl")


class Incremental:
    """The fast engine: only the focus nodes a claim can affect, on compiled shapes.

    Shapes it cannot evaluate go to pySHACL: on the affected focus nodes where these can be
    derived, else on all of the shape's.
    """

    def __init__(
        self, index: Index, program: Program, data: DataGraph, *, memoise: bool = True
    ) -> None:
        self._index, self._data, self._program = index, data, program
        # Only a program used for one index alone may remember answers about types.
        self._memoise = memoise
        self._cache: dict[tuple[int, int], tuple[Result, ...]] = {}
        self._whole: dict[tuple[str, ...], WholeGraph] = {}

    def before(self) -> Counter[Raw]:
        """Results of the graph itself, by evaluating every focus node."""
        found: list[Result] = []
        handed_over: list[str] = []
        for targeted in self._program.targeted:
            if targeted.evaluation != "compiled":
                handed_over.append(targeted.node)
                continue
            for focus in list(targeted.target.focus_nodes(self._index)):
                targeted.compiled.collect(self._index, focus, found)
        raw = Counter(map(self._program.raw, found))
        if handed_over:
            raw += self._whole_engine(handed_over).before()
        return raw

    def find(self, triple: Triple) -> Findings:
        """What the claim adds; ``triple`` must not be in the index, and is not afterwards."""
        index, text = self._index, self._index.terms.text
        if self._memoise:
            memo = self._program.compiler.memo
            memo.index = None if triple[1] in self._program.typing else index
        index.add(*triple)
        try:
            affected = list(self._program.affected(index, *triple))
            after: list[Result] = []
            slow: list[tuple[Targeted, list[int]]] = []
            checked: list[tuple[str, str]] = []
            for targeted, foci in affected:
                shape = targeted.compiled
                name = shape.shape.name
                checked += [(name, text(focus)) for focus in foci]
                if targeted.evaluation == "compiled":
                    for focus in foci:
                        shape.collect(index, focus, after)
                else:
                    slow.append((targeted, foci))
        finally:
            index.discard(*triple)
        new: list[Result] = []
        engine: EngineName = "incremental"
        if after:
            new = self._subtract(after, affected)
        if slow:
            engine = "retargeted-pyshacl"
            new += self._retargeted(triple, slow)
        whole = self._program.whole_affected(triple[1])
        if whole:
            engine = "pyshacl"
            findings = self._whole_engine([t.node for t in whole]).find(triple)
            new += findings.new
            checked += findings.checked
        return Findings(new, checked, engine)

    def recheck(self, triple: Triple) -> list[Result]:
        """The same question, answered by pySHACL on the affected focus nodes (self-audit)."""
        index = self._index
        index.add(*triple)
        try:
            affected = list(self._program.affected(index, *triple))
        finally:
            index.discard(*triple)
        new = self._retargeted(triple, affected)
        whole = self._program.whole_affected(triple[1])
        if whole:
            new += self._whole_engine([t.node for t in whole]).find(triple).new
        return new

    def _subtract(
        self, after: list[Result], affected: list[tuple[Targeted, list[int]]]
    ) -> list[Result]:
        own: list[Result] = []
        owners = {result[0] for result in after}
        for targeted, foci in affected:
            # A shape that none of the results can come from has nothing to subtract.
            if targeted.evaluation == "compiled" and not owners.isdisjoint(targeted.owners):
                for focus in foci:
                    own += self._own_results(targeted, focus)
        if not own:
            return after
        left = Counter(own)
        new: list[Result] = []
        for result in after:
            if left[result]:
                left[result] -= 1
            else:
                new.append(result)
        return new

    def _own_results(self, targeted: Targeted, focus: int) -> tuple[Result, ...]:
        key = (targeted.number, focus)
        found = self._cache.get(key)
        if found is None:
            results: list[Result] = []
            if targeted.target.holds(self._index, focus):
                targeted.compiled.collect(self._index, focus, results)
            if len(self._cache) >= CACHE_LIMIT:
                self._cache.clear()
            found = self._cache[key] = tuple(results)
        return found

    def _retargeted(
        self, triple: Triple, affected: list[tuple[Targeted, list[int]]]
    ) -> list[Result]:
        text = self._index.terms.text
        shapes = self._program.shapes
        now = [(t.node, text(focus)) for t, foci in affected for focus in foci]
        already = [
            (t.node, text(focus))
            for t, foci in affected
            for focus in foci
            if t.target.holds(self._index, focus)
        ]
        with self._data.having(triple) as data:
            after = validate_foci(data, shapes, now)
        if not after:
            return []
        new = after - validate_foci(data, shapes, already)
        return [self._program.result(raw) for raw in new.elements()]

    def _whole_engine(self, nodes: list[str]) -> WholeGraph:
        key = tuple(nodes)
        engine = self._whole.get(key)
        if engine is None:
            program = Program(self._program.shapes.subset(nodes), self._index.terms)
            engine = self._whole[key] = WholeGraph(self._index, program, self._data)
        return engine
