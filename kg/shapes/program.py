"""Compiles the targeted shapes for one term table and finds the focus nodes a triple affects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kg.shapes.compiler import CompiledTargets, Compiler
from kg.shapes.dependencies import ClosedEdge, Dependencies, Edge, QueryEdge
from kg.shapes.evaluation import NO_VALUE, CompiledShape, Result
from kg.shapes.model import RawResult
from kg.terms import RDF, RDFS
from kg.triples.index import Index
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    from kg.shapes.collection import Shapes


class TargetedShape:
    """A shape with targets.

    Attributes:
        number: its position among the targeted shapes.
        node: term text of the shape's node in the shapes graph.
        compiled: the shape, ready to be evaluated.
        target: finds the focus nodes.
        owners: the shapes that its results can belong to.
        dependencies: what its results depend on.
        evaluation: ``compiled`` (over the index), ``retargeted`` (by pySHACL, on the focus nodes
            found from its dependencies) or ``whole`` (by pySHACL on the whole graph, because its
            dependencies are unknown).
    """

    __slots__ = ("compiled", "dependencies", "evaluation", "node", "number", "owners", "target")

    def __init__(self, number: int, node: str, compiler: Compiler, rdf_type: int) -> None:
        self.number = number
        self.node = node
        self.compiled: CompiledShape = compiler.compile_shape(node)
        terms = compiler.rdflib_terms.terms
        self.target = CompiledTargets(self.compiled.shape, terms, compiler.cache_scope)
        self.owners = frozenset(self.compiled.iter_result_owners())
        self.dependencies = Dependencies(self.compiled, terms, rdf_type)
        if self.dependencies.opaque_queries:
            self.evaluation = "whole"
        else:
            self.evaluation = "compiled" if self.dependencies.is_compiled else "retargeted"


class _PredicatePlan(NamedTuple):
    """Describes how the triples of one predicate can affect one targeted shape."""

    targeted: TargetedShape
    edges: tuple[Edge, ...]
    closed_edges: tuple[ClosedEdge, ...]
    queries: tuple[QueryEdge, ...]
    by_subject: bool
    """Whether the triple can make its subject a focus node."""
    by_object: bool
    """Whether the triple can make its object a focus node."""
    at_all_focus_nodes: bool
    """Whether the triple can affect every focus node of the shape."""
    is_direct: bool
    """Whether only the subject can be affected, so that no path needs to be followed."""
    is_certain: bool
    """Whether the subject is always a focus node (``sh:targetSubjectsOf`` this predicate)."""


class Program:
    """All targeted shapes of a ``Shapes``, compiled for one term table."""

    def __init__(self, shapes: Shapes, terms: TermTable) -> None:
        self.shapes = shapes
        self.terms = terms
        self.compiler = Compiler(shapes.shapes, terms)
        self._rdf_type = terms.intern(RDF + "type")
        self._sub_class = terms.intern(RDFS + "subClassOf")
        self.typing_predicates = frozenset({self._rdf_type, self._sub_class})
        self.targeted_shapes = [
            TargetedShape(number, node, self.compiler, self._rdf_type)
            for number, node in enumerate(shapes.targeted_nodes)
            if not shapes.shapes[node].deactivated
        ]
        self.whole_shapes = [t for t in self.targeted_shapes if t.evaluation == "whole"]
        self._plans: dict[int, list[_PredicatePlan]] = {}

    def find_affected(
        self, index: Index, s: int, p: int, o: int
    ) -> Iterator[tuple[TargetedShape, list[int]]]:
        """Yields each targeted shape of which the triple can cause results, and the focus nodes.

        Shapes that are evaluated on the whole graph are left out (see
        ``find_affected_whole_shapes``).

        Args:
            index: the graph with the triple in it.
            s: its subject.
            p: its predicate.
            o: its object.
        """
        plans = self._plans.get(p)
        if plans is None:
            plans = self._plans[p] = list(self._plan_predicate(p))
        for plan in plans:
            targeted = plan.targeted
            is_focus_node = targeted.target.is_focus_node
            if plan.is_direct:
                if plan.is_certain or is_focus_node(index, s):
                    yield targeted, [s]
                continue
            candidates: dict[int, None] = {}
            if plan.at_all_focus_nodes:
                candidates.update(dict.fromkeys(targeted.target.find_focus_nodes(index)))
            if plan.by_subject:
                candidates[s] = None
            if plan.by_object:
                candidates[o] = None
            for edge in plan.edges:
                near_end = o if edge.inverse else s
                if edge.walk_back is None:
                    candidates[near_end] = None
                else:
                    for focus in edge.walk_back(index, near_end):
                        candidates[focus] = None
            for closed_edge in plan.closed_edges:
                for focus in closed_edge.find_focus_nodes(index, s):
                    candidates[focus] = None
            for query in plan.queries:
                for focus in query.find_focus_nodes(index, s, p, o):
                    candidates[focus] = None
            focus_nodes = [focus for focus in candidates if is_focus_node(index, focus)]
            if focus_nodes:
                yield targeted, focus_nodes

    def to_raw_result(self, result: Result) -> RawResult:
        """Converts a result to term text."""
        shape, component, focus, path, value = result
        get_text, source_shape = self.terms.get_text, shape.shape
        return RawResult(
            source_shape.node,
            component,
            get_text(focus),
            source_shape.path_text if path is None else path,
            "" if value == NO_VALUE else get_text(value),
        )

    def from_raw_result(self, raw: RawResult) -> Result:
        """Converts a result in term text, as read from pySHACL, to one with term ids."""
        intern = self.terms.intern
        return (
            self.compiler.compile_shape(raw.shape),
            raw.component,
            intern(raw.focus),
            raw.path,
            intern(raw.value) if raw.value else NO_VALUE,
        )

    def find_affected_whole_shapes(self, p: int) -> list[TargetedShape]:
        """Returns the shapes evaluated on the whole graph that the predicate might affect."""
        return [targeted for targeted in self.whole_shapes if self._may_be_affected(targeted, p)]

    def _may_be_affected(self, targeted: TargetedShape, p: int) -> bool:
        if self._depends_on(targeted, p):
            return True
        for constraint in targeted.dependencies.opaque_queries:
            if constraint.predicates is None or p in constraint.predicates:
                return True
        return False

    def _plan_predicate(self, p: int) -> Iterator[_PredicatePlan]:
        for targeted in self.targeted_shapes:
            if targeted.evaluation == "whole" or not self._depends_on(targeted, p):
                continue
            dependencies, target = targeted.dependencies, targeted.target
            edges = tuple(edge for edge in dependencies.edges if edge.predicate == p)
            closed_edges = tuple(
                edge for edge in dependencies.closed_edges if p not in edge.allowed
            )
            by_subject = p in target.subjects_of or (p == self._rdf_type and bool(target.classes))
            by_object = p in target.objects_of
            at_all_focus_nodes = p == self._sub_class and (
                dependencies.uses_class_hierarchy or bool(target.classes)
            )
            has_only_direct_edges = all(
                edge.walk_back is None and not edge.inverse for edge in edges
            )
            queries = tuple(
                q for q in dependencies.queries if p in (q.constraint.predicates or (p,))
            )
            is_direct = has_only_direct_edges and not (
                closed_edges or by_object or at_all_focus_nodes or queries
            )
            yield _PredicatePlan(
                targeted,
                edges,
                closed_edges,
                queries,
                by_subject,
                by_object,
                at_all_focus_nodes,
                is_direct,
                is_certain=p in target.subjects_of,
            )

    def _depends_on(self, targeted: TargetedShape, p: int) -> bool:
        dependencies, target = targeted.dependencies, targeted.target
        return (
            any(edge.predicate == p for edge in dependencies.edges)
            or any(p not in edge.allowed for edge in dependencies.closed_edges)
            or any(
                query.constraint.predicates is None or p in query.constraint.predicates
                for query in dependencies.queries
            )
            or p in target.subjects_of
            or p in target.objects_of
            or (p == self._rdf_type and bool(target.classes))
            or (
                p == self._sub_class and (dependencies.uses_class_hierarchy or bool(target.classes))
            )
        )
