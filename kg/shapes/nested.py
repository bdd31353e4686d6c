"""Constraint components on other shapes: not, and, or, xone, node, qualified counts."""

# ruff: noqa: ARG002 — one signature for all components, whether they need the focus node or not
from __future__ import annotations

from collections.abc import Collection

from kg.index import Index
from kg.shapes.components import ByTypes, ClassOf
from kg.shapes.evaluation import NO_VALUE, CompiledShape, Component
from kg.shapes.model import Parameter


class Nested(Component):
    """A component that asks whether values conform to other shapes.

    Attributes:
        shapes: the shapes asked, in the order given (``xone`` may name one twice).
        by_types: remembers answers where they follow from a value's types alone.
    """

    by_types: ByTypes | None = None

    def __init__(self, parameter: Parameter, shapes: list[CompiledShape]) -> None:
        super().__init__(parameter)
        self.shapes = shapes

    def holds(self, index: Index, value: int) -> bool:
        """Whether one value satisfies the component."""
        raise NotImplementedError

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """Values that do not satisfy the component."""
        if self.by_types is None:
            return [value for value in values if not self.holds(index, value)]
        ask, holds = self.by_types.ask, self.holds
        return [value for value in values if not ask(holds, index, value)]

    @property
    def asks_types_only(self) -> bool:
        """Whether nothing but a value's types can matter: of what class it is, or is not."""
        return all(
            shape.walk is None
            and not shape.properties
            and all(
                isinstance(part, ClassOf) or (isinstance(part, Nested) and part.asks_types_only)
                for part in shape.components
            )
            for shape in self.shapes
        )


class Not(Nested):
    """``sh:not``."""

    def holds(self, index: Index, value: int) -> bool:
        """Whether the value does not conform to the shape."""
        return not self.shapes[0].conforms(index, value)


class AllOf(Nested):
    """``sh:and`` and ``sh:node``."""

    def holds(self, index: Index, value: int) -> bool:
        """Whether the value conforms to every shape."""
        return all(shape.conforms(index, value) for shape in self.shapes)


class AnyOf(Nested):
    """``sh:or``."""

    def holds(self, index: Index, value: int) -> bool:
        """Whether the value conforms to a shape."""
        return any(shape.conforms(index, value) for shape in self.shapes)


class OneOf(Nested):
    """``sh:xone``."""

    def holds(self, index: Index, value: int) -> bool:
        """Whether the value conforms to exactly one of the shapes."""
        return sum(shape.conforms(index, value) for shape in self.shapes) == 1


class Qualified(Component):
    """``sh:qualifiedMinCount`` or ``sh:qualifiedMaxCount``.

    Attributes:
        shape: what counted values conform to.
        siblings: what they must not conform to (disjoint qualified value shapes).
    """

    def __init__(
        self, parameter: Parameter, shape: CompiledShape, siblings: list[CompiledShape]
    ) -> None:
        super().__init__(parameter)
        self.shape = shape
        self.siblings = siblings
        self.least = parameter.component == "QualifiedMinCount"

    def counts(self, index: Index, value: int) -> bool:
        """Whether a value is counted."""
        return self.shape.conforms(index, value) and not any(
            sibling.conforms(index, value) for sibling in self.siblings
        )

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """One result without value if too few or too many values are counted."""
        limit = self.parameter.number
        if not self.least and len(values) <= limit:
            return ()
        count = sum(self.counts(index, value) for value in values)
        good = count >= limit if self.least else count <= limit
        return () if good else (NO_VALUE,)
