"""Targeted shapes compiled for one term table, and which focus nodes a triple affects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kg.index import Index
from kg.shapes.compiled import Compiler, Target
from kg.shapes.dependencies import AnyEdge, Dependencies, Edge, QueryEdge
from kg.shapes.evaluation import NO_VALUE, CompiledShape, Result
from kg.shapes.model import Raw
from kg.term_table import TermTable
from kg.terms import RDF, RDFS

if TYPE_CHECKING:
    from kg.shapes.collection import Shapes


class Targeted:
    """A shape with targets.

    Attributes:
        number: its place among the targeted shapes.
        owners: the shapes its results can come from.
        evaluation: ``compiled`` (over the index), ``retargeted`` (by pySHACL, on the focus nodes
            its dependencies give) or ``whole`` (by pySHACL, dependencies unknown).
    """

    __slots__ = ("compiled", "dependencies", "evaluation", "node", "number", "owners", "target")

    def __init__(self, number: int, node: str, compiler: Compiler, rdf_type: int) -> None:
        self.number = number
        self.node = node
        self.compiled: CompiledShape = compiler.shape(node)
        terms = compiler.lexicon.terms
        self.target = Target(self.compiled.shape, terms, compiler.memo)
        self.owners = frozenset(self.compiled.result_owners())
        self.dependencies = Dependencies(self.compiled, terms, rdf_type)
        if self.dependencies.opaque:
            self.evaluation = "whole"
        else:
            self.evaluation = "compiled" if self.dependencies.compiled else "retargeted"


class _Plan(NamedTuple):
    """How a triple of one predicate reaches one targeted shape."""

    targeted: Targeted
    edges: tuple[Edge, ...]
    any_edges: tuple[AnyEdge, ...]
    queries: tuple[QueryEdge, ...]
    by_subject: bool
    by_object: bool
    everywhere: bool
    direct: bool
    """Whether the subject is the only candidate, because nothing else is set."""
    certain: bool
    """Whether the subject is a focus node in any case: the shape targets all of the predicate."""


class Program:
    """All targeted shapes of a ``Shapes`` over one term table."""

    def __init__(self, shapes: Shapes, terms: TermTable) -> None:
        self.shapes = shapes
        self.terms = terms
        self.compiler = Compiler(shapes.shapes, terms)
        self._rdf_type = terms.intern(RDF + "type")
        self._sub_class = terms.intern(RDFS + "subClassOf")
        self.typing = frozenset({self._rdf_type, self._sub_class})
        self.targeted = [
            Targeted(number, node, self.compiler, self._rdf_type)
            for number, node in enumerate(shapes.targeted)
            if not shapes.shapes[node].deactivated
        ]
        self.whole = [t for t in self.targeted if t.evaluation == "whole"]
        self._plans: dict[int, list[_Plan]] = {}

    def affected(
        self, index: Index, s: int, p: int, o: int
    ) -> Iterator[tuple[Targeted, list[int]]]:
        """Targeted shapes whose results the triple can add to, with the focus nodes concerned.

        Shapes to be evaluated as a whole are left out (see ``whole_affected``).

        Args:
            index: the graph with the triple in it.
            s: its subject.
            p: its predicate.
            o: its object.
        """
        plans = self._plans.get(p)
        if plans is None:
            plans = self._plans[p] = list(self._plan(p))
        for plan in plans:
            targeted = plan.targeted
            holds = targeted.target.holds
            if plan.direct:
                if plan.certain or holds(index, s):
                    yield targeted, [s]
                continue
            found: dict[int, None] = {}
            if plan.everywhere:
                found.update(dict.fromkeys(targeted.target.focus_nodes(index)))
            if plan.by_subject:
                found[s] = None
            if plan.by_object:
                found[o] = None
            for edge in plan.edges:
                near = o if edge.inverse else s
                if edge.back is None:
                    found[near] = None
                else:
                    for focus in edge.back(index, near):
                        found[focus] = None
            for any_edge in plan.any_edges:
                for focus in any_edge.foci(index, s):
                    found[focus] = None
            for query in plan.queries:
                for focus in query.foci(index, s, p, o):
                    found[focus] = None
            foci = [focus for focus in found if holds(index, focus)]
            if foci:
                yield targeted, foci

    def raw(self, result: Result) -> Raw:
        """A result in term text."""
        shape, component, focus, path, value = result
        text, own = self.terms.text, shape.shape
        return Raw(
            own.node,
            component,
            text(focus),
            own.path_text if path is None else path,
            "" if value == NO_VALUE else text(value),
        )

    def result(self, raw: Raw) -> Result:
        """A result in term text (pySHACL's) as one of ours."""
        intern = self.terms.intern
        return (
            self.compiler.shape(raw.shape),
            raw.component,
            intern(raw.focus),
            raw.path,
            intern(raw.value) if raw.value else NO_VALUE,
        )

    def whole_affected(self, p: int) -> list[Targeted]:
        """Shapes to be evaluated as a whole that a triple of this predicate might concern."""
        return [targeted for targeted in self.whole if self._may_concern(targeted, p)]

    def _may_concern(self, targeted: Targeted, p: int) -> bool:
        if self._reaches(targeted, p):
            return True
        for constraint in targeted.dependencies.opaque:
            if constraint.predicates is None or p in constraint.predicates:
                return True
        return False

    def _plan(self, p: int) -> Iterator[_Plan]:
        for targeted in self.targeted:
            if targeted.evaluation == "whole" or not self._reaches(targeted, p):
                continue
            needs, target = targeted.dependencies, targeted.target
            edges = tuple(edge for edge in needs.edges if edge.predicate == p)
            any_edges = tuple(edge for edge in needs.any_edges if p not in edge.allowed)
            by_subject = p in target.subjects_of or (p == self._rdf_type and bool(target.classes))
            by_object = p in target.objects_of
            everywhere = p == self._sub_class and (needs.classes or bool(target.classes))
            plain = all(edge.back is None and not edge.inverse for edge in edges)
            queries = tuple(q for q in needs.queries if p in (q.constraint.predicates or (p,)))
            direct = plain and not (any_edges or by_object or everywhere or queries)
            yield _Plan(
                targeted,
                edges,
                any_edges,
                queries,
                by_subject,
                by_object,
                everywhere,
                direct,
                certain=p in target.subjects_of,
            )

    def _reaches(self, targeted: Targeted, p: int) -> bool:
        needs, target = targeted.dependencies, targeted.target
        return (
            any(edge.predicate == p for edge in needs.edges)
            or any(p not in edge.allowed for edge in needs.any_edges)
            or any(
                query.constraint.predicates is None or p in query.constraint.predicates
                for query in needs.queries
            )
            or p in target.subjects_of
            or p in target.objects_of
            or (p == self._rdf_type and bool(target.classes))
            or (p == self._sub_class and (needs.classes or bool(target.classes)))
        )
