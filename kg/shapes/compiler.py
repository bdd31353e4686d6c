"""Compiles shapes and their targets for one term table, for any index that shares the table."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kg.shapes.components import (
    ClassConstraint,
    Closed,
    HasValue,
    MaxCount,
    MinCount,
    PropertyPairConstraint,
    TermTest,
    TypeCache,
    TypeCacheScope,
    UniqueLang,
    has_superclass,
    make_term_test,
)
from kg.shapes.evaluation import CompiledShape, Component
from kg.shapes.model import Parameter, Shape
from kg.shapes.nested import AllOf, AnyOf, NestedConstraint, Not, OneOf, QualifiedCount
from kg.shapes.paths import compile_path
from kg.shapes.rdflib_terms import MAX_CACHE_SIZE, RdflibTerms
from kg.shapes.sparql import SparqlConstraint
from kg.terms import RDF, RDFS
from kg.triples.index import Index
from kg.triples.term_table import TermTable

# Component → class that evaluates it. ``sh:node`` is an ``sh:and`` of a single shape.
_NESTED: dict[str, Callable[[Parameter, list[CompiledShape]], NestedConstraint]] = {
    "Not": Not,
    "And": AllOf,
    "Node": AllOf,
    "Or": AnyOf,
    "Xone": OneOf,
}


class CompiledTargets:
    """The targets of one shape, compiled for one term table."""

    def __init__(self, shape: Shape, terms: TermTable, cache_scope: TypeCacheScope) -> None:
        targets = shape.targets
        self._cache_scope = cache_scope
        self._instance_cache: dict[int, bool] = {}
        self.nodes = tuple(map(terms.intern, targets.nodes))
        self.classes = tuple(map(terms.intern, targets.classes))
        self.subjects_of = tuple(map(terms.intern, targets.subjects_of))
        self.objects_of = tuple(map(terms.intern, targets.objects_of))
        self._rdf_type, self._sub_class = (
            terms.intern(RDF + "type"),
            terms.intern(RDFS + "subClassOf"),
        )

    def is_focus_node(self, index: Index, focus: int) -> bool:
        """Returns whether ``focus`` is a focus node."""
        if focus in self.nodes:
            return True
        if self.classes:
            if index is not self._cache_scope.index:
                is_instance = self._is_instance(index, focus)
            else:
                cached = self._instance_cache.get(focus)
                if cached is None:
                    if len(self._instance_cache) >= MAX_CACHE_SIZE:
                        self._instance_cache.clear()
                    cached = self._instance_cache[focus] = self._is_instance(index, focus)
                is_instance = cached
            if is_instance:
                return True
        for p in self.subjects_of:
            if index.find_objects(focus, p):
                return True
        return any(index.find_subjects(p, focus) for p in self.objects_of)

    def _is_instance(self, index: Index, focus: int) -> bool:
        """Returns whether a type of ``focus`` is a target class or one of its subclasses."""
        types = index.find_objects(focus, self._rdf_type)
        return bool(types) and any(
            target in types or has_superclass(index, types, target, self._sub_class)
            for target in self.classes
        )

    def find_focus_nodes(self, index: Index) -> Collection[int]:
        """Returns all focus nodes, each once, in a deterministic order."""
        focus_nodes = dict.fromkeys(self.nodes)
        for target in self.classes:
            subclasses = {target: None}
            queue = [target]
            for cls in queue:
                for subclass in index.find_subjects(self._sub_class, cls):
                    if subclass not in subclasses:
                        subclasses[subclass] = None
                        queue.append(subclass)
            for cls in subclasses:
                focus_nodes.update(dict.fromkeys(index.find_subjects(self._rdf_type, cls)))
        for p in self.subjects_of:
            focus_nodes.update(dict.fromkeys(s for s, _ in index.iter_pairs(p)))
        for p in self.objects_of:
            focus_nodes.update(dict.fromkeys(o for _, o in index.iter_pairs(p)))
        return focus_nodes


class Compiler:
    """Compiles shapes for one term table, each once."""

    def __init__(self, shapes: dict[str, Shape], terms: TermTable) -> None:
        self.shapes = shapes
        self.rdflib_terms = RdflibTerms(terms)
        self.cache_scope = TypeCacheScope()
        self.compiled_shapes: dict[str, CompiledShape] = {}

    def compile_shape(self, node: str) -> CompiledShape:
        """Returns the compiled shape of a node, compiling it on first use."""
        # The recursion terminates, because ``ShapeReader`` refuses shapes that refer to themselves.
        compiled = self.compiled_shapes.get(node)
        if compiled is None:
            shape = self.shapes[node]
            walk = None if shape.path is None else compile_path(shape.path, self.rdflib_terms.terms)
            components = [
                self._compile_component(parameter, shape)
                for parameter in shape.parameters
                if parameter.component != "Property"
            ]
            properties = [
                self.compile_shape(parameter.shapes[0])
                for parameter in shape.parameters
                if parameter.component == "Property"
            ]
            compiled = self.compiled_shapes[node] = CompiledShape(
                shape, walk, components, properties, self.rdflib_terms.terms
            )
        return compiled

    def _compile_component(self, parameter: Parameter, shape: Shape) -> Component:
        name, rdflib_terms = parameter.component, self.rdflib_terms
        test = make_term_test(parameter, rdflib_terms)
        if test is not None:
            return TermTest(parameter, test)
        if name in _NESTED:
            nested = _NESTED[name](
                parameter, [self.compile_shape(node) for node in parameter.shapes]
            )
            if nested.depends_on_types_only:
                nested.type_cache = TypeCache(
                    self.cache_scope, rdflib_terms.terms.intern(RDF + "type")
                )
            return nested
        if name in ("QualifiedMinCount", "QualifiedMaxCount"):
            siblings = [self.compile_shape(node) for node in parameter.siblings]
            return QualifiedCount(parameter, self.compile_shape(parameter.shapes[0]), siblings)
        if name == "SPARQL":
            return SparqlConstraint(parameter, shape, rdflib_terms)
        if name == "MinCount":
            return MinCount(parameter)
        if name == "MaxCount":
            return MaxCount(parameter)
        if name == "Class":
            return ClassConstraint(parameter, rdflib_terms, self.cache_scope)
        if name == "HasValue":
            return HasValue(parameter, rdflib_terms)
        if name == "UniqueLang":
            return UniqueLang(parameter, rdflib_terms)
        if name == "Closed":
            return Closed(parameter, rdflib_terms)
        if name in {"Equals", "Disjoint", "LessThan", "LessThanOrEquals"}:
            return PropertyPairConstraint(parameter, rdflib_terms)
        raise AssertionError(f"the reader accepts sh:{name}, but nothing here checks it")
