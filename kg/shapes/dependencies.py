"""What a shape depends on: which focus nodes a new triple can give a violation.

For every place where evaluation looks at the graph there is one dependency: a predicate, the end
of the triple nearer to the focus node, and the way back from that end. A triple ``s p o`` can
only matter to the focus nodes that some dependency on ``p`` leads back to. The way back is walked
with the triple in the graph, because a path may pass through it more than once.

A triple that gives a node a type can only *help* ``sh:class`` in positive positions, so that no
dependency is needed there; under ``not``, ``xone`` and qualified counts it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kg.index import Index
from kg.shapes.components import ClassOf, Closed, Compared
from kg.shapes.evaluation import CompiledShape
from kg.shapes.nested import AllOf, AnyOf, Nested, Qualified
from kg.shapes.paths import Path, Walk, compile_path, joined, reverse, steps_with_prefix
from kg.shapes.sparql import SparqlConstraint
from kg.term_table import TermTable


@dataclass(frozen=True)
class Edge:
    """Dependency on triples of one predicate."""

    predicate: int
    inverse: bool
    """Whether the object, not the subject, is the end nearer to the focus node."""
    back: Walk | None
    """From the near end to the focus nodes; None where it is the focus node."""


@dataclass(frozen=True)
class AnyEdge:
    """Dependency of ``sh:closed``: triples of all predicates but the allowed ones."""

    allowed: frozenset[int]
    back: Walk | None

    def foci(self, index: Index, s: int) -> Iterator[int]:
        """Focus nodes a triple with subject ``s`` can matter to."""
        yield from (s,) if self.back is None else self.back(index, s)


@dataclass(frozen=True)
class QueryEdge:
    """Dependency of a SPARQL constraint whose patterns say what it touches."""

    constraint: SparqlConstraint
    back: Walk | None

    def foci(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Focus nodes whose solutions can use the triple."""
        for node in dict.fromkeys(self.constraint.touched(index, s, p, o)):
            yield from (node,) if self.back is None else self.back(index, node)


class Dependencies:
    """All dependencies of one targeted shape.

    Attributes:
        edges: those on one predicate, each once.
        any_edges: those on any predicate.
        queries: those of SPARQL constraints that can be derived.
        opaque: SPARQL constraints whose dependencies cannot be derived.
        classes: whether the class hierarchy matters anywhere in the shape.
        compiled: whether the shape can be evaluated without pySHACL.
    """

    def __init__(self, shape: CompiledShape, terms: TermTable, rdf_type: int) -> None:
        self._terms, self._rdf_type = terms, rdf_type
        self._seen: set[tuple[object, ...]] = set()
        self._walks: dict[Path, Walk] = {}
        self.edges: list[Edge] = []
        self.any_edges: list[AnyEdge] = []
        self.queries: list[QueryEdge] = []
        self.opaque: list[SparqlConstraint] = []
        self.classes = False
        self.compiled = True
        self._visit(shape, (), positive=True)

    def _visit(self, shape: CompiledShape, prefix: tuple[Path, ...], *, positive: bool) -> None:
        if shape.shape.deactivated:
            return
        values = prefix
        path = shape.shape.path
        if path is not None:
            for before, step in steps_with_prefix(path, prefix):
                self._add(self._terms.intern(step.predicate), step.inverse, before)
            values = (*prefix, path)
        for component in shape.components:
            if isinstance(component, ClassOf):
                self.classes = True
                if not positive:
                    self._add(self._rdf_type, False, values)
            elif isinstance(component, Compared):
                self._add(component.predicate, False, prefix)
            elif isinstance(component, Closed):
                self.any_edges.append(AnyEdge(component.allowed, self._back(values)))
            elif isinstance(component, Nested):
                monotone = positive and isinstance(component, (AllOf, AnyOf))
                for inner in component.shapes:
                    self._visit(inner, values, positive=monotone)
            elif isinstance(component, Qualified):
                for inner in (component.shape, *component.siblings):
                    self._visit(inner, values, positive=False)
            elif isinstance(component, SparqlConstraint) and not component.query.deactivated:
                self.compiled &= component.compiled
                if component.derivable:
                    self.queries.append(QueryEdge(component, self._back(prefix)))
                else:
                    self.opaque.append(component)
        for inner in shape.properties:
            self._visit(inner, values, positive=positive)

    def _add(self, predicate: int, inverse: bool, prefix: tuple[Path, ...]) -> None:
        key = (predicate, inverse, prefix)
        if key not in self._seen:
            self._seen.add(key)
            self.edges.append(Edge(predicate, inverse, self._back(prefix)))

    def _back(self, prefix: tuple[Path, ...]) -> Walk | None:
        path = joined(prefix)
        if path is None:
            return None
        if path not in self._walks:
            self._walks[path] = compile_path(reverse(path), self._terms)
        return self._walks[path]
