"""Shapes compiled over a term table: evaluated on any index that shares it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kg.index import Index
from kg.shapes.components import (
    ByTypes,
    ClassOf,
    Closed,
    Compared,
    HasValue,
    MaxCount,
    MinCount,
    TermTest,
    TypingMemo,
    UniqueLang,
    is_below,
    term_test,
)
from kg.shapes.evaluation import CompiledShape, Component
from kg.shapes.lexicon import MEMO_LIMIT, Lexicon
from kg.shapes.model import Parameter, Shape
from kg.shapes.nested import AllOf, AnyOf, Nested, Not, OneOf, Qualified
from kg.shapes.paths import compile_path
from kg.shapes.sparql import SparqlConstraint
from kg.term_table import TermTable
from kg.terms import RDF, RDFS

_NESTED: dict[str, Callable[[Parameter, list[CompiledShape]], Nested]] = {
    "Not": Not,
    "And": AllOf,
    "Node": AllOf,
    "Or": AnyOf,
    "Xone": OneOf,
}


class Target:
    """The targets of one shape over a term table."""

    def __init__(self, shape: Shape, terms: TermTable, memo: TypingMemo) -> None:
        targets = shape.targets
        self._memo = memo
        self._known: dict[int, bool] = {}
        self.nodes = tuple(map(terms.intern, targets.nodes))
        self.classes = tuple(map(terms.intern, targets.classes))
        self.subjects_of = tuple(map(terms.intern, targets.subjects_of))
        self.objects_of = tuple(map(terms.intern, targets.objects_of))
        self._rdf_type, self._sub_class = (
            terms.intern(RDF + "type"),
            terms.intern(RDFS + "subClassOf"),
        )

    def holds(self, index: Index, focus: int) -> bool:
        """Whether ``focus`` is a focus node."""
        if focus in self.nodes:
            return True
        if self.classes:
            if index is not self._memo.index:
                typed = self._is_typed(index, focus)
            else:
                known = self._known.get(focus)
                if known is None:
                    if len(self._known) >= MEMO_LIMIT:
                        self._known.clear()
                    known = self._known[focus] = self._is_typed(index, focus)
                typed = known
            if typed:
                return True
        for p in self.subjects_of:
            if index.objects(focus, p):
                return True
        return any(index.subjects(p, focus) for p in self.objects_of)

    def _is_typed(self, index: Index, focus: int) -> bool:
        types = index.objects(focus, self._rdf_type)
        return bool(types) and any(
            target in types or is_below(index, types, target, self._sub_class)
            for target in self.classes
        )

    def focus_nodes(self, index: Index) -> Collection[int]:
        """All focus nodes, each once, in a deterministic order."""
        found = dict.fromkeys(self.nodes)
        for target in self.classes:
            below = {target: None}
            queue = [target]
            for item in queue:
                for sub in index.subjects(self._sub_class, item):
                    if sub not in below:
                        below[sub] = None
                        queue.append(sub)
            for item in below:
                found.update(dict.fromkeys(index.subjects(self._rdf_type, item)))
        for p in self.subjects_of:
            found.update(dict.fromkeys(s for s, _ in index.pairs(p)))
        for p in self.objects_of:
            found.update(dict.fromkeys(o for _, o in index.pairs(p)))
        return found


class Compiler:
    """Compiles shapes over one term table, each once."""

    def __init__(self, shapes: dict[str, Shape], terms: TermTable) -> None:
        self.shapes = shapes
        self.lexicon = Lexicon(terms)
        self.memo = TypingMemo()
        self.compiled: dict[str, CompiledShape] = {}

    def shape(self, node: str) -> CompiledShape:
        """The compiled shape of a node; recursion was refused when shapes were read."""
        found = self.compiled.get(node)
        if found is None:
            shape = self.shapes[node]
            walk = None if shape.path is None else compile_path(shape.path, self.lexicon.terms)
            components = [
                self._component(parameter, shape)
                for parameter in shape.parameters
                if parameter.component != "Property"
            ]
            properties = [
                self.shape(parameter.shapes[0])
                for parameter in shape.parameters
                if parameter.component == "Property"
            ]
            found = self.compiled[node] = CompiledShape(
                shape, walk, components, properties, self.lexicon.terms
            )
        return found

    def _component(self, parameter: Parameter, shape: Shape) -> Component:
        name, lexicon = parameter.component, self.lexicon
        test = term_test(parameter, lexicon)
        if test is not None:
            return TermTest(parameter, test)
        if name in _NESTED:
            nested = _NESTED[name](parameter, [self.shape(node) for node in parameter.shapes])
            if nested.asks_types_only:
                nested.by_types = ByTypes(self.memo, lexicon.terms.intern(RDF + "type"))
            return nested
        if name in ("QualifiedMinCount", "QualifiedMaxCount"):
            siblings = [self.shape(node) for node in parameter.siblings]
            return Qualified(parameter, self.shape(parameter.shapes[0]), siblings)
        if name == "SPARQL":
            return SparqlConstraint(parameter, shape, lexicon)
        if name == "MinCount":
            return MinCount(parameter)
        if name == "MaxCount":
            return MaxCount(parameter)
        if name == "Class":
            return ClassOf(parameter, lexicon, self.memo)
        if name == "HasValue":
            return HasValue(parameter, lexicon)
        if name == "UniqueLang":
            return UniqueLang(parameter, lexicon)
        if name == "Closed":
            return Closed(parameter, lexicon)
        return Compared(parameter, lexicon)
