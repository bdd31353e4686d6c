"""Evaluates compiled shapes: a shape has components, and a component may refer to other shapes.

``Component`` and ``CompiledShape`` depend on each other, so both are in this module. The
components are implemented in ``components``, ``nested`` and ``sparql``; ``compiler`` builds
compiled shapes from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from kg.shapes.model import SH_VIOLATION, Parameter, Shape
from kg.shapes.paths import Step, Walk
from kg.triples.index import Index
from kg.triples.term_table import TermTable

NO_VALUE = -1
"""The value in results that have no ``sh:value``, for example those of counts."""

Result: TypeAlias = tuple["CompiledShape", str, int, str | None, int]
"""(source shape, component, focus node, path or None for the shape's own path, value)."""


class Component:
    """One constraint of one shape.

    Attributes:
        name: local name of the component, ``…ConstraintComponent``.
        owner: the shape it belongs to; set when that shape is built.
        skip_if_without: id of a predicate; a focus node without a value of it cannot fail.
            None if there is no such predicate.
    """

    name: str
    owner: CompiledShape
    skip_if_without: int | None = None

    def __init__(self, parameter: Parameter) -> None:
        self.name = f"{parameter.component}ConstraintComponent"
        self.parameter = parameter

    def find_failing_values(
        self, index: Index, focus: int, values: Collection[int]
    ) -> Collection[int]:
        """Returns the value of each violation at ``focus``; ``NO_VALUE`` for those without one."""
        raise NotImplementedError

    def values_conform(self, index: Index, focus: int, values: Collection[int]) -> bool:
        """Returns whether there is no violation at ``focus``."""
        return not self.find_failing_values(index, focus, values)

    def collect_results(
        self, index: Index, focus: int, values: Collection[int], results: list[Result]
    ) -> None:
        """Appends the violations at ``focus`` to ``results``."""
        failing_values = self.find_failing_values(index, focus, values)
        if failing_values:
            owner, name = self.owner, self.name
            results.extend([(owner, name, focus, None, value) for value in failing_values])


class CompiledShape:
    """One shape, ready to be evaluated.

    Attributes:
        shape: the shape it was compiled from.
        walk: leads from a focus node to the value nodes; None for node shapes.
        components: its own constraints.
        properties: the property shapes of ``sh:property``; their results are reported with its own.
        reports_violations: whether its results have severity ``sh:Violation``.
    """

    __slots__ = (
        "_forward_predicate",
        "_skip_if_without",
        "components",
        "properties",
        "reports_violations",
        "shape",
        "walk"
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
        # The most frequent path, one predicate forwards, is read from the index without a walk.
        path = shape.path
        self._forward_predicate: int | None = None
        if isinstance(path, Step) and not path.inverse:
            self._forward_predicate = terms.intern(path.predicate)
        # This predicate is checked first, because walking a long path (upstream through a whole
        # river basin) is much more expensive than one look-up.
        self._skip_if_without: int | None = None
        if len(components) == 1 and not properties:
            self._skip_if_without = components[0].skip_if_without
        self.reports_violations = shape.severity == SH_VIOLATION
        for component in components:
            component.owner = self

    def find_value_nodes(self, index: Index, focus: int) -> Collection[int]:
        """Returns the value nodes: those that the path reaches from ``focus``, or ``focus``."""
        return (focus,) if self.walk is None else self.walk(index, focus)

    def collect_results(self, index: Index, focus: int, results: list[Result]) -> None:
        """Appends all violations at ``focus``, including those of its property shapes."""
        if self.shape.deactivated:
            return
        if self._skip_if_without is not None and not index.find_objects(
            focus, self._skip_if_without
        ):
            return
        values: Collection[int]
        if self._forward_predicate is not None:
            values = index.find_objects(focus, self._forward_predicate)
        else:
            values = (focus,) if self.walk is None else self.walk(index, focus)
        # Property shapes are evaluated even if this is False: they have severities of their own.
        if self.reports_violations:
            for component in self.components:
                component.collect_results(index, focus, values, results)
        if self.properties:
            for value in values:
                for inner in self.properties:
                    inner.collect_results(index, value, results)

    def iter_result_owners(self) -> Iterator[CompiledShape]:
        """Yields the shapes whose results it collects: itself and its property shapes."""
        yield self
        for inner in self.properties:
            yield from inner.iter_result_owners()

    def node_conforms(self, index: Index, focus: int) -> bool:
        """Returns whether ``focus`` has no result of any severity."""
        if self.shape.deactivated:
            return True
        values: Collection[int]
        if self._forward_predicate is not None:
            values = index.find_objects(focus, self._forward_predicate)
        else:
            values = (focus,) if self.walk is None else self.walk(index, focus)
        for component in self.components:
            if not component.values_conform(index, focus, values):
                return False
        for inner in self.properties:
            for value in values:
                if not inner.node_conforms(index, value):
                    return False
        return True
