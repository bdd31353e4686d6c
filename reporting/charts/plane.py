"""The plane between two axes."""

from __future__ import annotations

from dataclasses import dataclass

from eval.blocks.axis_charts import Axis
from reporting.charts.picture import Group, group, line, text


@dataclass(frozen=True)
class Plane:
    """The area of a chart's marks; y grows upwards."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    def to_x(self, value: float) -> float:
        """Converts a value of x to a coordinate."""
        return round(self.left + (self.right - self.left) * self.x.to_share(value), 1)

    def to_y(self, value: float) -> float:
        """Converts a value of y to a coordinate."""
        return round(self.bottom + (self.top - self.bottom) * self.y.to_share(value), 1)

    def draw_grid(self, *, verticals: bool = True) -> Group:
        """Draws lines, numbers and labels of both axes. The label of y is above it, upright."""
        shapes = []
        for value, said in self.x.ticks:
            at = self.to_x(value)
            if verticals:
                shapes.append(line(at, self.top, at, self.bottom))
            if said:
                shapes.append(text(at, self.bottom + 15, said, anchor="middle"))
        for value, said in self.y.ticks:
            at = self.to_y(value)
            shapes.append(line(self.left, at, self.right, at))
            if said:
                shapes.append(text(self.left - 6, at + 4, said, anchor="end"))
        middle = (self.left + self.right) / 2
        if self.x.label:
            shapes.append(text(middle, self.bottom + 32, self.x.label, anchor="middle"))
        if self.y.label:
            shapes.append(text(2, self.top - 9, f"{self.y.label} ↑"))
        return group(*shapes, look="grid")
