"""Finds the dependencies of a shape: the focus nodes at which a new triple can cause a violation.

Each step of the evaluation that reads the graph gives one dependency. It consists of a predicate,
the end of the triple that is nearer to the focus node, and the path back from that end to the focus
node. A triple ``s p o`` can only affect the focus nodes that a dependency on ``p`` leads back to.
The path back is followed with the triple in the graph, because it may contain the triple itself.

A new ``rdf:type`` triple can only satisfy ``sh:class``, never violate it, so ``sh:class`` needs no
dependency. Inside ``not``, ``xone`` and qualified counts it needs one, because there conforming to
more shapes can violate a constraint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kg.shapes.components import ClassConstraint, Closed, PropertyPairConstraint
from kg.shapes.evaluation import CompiledShape
from kg.shapes.nested import AllOf, AnyOf, NestedConstraint, QualifiedCount
from kg.shapes.paths import Path, Walk, compile_path, iter_steps, join_paths, reverse_path
from kg.shapes.sparql import SparqlConstraint
from kg.triples.index import Index
from kg.triples.term_table import TermTable


@dataclass(frozen=True)
class Edge:
    """A dependency on the triples of one predicate."""

    predicate: int
    inverse: bool
    """Whether the object, not the subject, is the end nearer to the focus node."""
    walk_back: Walk | None
    """Leads from the nearer end to the focus nodes; None if that end is the focus node itself."""


@dataclass(frozen=True)
class ClosedEdge:
    """The dependency of ``sh:closed``: on triples of all predicates except the allowed ones."""

    allowed: frozenset[int]
    walk_back: Walk | None

    def find_focus_nodes(self, index: Index, s: int) -> Iterator[int]:
        """Yields the focus nodes that a triple with subject ``s`` can affect."""
        yield from (s,) if self.walk_back is None else self.walk_back(index, s)


@dataclass(frozen=True)
class QueryEdge:
    """The dependency of a SPARQL constraint, derived from its triple patterns."""

    constraint: SparqlConstraint
    walk_back: Walk | None

    def find_focus_nodes(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Yields the focus nodes whose solutions can use the triple."""
        for node in dict.fromkeys(self.constraint.find_affected_nodes(index, s, p, o)):
            yield from (node,) if self.walk_back is None else self.walk_back(index, node)


class Dependencies:
    """All dependencies of one targeted shape.

    Attributes:
        edges: dependencies on one predicate, each once.
        closed_edges: dependencies of ``sh:closed``.
        queries: dependencies of SPARQL constraints, if they can be derived.
        opaque_queries: SPARQL constraints whose dependencies cannot be derived.
        uses_class_hierarchy: whether any part of the shape uses the class hierarchy.
        is_compiled: whether the shape can be evaluated without pySHACL.
    """

    def __init__(self, shape: CompiledShape, terms: TermTable, rdf_type: int) -> None:
        self._terms, self._rdf_type = terms, rdf_type
        self._seen: set[tuple[object, ...]] = set()
        self._walks: dict[Path, Walk] = {}
        self.edges: list[Edge] = []
        self.closed_edges: list[ClosedEdge] = []
        self.queries: list[QueryEdge] = []
        self.opaque_queries: list[SparqlConstraint] = []
        self.uses_class_hierarchy = False
        self.is_compiled = True
        self._visit_shape(shape, (), positive=True)

    def _visit_shape(
        self, shape: CompiledShape, prefix: tuple[Path, ...], *, positive: bool
    ) -> None:
        """Adds the dependencies of a shape and its nested shapes.

        Args:
            shape: the shape.
            prefix: the paths, one after the other, from the focus node to the shape's nodes.
            positive: whether a value that conforms to more shapes can never cause a violation.
        """
        if shape.shape.deactivated:
            return
        value_prefix = prefix
        path = shape.shape.path
        if path is not None:
            for step_prefix, step in iter_steps(path, prefix):
                self._add_edge(self._terms.intern(step.predicate), step.inverse, step_prefix)
            value_prefix = (*prefix, path)
        for component in shape.components:
            if isinstance(component, ClassConstraint):
                self.uses_class_hierarchy = True
                if not positive:
                    self._add_edge(self._rdf_type, False, value_prefix)
            elif isinstance(component, PropertyPairConstraint):
                # The compared predicate is read at the focus node, not at the values.
                self._add_edge(component.predicate, False, prefix)
            elif isinstance(component, Closed):
                self.closed_edges.append(
                    ClosedEdge(component.allowed, self._compile_walk_back(value_prefix))
                )
            elif isinstance(component, NestedConstraint):
                # A value that conforms to more shapes can violate ``not`` and ``xone``.
                is_monotone = positive and isinstance(component, (AllOf, AnyOf))
                for inner in component.shapes:
                    self._visit_shape(inner, value_prefix, positive=is_monotone)
            elif isinstance(component, QualifiedCount):
                for inner in (component.shape, *component.siblings):
                    self._visit_shape(inner, value_prefix, positive=False)
            elif isinstance(component, SparqlConstraint) and not component.query.deactivated:
                self.is_compiled &= component.is_compiled
                if component.has_known_dependencies:
                    self.queries.append(QueryEdge(component, self._compile_walk_back(prefix)))
                else:
                    self.opaque_queries.append(component)
        for inner in shape.properties:
            self._visit_shape(inner, value_prefix, positive=positive)

    def _add_edge(self, predicate: int, inverse: bool, prefix: tuple[Path, ...]) -> None:
        key = (predicate, inverse, prefix)
        if key not in self._seen:
            self._seen.add(key)
            self.edges.append(Edge(predicate, inverse, self._compile_walk_back(prefix)))

    def _compile_walk_back(self, prefix: tuple[Path, ...]) -> Walk | None:
        path = join_paths(prefix)
        if path is None:
            return None
        if path not in self._walks:
            self._walks[path] = compile_path(reverse_path(path), self._terms)
        return self._walks[path]
