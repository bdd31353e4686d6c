"""Axes with round numbers, and the plane between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reporting.charts import format_number
from reporting.plots.picture import Group, group, line, text

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        low, high: what its ends stand for.
        ticks: values within, with what is written at them.
        words: what it shows.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    words: str

    def share(self, value: float) -> float:
        """How far along the axis a value lies, kept within it."""
        span = self.high - self.low
        return min(max((value - self.low) / span, 0.0), 1.0) if span else 0.0


def share_axis(words: str) -> Axis:
    """From 0 to 1."""
    ticks = ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1"))
    return Axis(0.0, 1.0, ticks, words)


def amount_axis(most: float, words: str, *, whole: bool = False, steps: int = 4) -> Axis:
    """From 0 to the first round number that ``most`` fits below.

    Args:
        most: the greatest value to be shown; 0 or less gives an axis to 1.
        words: what it shows.
        whole: whether values are counts, so that ticks are whole numbers.
        steps: ticks beside 0, at most.
    """
    top = most if most > 0 and math.isfinite(most) else 1.0
    step = round_step(top / steps)
    if whole:
        step = max(1.0, step)
        step = math.ceil(step) if step < 5 else step
    count = max(1, math.ceil(top / step - 1e-9))
    digits = 0 if step >= 1 and step == int(step) else max(0, 1 - math.floor(math.log10(step)))
    ticks = tuple((n * step, _tick(n * step, digits)) for n in range(count + 1))
    return Axis(0.0, count * step, ticks, words)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _ROUND if step * power >= least * (1 - 1e-9))


def _tick(value: float, digits: int) -> str:
    if value >= 10_000:
        return f"{value:,.0f}"
    said = format_number(value, digits)
    return said.rstrip("0").rstrip(".") if "." in said else said


@dataclass(frozen=True)
class Plane:
    """Where a plot's marks may stand; y grows upwards."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        """Where a value of x stands."""
        return round(self.left + (self.right - self.left) * self.x.share(value), 1)

    def up(self, value: float) -> float:
        """Where a value of y stands."""
        return round(self.bottom + (self.top - self.bottom) * self.y.share(value), 1)

    def grid(self, *, verticals: bool = True) -> Group:
        """Lines, numbers and words of both axes. The words of y stand above it, upright."""
        shapes = []
        for value, said in self.x.ticks:
            at = self.across(value)
            if verticals:
                shapes.append(line(at, self.top, at, self.bottom))
            if said:
                shapes.append(text(at, self.bottom + 15, said, anchor="middle"))
        for value, said in self.y.ticks:
            at = self.up(value)
            shapes.append(line(self.left, at, self.right, at))
            if said:
                shapes.append(text(self.left - 6, at + 4, said, anchor="end"))
        middle = (self.left + self.right) / 2
        if self.x.words:
            shapes.append(text(middle, self.bottom + 32, self.x.words, anchor="middle"))
        if self.y.words:
            shapes.append(text(2, self.top - 9, f"{self.y.words} ↑"))
        return group(*shapes, look="grid")
