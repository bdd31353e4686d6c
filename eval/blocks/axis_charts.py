"""Axes, and the charts that have them, as data; texts and shares are as in ``charts.py``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from eval.blocks.text_format import format_number

MAX_DOTS = 300
"""Maximum number of points of a ``ScatterChart`` that are drawn as dots, not counted in squares."""


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        low, high: values at its ends.
        ticks: (value, label).
        label: what it shows.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    label: str

    def to_share(self, value: float) -> float:
        """Returns how far along the axis a value lies, within [0, 1]."""
        span = self.high - self.low
        return min(max((value - self.low) / span, 0.0), 1.0) if span else 0.0


def make_share_axis(label: str) -> Axis:
    """Makes an axis from 0 to 1."""
    ticks = ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1"))
    return Axis(0.0, 1.0, ticks, label)


def make_amount_axis(maximum: float, label: str, *, whole: bool = False, steps: int = 4) -> Axis:
    """Makes an axis from 0 to the first round number that is not below ``maximum``.

    Args:
        maximum: the greatest value shown; 0 or less gives an axis to 1.
        label: what it shows.
        whole: whether values are counts, so that ticks are whole numbers.
        steps: maximum number of ticks besides 0.
    """
    top = maximum if maximum > 0 and math.isfinite(maximum) else 1.0
    step = round_up_step(top / steps)
    if whole:
        step = max(1.0, step)
        step = math.ceil(step) if step < 5 else step
    count = max(1, math.ceil(top / step - 1e-9))
    digits = 0 if step >= 1 and step == int(step) else max(0, 1 - math.floor(math.log10(step)))
    ticks = tuple((n * step, _format_tick(n * step, digits)) for n in range(count + 1))
    return Axis(0.0, count * step, ticks, label)


_ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def round_up_step(minimum: float) -> float:
    """Returns the smallest of 1, 2, 2.5, 5 times a power of ten that is not below ``minimum``."""
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(step * power for step in _ROUND_STEPS if step * power >= minimum * (1 - 1e-9))


def _format_tick(value: float, digits: int) -> str:
    if value >= 10_000:
        return f"{value:,.0f}"
    text = format_number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class ScatterChart:
    """Samples as points.

    Attributes:
        points: x and y of each.
        x, y: the axes.
        noun: what a point is, in the plural.
        iso_f1: whether x is recall, y is precision, and curves of equal F1 are drawn.
    """

    points: tuple[tuple[float, float], ...]
    x: Axis
    y: Axis
    noun: str = "samples"
    iso_f1: bool = False


@dataclass(frozen=True)
class NamedPoint:
    """One system in a plane.

    Attributes:
        name: display name.
        x, y: its values.
        x_interval, y_interval: intervals, where known.
        text: its numbers in words.
        on_frontier: whether no other system is at least as good in both and better in one;
            ``None`` if the chart has no frontier.
    """

    name: str
    x: float
    y: float
    x_interval: tuple[float, float] | None
    y_interval: tuple[float, float] | None
    text: str
    on_frontier: bool | None = None


@dataclass(frozen=True)
class SystemScatterChart:
    """Systems as named points in a plane; ``iso_f1`` as in ``ScatterChart``."""

    points: tuple[NamedPoint, ...]
    x: Axis
    y: Axis
    iso_f1: bool = False


@dataclass(frozen=True)
class Histogram:
    """Counts in bins of equal width over [0, high], with values marked by lines.

    Attributes:
        counts: one per bin; none gives empty axes.
        high: upper end of the last bin.
        marks: name and value of each line; ``None`` for no line.
        label: what is counted by.
        unit: of the values, after a number.
        noun: what is counted, in the plural.
    """

    counts: tuple[int, ...]
    high: float
    marks: tuple[tuple[str, float | None], ...]
    label: str
    unit: str
    noun: str


@dataclass(frozen=True)
class LineChart:
    """Points joined by a line.

    Attributes:
        points: x and y of each, in ascending order of x.
        x, y: the axes.
        texts: tooltips of the points; no dots are drawn without them.
        mark: value of x that is marked by a line, and its tooltip.
    """

    points: tuple[tuple[float, float], ...]
    x: Axis
    y: Axis
    texts: tuple[str, ...] = ()
    mark: tuple[float, str] | None = None


class CurvePoint(NamedTuple):
    """A point of a curve: its place, its interval where known, and its tooltip."""

    x: float
    y: float
    interval: tuple[float, float] | None
    text: str


class Curve(NamedTuple):
    """The points of one system, in ascending order of x."""

    name: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class CurveChart:
    """Curves of several systems in one plane."""

    curves: tuple[Curve, ...]
    x: Axis
    y: Axis


@dataclass(frozen=True)
class Quartiles:
    """How ``n`` shares are distributed: minimum, quartiles, maximum and mean."""

    name: str
    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


@dataclass(frozen=True)
class BoxPlot:
    """Box plots side by side; of a group without values, only the name."""

    groups: tuple[Quartiles | str, ...]
    label: str
    """Of the axis of values."""
