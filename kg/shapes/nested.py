"""Implements the components that refer to other shapes: not, and, or, xone, node, qualified."""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

from collections.abc import Collection

from kg.shapes.components import ClassConstraint, TypeCache
from kg.shapes.evaluation import NO_VALUE, CompiledShape, Component
from kg.shapes.model import Parameter
from kg.triples.index import Index


class NestedConstraint(Component):
    """A component that checks values against other shapes.

    Attributes:
        shapes: the other shapes, in the order given; ``sh:xone`` may contain a shape twice.
        type_cache: caches results by the types of a value; None if the result depends on anything
            else.
    """

    type_cache: TypeCache | None = None

    def __init__(self, parameter: Parameter, shapes: list[CompiledShape]) -> None:
        super().__init__(parameter)
        self.shapes = shapes

    def is_satisfied_by(self, index: Index, value: int) -> bool:
        """Returns whether one value satisfies the component."""
        raise NotImplementedError

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the values that do not satisfy the component."""
        if self.type_cache is None:
            return [value for value in values if not self.is_satisfied_by(index, value)]
        get_or_compute, is_satisfied_by = self.type_cache.get_or_compute, self.is_satisfied_by
        return [value for value in values if not get_or_compute(is_satisfied_by, index, value)]

    @property
    def depends_on_types_only(self) -> bool:
        """Whether the result for a value depends only on its types.

        That is so if the other shapes use only ``sh:class``, directly or in nested shapes.
        """
        return all(
            shape.walk is None
            and not shape.properties
            and all(
                isinstance(component, ClassConstraint)
                or (isinstance(component, NestedConstraint) and component.depends_on_types_only)
                for component in shape.components
            )
            for shape in self.shapes
        )


class Not(NestedConstraint):
    """``sh:not``."""

    def is_satisfied_by(self, index: Index, value: int) -> bool:
        """Returns whether the value does not conform to the shape."""
        return not self.shapes[0].node_conforms(index, value)


class AllOf(NestedConstraint):
    """``sh:and`` and ``sh:node``."""

    def is_satisfied_by(self, index: Index, value: int) -> bool:
        """Returns whether the value conforms to every shape."""
        return all(shape.node_conforms(index, value) for shape in self.shapes)


class AnyOf(NestedConstraint):
    """``sh:or``."""

    def is_satisfied_by(self, index: Index, value: int) -> bool:
        """Returns whether the value conforms to at least one shape."""
        return any(shape.node_conforms(index, value) for shape in self.shapes)


class OneOf(NestedConstraint):
    """``sh:xone``."""

    def is_satisfied_by(self, index: Index, value: int) -> bool:
        """Returns whether the value conforms to exactly one of the shapes."""
        return sum(shape.node_conforms(index, value) for shape in self.shapes) == 1


class QualifiedCount(Component):
    """``sh:qualifiedMinCount`` or ``sh:qualifiedMaxCount``.

    Attributes:
        shape: the shape that counted values conform to.
        siblings: shapes that counted values must not conform to
            (``sh:qualifiedValueShapesDisjoint``).
        is_minimum: whether it is ``sh:qualifiedMinCount``.
    """

    def __init__(
        self, parameter: Parameter, shape: CompiledShape, siblings: list[CompiledShape]
    ) -> None:
        super().__init__(parameter)
        self.shape = shape
        self.siblings = siblings
        self.is_minimum = parameter.component == "QualifiedMinCount"

    def is_counted(self, index: Index, value: int) -> bool:
        """Returns whether a value is counted."""
        return self.shape.node_conforms(index, value) and not any(
            sibling.node_conforms(index, value) for sibling in self.siblings
        )

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns ``NO_VALUE`` once if too few or too many values are counted, else nothing."""
        limit = self.parameter.number
        # If there are no more values than the maximum, they need not be counted.
        if not self.is_minimum and len(values) <= limit:
            return ()
        count = sum(self.is_counted(index, value) for value in values)
        is_satisfied = count >= limit if self.is_minimum else count <= limit
        return () if is_satisfied else (NO_VALUE,)
