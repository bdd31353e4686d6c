"""Reduces shapes to those of their constraints that a claim with some predicates can violate.

A publisher's node shape says everything about a class, but adding a triple can violate only the
constraints that read its predicate, or any of a shape that it applies to another thing: by a path
or target with its predicate. Shapes of the latter kind stay whole wherever they are used. Nothing
is inferred from a claim, so that a domain or range applies no shape (docs/explanation/labels.md).

A constraint is left out only where fewer constraints accept more nodes, not inside ``sh:not``,
``sh:or``, ``sh:xone`` or qualified counts. So what contradicts a claim stays. An excerpt
contradicts more only about a thing that already breaks a shape named by ``sh:node`` or ``sh:and``:
it cannot break that shape again, but may newly break the excerpt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from kg.shapes.model import Parameter, Shape
from kg.shapes.paths import iter_steps
from kg.terms import RDF_TYPE, RDFS

_TYPING = (RDF_TYPE, RDFS + "subClassOf")
"""Predicates with which a claim can make anything a focus node or an instance of a class."""
_COMPARISONS = frozenset(("Equals", "Disjoint", "LessThan", "LessThanOrEquals"))
_MONOTONE = frozenset(("Property", "Node", "And"))
"""Components for which a nested shape with fewer constraints accepts more nodes, one by one."""
_KEYS = {
    "Pattern": ("pattern", "flags"),
    "Closed": ("closed", "ignoredProperties"),
    "SPARQL": ("sparql",),
    "QualifiedMinCount": (),
    "QualifiedMaxCount": (),
}
"""Component → local names of its parameters, where these are not just its own name. Qualified
counts share their parameters, so that neither is left out."""


class LeftOut(NamedTuple):
    """What an excerpt does not have of the shapes graph."""

    node: str
    key: str
    """Local name of the parameter in SHACL's namespace."""
    value: str
    """Node of the nested shape; empty for all values."""


def find_fixed_shapes(shapes: Mapping[str, Shape]) -> frozenset[str]:
    """Finds the shapes that must stay whole, because something rests on their violations, too."""
    parameters = [parameter for shape in shapes.values() for parameter in shape.parameters]
    if any(parameter.siblings for parameter in parameters):
        return frozenset(shapes)
    open_nodes = [
        node
        for parameter in parameters
        if parameter.component not in _MONOTONE
        for node in parameter.shapes
    ]
    return frozenset(_find_reachable(shapes, open_nodes))


def _find_reachable(shapes: Mapping[str, Shape], nodes: Iterable[str]) -> set[str]:
    """Finds shapes and all that they refer to, directly or not."""
    reachable: set[str] = set()
    open_nodes = list(nodes)
    while open_nodes:
        node = open_nodes.pop()
        if node not in reachable:
            reachable.add(node)
            open_nodes += [inner for each in shapes[node].parameters for inner in each.shapes]
    return reachable


class Excerpt:
    """The constraints of shapes that a claim can violate.

    Args:
        shapes: all shapes, by node.
        fixed: those that must stay whole (see ``find_fixed_shapes``).
        predicates: the predicate of the claim, and those of the triples that follow from it.
        met_datatypes: datatypes that the values of these triples are known to have.

    Attributes:
        shapes: the shapes that have fewer constraints now, by node.
        left_out: what they lack.
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        fixed: Collection[str],
        predicates: Collection[str],
        met_datatypes: Collection[str] = (),
    ) -> None:
        self._all = shapes
        self._fixed = frozenset(fixed)
        self._predicates = frozenset(predicates)
        self._met_datatypes = frozenset(met_datatypes)
        self._visited: set[str] = set()
        self.shapes: dict[str, Shape] = {}
        self.left_out: list[LeftOut] = []

    def reduce(self, nodes: Iterable[str]) -> None:
        """Reduces shapes, and those that they refer to."""
        roots = tuple(nodes)
        if self._predicates.isdisjoint(_TYPING):
            self._fixed = self._fixed | self._find_newly_applied(roots)
            for node in roots:
                self._reduce(node)

    def _find_newly_applied(self, roots: Iterable[str]) -> set[str]:
        """Finds shapes that a claim can apply to more nodes, so that all their constraints matter.

        A shape may be reached in several ways, but there is only one excerpt of it.
        """
        applied: list[str] = []
        for node in _find_reachable(self._all, roots):
            shape = self._all[node]
            targets = {*shape.targets.subjects_of, *shape.targets.objects_of}
            if not self._predicates.isdisjoint(targets):
                applied.append(node)
            elif self._reads(shape):
                applied += [inner for each in shape.parameters for inner in each.shapes]
        return _find_reachable(self._all, applied)

    def _reduce(self, node: str) -> None:
        shape = self._all[node]
        if node in self._visited or node in self._fixed:
            return
        self._visited.add(node)
        kept = [p for p in shape.parameters if self._is_violable(shape, p)]
        kept_components = {p.component for p in kept}
        if "Closed" in kept_components:
            kept_components.add("Property")  # whose paths are what it allows
        # Several constraints of one component stay or go together, but for nested shapes.
        final = [
            p
            for p in shape.parameters
            if p in kept
            or (p.component in kept_components and p.component not in ("Property", "Node"))
            or (p.component == "Property" and "Closed" in kept_components)
            or not _KEYS.get(p.component, (p.component,))
        ]
        for parameter in final:
            if parameter.component in _MONOTONE:
                for inner in parameter.shapes:
                    self._reduce(inner)
        if len(final) < len(shape.parameters):
            self.shapes[node] = replace(shape, parameters=tuple(final))
            for parameter in shape.parameters:
                if parameter not in final:
                    self._leave_out(node, parameter)

    def _leave_out(self, node: str, parameter: Parameter) -> None:
        name = parameter.component
        keys = _KEYS.get(name, (name[0].lower() + name[1:],))
        nested = parameter.shapes[0] if name in ("Property", "Node") else ""
        self.left_out += [LeftOut(node, key, nested) for key in keys]

    def _is_violable(self, shape: Shape, parameter: Parameter) -> bool:
        """Returns whether a claim can violate a constraint on the values of a shape."""
        component = parameter.component
        if component in ("MinCount", "HasValue"):
            return False  # another value takes none away
        if component == "Datatype" and self._met_datatypes.issuperset(parameter.terms):
            return shape.path_text not in self._predicates and self._reads(shape)
        if component == "Property" and not self._reads(shape):
            return self._has_violable(parameter.shapes[0], set())
        return self._reads(shape) or self._mentions(parameter, set())

    def _has_violable(self, node: str, visited: set[str]) -> bool:
        """Returns whether anything is left of a property shape."""
        shape = self._all[node]
        if node in visited or shape.deactivated:
            return False
        visited.add(node)
        if node in self._fixed:
            return self._mentions_any(node, set())
        return any(
            self._has_violable(p.shapes[0], visited)
            if p.component == "Property" and not self._reads(shape)
            else self._is_violable(shape, p)
            for p in shape.parameters
        )

    def _reads(self, shape: Shape) -> bool:
        """Returns whether the path of a shape has one of the predicates, so that it gets values."""
        return shape.path is not None and any(
            step.predicate in self._predicates for _, step in iter_steps(shape.path)
        )

    def _mentions(self, parameter: Parameter, visited: set[str]) -> bool:
        component = parameter.component
        if component == "SPARQL":
            return True  # may read anything
        if component == "Closed":
            return not self._predicates.issubset(parameter.terms)
        if component in _COMPARISONS:
            return not self._predicates.isdisjoint(parameter.terms)
        return any(self._mentions_any(node, visited) for node in parameter.shapes)

    def _mentions_any(self, node: str, visited: set[str]) -> bool:
        shape = self._all[node]
        if node in visited or shape.deactivated:
            return False
        visited.add(node)
        return self._reads(shape) or any(self._mentions(p, visited) for p in shape.parameters)
