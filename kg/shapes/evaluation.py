"""How shapes are evaluated: a compiled shape holds components, and components may ask shapes.

The two know each other by nature, so they stand in one module; the components themselves are in
``components``, ``nested`` and ``sparql``, and ``compiled`` puts everything together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from kg.index import Index
from kg.shapes.model import SH_VIOLATION, Parameter, Shape
from kg.shapes.paths import Step, Walk
from kg.term_table import TermTable

NO_VALUE = -1
"""Stands for the missing ``sh:value`` of results about counts."""

Result: TypeAlias = tuple["CompiledShape", str, int, str | None, int]
"""(source shape, component, focus node, path unless the shape's own, value)."""


class Component:
    """One constraint of one shape.

    Attributes:
        name: local name of the component, ``…ConstraintComponent``.
        owner: the shape it stands in, set when that is built.
        idle_without: a predicate; at a focus node that has no object of it nothing can fail.
    """

    name: str
    owner: CompiledShape
    idle_without: int | None = None

    def __init__(self, parameter: Parameter) -> None:
        self.name = f"{parameter.component}ConstraintComponent"
        self.parameter = parameter

    def failing(self, index: Index, focus: int, values: Collection[int]) -> Collection[int]:
        """The value of each violation at ``focus``; ``NO_VALUE`` where a result has none."""
        raise NotImplementedError

    def conforms(self, index: Index, focus: int, values: Collection[int]) -> bool:
        """Whether there is no violation at ``focus``."""
        return not self.failing(index, focus, values)

    def collect(self, index: Index, focus: int, values: Collection[int], out: list[Result]) -> None:
        """Appends the violations at ``focus``."""
        failing = self.failing(index, focus, values)
        if failing:
            owner, name = self.owner, self.name
            out.extend([(owner, name, focus, None, value) for value in failing])


class CompiledShape:
    """One shape, ready to be evaluated.

    Attributes:
        shape: what it was compiled from.
        components: its own constraints.
        properties: the property shapes named by ``sh:property``, whose results are its own.
        counts: whether its results have severity ``sh:Violation``.
    """

    __slots__ = (
        "_forward", "_idle_without", "components", "counts", "properties", "shape", "walk"
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        walk: Walk | None,
        components: list[Component],
        properties: list[CompiledShape],
        terms: TermTable,
    ) -> None:
        self.shape = shape
        self.walk = walk
        self.components = components
        self.properties = properties
        # The commonest path, one predicate forwards, is looked up without a call in between.
        path = shape.path
        self._forward: int | None = None
        if isinstance(path, Step) and not path.inverse:
            self._forward = terms.intern(path.predicate)
        # The one thing to look up before a path that may lead through half a river basin.
        self._idle_without: int | None = None
        if len(components) == 1 and not properties:
            self._idle_without = components[0].idle_without
        self.counts = shape.severity == SH_VIOLATION
        for component in components:
            component.owner = self

    def values(self, index: Index, focus: int) -> Collection[int]:
        """Value nodes: where the path leads from ``focus``, or ``focus`` itself."""
        return (focus,) if self.walk is None else self.walk(index, focus)

    def collect(self, index: Index, focus: int, out: list[Result]) -> None:
        """Appends all violations at ``focus``, nested property shapes' included."""
        if self.shape.deactivated:
            return
        if self._idle_without is not None and not index.objects(focus, self._idle_without):
            return
        values: Collection[int]
        if self._forward is not None:
            values = index.objects(focus, self._forward)
        else:
            values = (focus,) if self.walk is None else self.walk(index, focus)
        if self.counts:
            for component in self.components:
                component.collect(index, focus, values, out)
        if self.properties:
            for value in values:
                for inner in self.properties:
                    inner.collect(index, value, out)

    def result_owners(self) -> Iterator[CompiledShape]:
        """The shapes whose results are collected here: its own and its property shapes'."""
        yield self
        for inner in self.properties:
            yield from inner.result_owners()

    def conforms(self, index: Index, focus: int) -> bool:
        """Whether ``focus`` has no result of any severity."""
        if self.shape.deactivated:
            return True
        values: Collection[int]
        if self._forward is not None:
            values = index.objects(focus, self._forward)
        else:
            values = (focus,) if self.walk is None else self.walk(index, focus)
        for component in self.components:
            if not component.conforms(index, focus, values):
                return False
        for inner in self.properties:
            for value in values:
                if not inner.conforms(index, value):
                    return False
        return True
