"""Draws a gauge: one score on a half circle of zones, with its interval."""

from __future__ import annotations

import math

from eval.blocks.charts import GaugeChart
from eval.blocks.text_format import format_number
from reporting.charts.picture import (
    Anchor,
    Group,
    Picture,
    Shape,
    circle,
    fixed,
    group,
    line,
    path,
    text,
)

WIDTH, HEIGHT = 240.0, 158.0
_X, _Y = 120.0, 122.0
_OUTER, _INNER = 96.0, 74.0
_INTERVAL = 101.0
_NUMBERS = 108.0


def draw_gauge(chart: GaugeChart) -> Picture:
    """Draws a score on its scale.

    Besides its colour, the zone has a thicker rim, and its name is under the number.
    """
    score, zones = chart.score, chart.zones
    groups: list[Group] = []
    here = next((one for one in reversed(zones) if (score.value or 0.0) >= one.low), None)
    for zone in zones:
        mine = score.value is not None and zone is here
        words = f"{zone.name}: {format_number(zone.low, 2)} to {format_number(zone.high, 2)}"
        sector = path(_ring(zone.low, zone.high, _INNER - (5 if mine else 0), _OUTER))
        groups.append(group(sector, look=f"zone {zone.look}{' here' if mine else ''}", title=words))
    marks = [zone.low for zone in zones] + [1.0]
    said: list[Shape] = []
    for mark in marks:
        x, y = _at(mark, _NUMBERS)
        anchor: Anchor = "end" if x < _X - 20 else "start" if x > _X + 20 else "middle"
        shown = f"{mark:g}"
        said.append(text(x, y + (4 if 0 < mark < 1 else 14), shown, "", anchor))
    groups.append(group(*said, look="grid"))
    if score.low is not None and score.high is not None:
        arc = path(_arc(score.low, score.high, _INTERVAL), "span")
        words = f"interval {score.interval_text}"
        groups.append(group(arc, title=words))
    if score.value is not None:
        x, y = _at(score.value, _OUTER + 2)
        inner = _at(score.value, 54.0)
        groups.append(group(line(*inner, x, y, "needle"), circle(*inner, 3, "needle")))
    groups.append(
        group(
            text(_X, _Y - 6, score.text, "big", "middle"),
            text(_X, _Y + 13, here.name if here and score.value is not None else "", "", "middle"),
            text(_X, _Y + 30, score.interval_text, "hint", "middle"),
        )
    )
    return Picture(WIDTH, HEIGHT, tuple(groups), "plot gauge")


def _at(value: float, radius: float) -> tuple[float, float]:
    angle = math.pi * (1 - min(max(value, 0.0), 1.0))
    return _X + radius * math.cos(angle), _Y - radius * math.sin(angle)


def _point(value: float, radius: float) -> str:
    x, y = _at(value, radius)
    return f"{fixed(x)} {fixed(y)}"


def _arc(low: float, high: float, radius: float) -> str:
    r = fixed(radius)
    return f"M{_point(low, radius)}A{r} {r} 0 0 1 {_point(high, radius)}"


def _ring(low: float, high: float, inner: float, outer: float) -> str:
    r = fixed(inner)
    back = f"L{_point(high, inner)}A{r} {r} 0 0 0 {_point(low, inner)}z"
    return _arc(low, high, outer) + back
