"""Where the marks of reliability diagrams and risk–coverage curves stand: pure geometry.

As in ``reporting/charts.py``; drawn by ``templates/_confidence.svg.j2``. Both charts share one
frame, a square from 0 to 1 (risk reaches only as high as the worst curve does).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import number, percent

WIDTH = 270.0
LEFT, RIGHT = 34.0, 258.0
TOP, BOTTOM = 20.0, 202.0
COUNTS_TOP, COUNTS_BOTTOM = 222.0, 250.0
SHARES = ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))


@dataclass(frozen=True)
class Bin:
    """One bin of confidence.

    Attributes:
        low, high: its edges.
        n: replies.
        n_right: those that are right.
        confidence: their mean.
        accuracy: ``n_right / n``.
        accuracy_low, accuracy_high: its interval.
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
        """The bin in words."""
        return (
            f"Confidence {number(self.low, 2)} to {number(self.high, 2)}: {self.n_right:,} of "
            f"{self.n:,} right, {number(self.accuracy)} ({number(self.accuracy_low)} to "
            f"{number(self.accuracy_high)}); mean confidence {number(self.confidence)}"
        )


@dataclass(frozen=True)
class BinMark:
    """One bin drawn: a dot with its interval, and a column for its size."""

    x: float
    y: float
    low: float
    high: float
    expected: float
    """Where the dot would lie if the confidence were true."""
    column_x: float
    column_width: float
    column_y: float
    column_height: float
    text: str


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram."""

    marks: tuple[BinMark, ...]
    most: str
    """Size of the largest bin."""


def reliability(bins: Sequence[Bin]) -> Reliability:
    """Lays out the bins of one system, by rising confidence."""
    most = max((one.n for one in bins), default=0)
    marks = []
    for one in bins:
        left, right = across(one.low) + 1, across(one.high) - 1
        height = round((COUNTS_BOTTOM - COUNTS_TOP) * one.n / most, 1)
        marks.append(
            BinMark(
                x=across(one.confidence),
                y=up(one.accuracy),
                low=up(one.accuracy_low),
                high=up(one.accuracy_high),
                expected=up(one.confidence),
                column_x=round(left, 1),
                column_width=round(max(right - left, 1.0), 1),
                column_y=round(COUNTS_BOTTOM - height, 1),
                column_height=height,
                text=one.text,
            )
        )
    return Reliability(tuple(marks), f"{most:,}")


@dataclass(frozen=True)
class Curve:
    """One system's risk–coverage curve.

    Attributes:
        path: SVG path data.
        random_y: height of the curve if confidence said nothing.
        text: the curve in words.
    """

    path: str
    random_y: float
    text: str


def risk_ceiling(curves: Sequence[Sequence[tuple[float, float]]]) -> float:
    """How high the axis of risk must reach: a round share above all curves.

    The first replies of a curve are few and jump between 0 and 1; what lies before 5 % coverage
    does not stretch the axis, and is cut off where it leaves it.

    Args:
        curves: per system (coverage, risk) by rising coverage.
    """
    highest = max((risk for c in curves for coverage, risk in c if coverage >= 0.05), default=0.0)
    return next(
        (top for top in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75) if highest <= top),
        1.0,
    )


def curve(points: Sequence[tuple[float, float]], error_rate: float, ceiling: float) -> Curve:
    """Lays out one curve.

    Args:
        points: (coverage, risk) by rising coverage; not empty.
        error_rate: risk at full coverage.
        ceiling: risk at the top of the frame.
    """
    parts: list[str] = []
    last = ""
    for coverage, risk in points:
        at = f"{across(coverage):g} {up(risk / ceiling):g}"
        if at != last:
            parts.append(f"{'L' if parts else 'M'}{at}")
        last = at
    shown = [0.25, 0.5, 0.75, 1.0]

    def risk_at(share: float) -> float:
        return next((r for coverage, r in points if coverage >= share - 1e-9), points[-1][1])

    said = ", ".join(f"{percent(risk_at(share))} at {percent(share)}" for share in shown)
    return Curve("".join(parts), up(error_rate / ceiling), f"Wrong among those accepted: {said}")


def risk_ticks(ceiling: float) -> tuple[tuple[float, str], ...]:
    """Heights and labels for the axis of risk."""
    half = ceiling / 2
    digits = 3 if math.isclose(ceiling, 0.05) else 2
    return tuple(
        (up(share), "0" if not share else f"{value:.{digits}f}".rstrip("0").rstrip("."))
        for share, value in ((0.0, 0.0), (0.5, half), (1.0, ceiling))
    )


def across(share: float) -> float:
    """The horizontal place of a share."""
    return round(LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0), 1)


def up(share: float) -> float:
    """The vertical place of a share."""
    return round(BOTTOM - (BOTTOM - TOP) * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True)
class Frame:
    """The frame of both charts, for the template."""

    width: float = WIDTH
    height: float = 284.0
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM
    counts_bottom: float = COUNTS_BOTTOM
    x_ticks: tuple[tuple[float, str], ...] = tuple((across(at), label) for at, label in SHARES)
    y_ticks: tuple[tuple[float, str], ...] = tuple((up(at), label) for at, label in SHARES)
