"""Computes the geometry of reliability diagrams and risk–coverage curves.

Units and rounding are as in ``reporting/charts.py``; ``templates/_confidence.svg.j2`` draws the
charts. Both have the same frame, a square from 0 to 1 (the risk axis ends above the worst curve).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import format_number, format_percent

WIDTH = 270.0
LEFT, RIGHT = 34.0, 258.0
TOP, BOTTOM = 20.0, 202.0
"""Borders of the square, in the units of the chart."""
COUNTS_TOP, COUNTS_BOTTOM = 222.0, 250.0
"""Borders of the columns below a reliability diagram, which show the sizes of the bins."""
SHARE_TICKS = ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))


@dataclass(frozen=True)
class ConfidenceBin:
    """One bin of confidence.

    Attributes:
        low, high: edges of the bin.
        n: number of replies in the bin.
        n_right: number of right replies in the bin.
        confidence: mean confidence of its replies.
        accuracy: ``n_right / n``.
        accuracy_low, accuracy_high: interval of the accuracy.
    """

    low: float
    high: float
    n: int
    n_right: int
    confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float

    @property
    def text(self) -> str:
        """The tooltip of the bin."""
        return (
            f"Confidence {format_number(self.low, 2)} to {format_number(self.high, 2)}: "
            f"{self.n_right:,} of {self.n:,} right, {format_number(self.accuracy)} "
            f"({format_number(self.accuracy_low)} to {format_number(self.accuracy_high)}); mean "
            f"confidence {format_number(self.confidence)}"
        )


@dataclass(frozen=True)
class BinMark:
    """The marks of one bin: a dot with its interval, and a column for its size."""

    x: float
    y: float
    low: float
    high: float
    expected: float
    """y coordinate that the dot would have if accuracy equalled confidence."""
    column_x: float
    column_width: float
    column_y: float
    column_height: float
    text: str


@dataclass(frozen=True)
class ReliabilityDiagram:
    """The marks of a reliability diagram, which shows accuracy by bins of confidence."""

    marks: tuple[BinMark, ...]
    largest_bin: str
    """Size of the largest bin."""


def build_reliability_diagram(bins: Sequence[ConfidenceBin]) -> ReliabilityDiagram:
    """Lays out the bins of one system, in ascending order of confidence."""
    largest = max((bin_.n for bin_ in bins), default=0)
    marks = []
    for bin_ in bins:
        left, right = scale_x(bin_.low) + 1, scale_x(bin_.high) - 1
        height = round((COUNTS_BOTTOM - COUNTS_TOP) * bin_.n / largest, 1)
        marks.append(
            BinMark(
                x=scale_x(bin_.confidence),
                y=scale_y(bin_.accuracy),
                low=scale_y(bin_.accuracy_low),
                high=scale_y(bin_.accuracy_high),
                expected=scale_y(bin_.confidence),
                column_x=round(left, 1),
                column_width=round(max(right - left, 1.0), 1),
                column_y=round(COUNTS_BOTTOM - height, 1),
                column_height=height,
                text=bin_.text,
            )
        )
    return ReliabilityDiagram(tuple(marks), f"{largest:,}")


@dataclass(frozen=True)
class RiskCurve:
    """One system's risk–coverage curve.

    Attributes:
        path: SVG path data.
        random_y: y coordinate that the curve would have if confidence were unrelated to being
            right.
        text: the tooltip of the curve.
    """

    path: str
    random_y: float
    text: str


def choose_risk_ceiling(curves: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Chooses the end of the risk axis: a round share above all curves.

    A curve starts with few replies, where risk jumps between 0 and 1. Points below 5 % coverage are
    therefore ignored; they are cut off where they exceed the axis.

    Args:
        curves: per system (coverage, risk), in ascending order of coverage.
    """
    highest = max(
        (risk for curve in curves for coverage, risk in curve if coverage >= 0.05), default=0.0
    )
    return next(
        (top for top in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75) if highest <= top),
        1.0,
    )


def build_risk_curve(
    points: Sequence[tuple[float, float]], error_rate: float, ceiling: float
) -> RiskCurve:
    """Lays out one curve.

    Args:
        points: (coverage, risk) in ascending order of coverage; not empty.
        error_rate: risk at full coverage.
        ceiling: risk at the top of the frame.
    """
    parts: list[str] = []
    previous = ""
    for coverage, risk in points:
        position = f"{scale_x(coverage):g} {scale_y(risk / ceiling):g}"
        if position != previous:  # points that coincide after rounding would only enlarge the page
            parts.append(f"{'L' if parts else 'M'}{position}")
        previous = position
    shares = [0.25, 0.5, 0.75, 1.0]

    def find_risk_at(share: float) -> float:
        return next((r for coverage, r in points if coverage >= share - 1e-9), points[-1][1])

    risks = ", ".join(
        f"{format_percent(find_risk_at(share))} at {format_percent(share)}" for share in shares
    )
    text = f"Share wrong among the accepted replies, by coverage: {risks}"
    return RiskCurve("".join(parts), scale_y(error_rate / ceiling), text)


def build_risk_ticks(ceiling: float) -> tuple[tuple[float, str], ...]:
    """Returns (y coordinate, label) of each tick of the risk axis."""
    half = ceiling / 2
    digits = 3 if math.isclose(ceiling, 0.05) else 2  # half of 0.05 is 0.025
    return tuple(
        (scale_y(share), "0" if not share else f"{value:.{digits}f}".rstrip("0").rstrip("."))
        for share, value in ((0.0, 0.0), (0.5, half), (1.0, ceiling))
    )


def scale_x(share: float) -> float:
    """Returns the x coordinate of a share."""
    return round(LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0), 1)


def scale_y(share: float) -> float:
    """Returns the y coordinate of a share."""
    return round(BOTTOM - (BOTTOM - TOP) * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True)
class ChartFrame:
    """The frame of both charts, as the template needs it."""

    width: float = WIDTH
    height: float = 284.0
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM
    counts_bottom: float = COUNTS_BOTTOM
    x_ticks: tuple[tuple[float, str], ...] = tuple(
        (scale_x(value), label) for value, label in SHARE_TICKS
    )
    y_ticks: tuple[tuple[float, str], ...] = tuple(
        (scale_y(value), label) for value, label in SHARE_TICKS
    )
