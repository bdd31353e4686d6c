"""Draws reliability diagrams and risk–coverage curves.

Both have the same frame, a square from 0 to 1; the risk axis ends above the worst curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eval.blocks.charts import ReliabilityChart, RiskChart
from eval.blocks.text_format import format_percent
from reporting.charts.picture import (
    Group,
    Picture,
    Shape,
    circle,
    fixed,
    group,
    line,
    path,
    rect,
    text,
    use,
)

_WIDTH, _HEIGHT = 270.0, 284.0
_LEFT, _RIGHT = 34.0, 258.0
_TOP, _BOTTOM = 20.0, 202.0
_COUNTS_TOP, _COUNTS_BOTTOM = 222.0, 250.0
"""Borders of the columns below a reliability diagram, which show the sizes of the bins."""
_TICKS = ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))


def draw_reliability(chart: ReliabilityChart) -> Picture:
    """Draws the accuracy of each bin, its distance from calibration, and the size of the bin."""
    largest = max((bin_.n for bin_ in chart.bins), default=0)
    groups = [
        _draw_axes(_TICKS, "stated confidence", _HEIGHT - 6),
        group(line(_LEFT, _BOTTOM, _RIGHT, _TOP, "diagonal")),
        group(text(_LEFT, _TOP - 8, "share right ↑", "hint")),
    ]
    for bin_ in chart.bins:
        left, right = _scale_x(bin_.low) + 1, _scale_x(bin_.high) - 1
        height = (_COUNTS_BOTTOM - _COUNTS_TOP) * bin_.n / largest
        x, y = _scale_x(bin_.confidence), _scale_y(bin_.accuracy)
        interval = (_scale_y(bin_.accuracy_low), _scale_y(bin_.accuracy_high))
        groups.append(
            group(
                rect(left, _COUNTS_BOTTOM - height, max(right - left, 1.0), height, "column"),
                line(x, _scale_y(bin_.confidence), x, y, "gap"),
                line(x, interval[0], x, interval[1], "interval"),
                circle(x, y, 4, "dot"),
                title=bin_.text,
            )
        )
    groups += [
        group(line(_LEFT, _COUNTS_BOTTOM, _RIGHT, _COUNTS_BOTTOM, "base")),
        group(text(_LEFT, _COUNTS_BOTTOM + 12, f"replies per bin, ≤ {largest:,}", "hint")),
    ]
    return Picture(_WIDTH, _HEIGHT, tuple(groups), "square")


def draw_risk(chart: RiskChart) -> Picture:
    """Draws one system's curve, with those of the other systems in grey."""
    half = chart.ceiling / 2
    digits = 3 if math.isclose(chart.ceiling, 0.05) else 2  # half of 0.05 is 0.025
    ticks = tuple(
        (share, "0" if not share else f"{value:.{digits}f}".rstrip("0").rstrip("."))
        for share, value in ((0.0, 0.0), (0.5, half), (1.0, chart.ceiling))
    )
    random = _scale_y(chart.error_rate / chart.ceiling)
    curve = path(_trace_curve(chart.points, chart.ceiling), id_=f"curve-{chart.key}")
    groups = [
        _draw_axes(ticks, "coverage: share accepted", _BOTTOM + 30),
        group(*(use(f"curve-{key}") for key in chart.other_keys), look="ghost"),
        group(line(_LEFT, random, _RIGHT, random, "diagonal")),
        group(curve, look="own", title=describe_risk(chart.points)),
        group(text(_LEFT, _TOP - 8, "share wrong ↑", "hint")),
    ]
    return Picture(_WIDTH, _HEIGHT, tuple(groups), "square")


def describe_risk(points: Sequence[tuple[float, float]]) -> str:
    """Describes a curve by the risks at four shares of coverage."""

    def find_risk_at(share: float) -> float:
        return next((risk for coverage, risk in points if coverage >= share - 1e-9), points[-1][1])

    risks = ", ".join(
        f"{format_percent(find_risk_at(share))} at {format_percent(share)}"
        for share in (0.25, 0.5, 0.75, 1.0)
    )
    return f"Share wrong among the accepted replies, by coverage: {risks}"


def _trace_curve(points: Sequence[tuple[float, float]], ceiling: float) -> str:
    parts: list[str] = []
    previous = ""
    for coverage, risk in points:
        position = f"{fixed(_scale_x(coverage))} {fixed(_scale_y(risk / ceiling))}"
        if position != previous:  # points that coincide after rounding would only enlarge the page
            parts.append(f"{'L' if parts else 'M'}{position}")
        previous = position
    return "".join(parts)


def _draw_axes(y_ticks: Sequence[tuple[float, str]], label: str, label_y: float) -> Group:
    shapes: list[Shape] = []
    for share, tick in _TICKS:
        x = _scale_x(share)
        shapes += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 14, tick, anchor="middle")]
    for share, tick in y_ticks:
        y = _scale_y(share)
        shapes += [line(_LEFT, y, _RIGHT, y), text(_LEFT - 6, y + 4, tick, anchor="end")]
    shapes.append(text((_LEFT + _RIGHT) / 2, label_y, label, "axis", "middle"))
    return group(*shapes, look="grid")


def _scale_x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), 1.0)


def _scale_y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0)
