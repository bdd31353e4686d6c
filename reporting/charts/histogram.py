"""Draws histograms with marked values, and line charts."""

from __future__ import annotations

from eval.blocks.axis_charts import Histogram, LineChart, make_amount_axis
from reporting.charts.picture import (
    Anchor,
    Group,
    Picture,
    circle,
    group,
    line,
    path,
    rect,
    text,
    track,
)
from reporting.charts.plane import Plane

WIDTH, HEIGHT = 400.0, 236.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 388.0, 62.0, 196.0
_LABEL = 84.0
"""Room for the words of a mark: two nearer than this stand on different lines."""


def draw_histogram(chart: Histogram) -> Picture:
    """Draws counts in bins, with values marked by lines."""
    counts, high, unit, noun = chart.counts, chart.high, chart.unit, chart.noun
    x = make_amount_axis(high, chart.label)
    y = make_amount_axis(max(counts, default=0), noun, whole=True)
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, x, y)
    groups: list[Group] = [plane.draw_grid(verticals=False)]
    width = high / len(counts) if counts else 0.0
    for number, count in enumerate(counts):
        if not count:
            continue
        left, right = plane.to_x(number * width), plane.to_x((number + 1) * width)
        at = plane.to_y(count)
        said = f"{number * width:.3g} to {(number + 1) * width:.3g} {unit}: {count:,} {noun}"
        bar = rect(left + 0.5, at, right - left - 1, _BOTTOM - at, "bar-fill")
        groups.append(group(bar, title=said))
    free: list[float] = []
    for name, value in chart.marks:
        if value is None:
            continue
        at = plane.to_x(value)
        # Names stand on the first line on which the one before leaves room.
        row = next((n for n, taken in enumerate(free) if at - taken >= _LABEL), len(free))
        free[row : row + 1] = [at]
        y_text = _TOP - 26 + 12 * (row % 3) - 10
        anchor: Anchor = "end" if at > _RIGHT - _LABEL else "start"
        said = f"{name} {value:.3g} {unit}"
        groups.append(
            group(
                line(at, y_text - 8, at, _BOTTOM, "mark"),
                text(at + (4 if anchor == "start" else -4), y_text, said, "label", anchor),
                title=said,
            )
        )
    return Picture(WIDTH, HEIGHT, tuple(groups), "plot histogram")


def draw_line(chart: LineChart) -> Picture:
    """Draws points joined by a line, and the marked value."""
    plane = Plane(_LEFT, _RIGHT, 30.0, _BOTTOM, chart.x, chart.y)
    places = [(plane.to_x(x), plane.to_y(y)) for x, y in chart.points]
    groups: list[Group] = [plane.draw_grid()]
    if chart.mark is not None:
        value, tooltip = chart.mark
        at = plane.to_x(value)
        groups.append(group(line(at, plane.top, at, plane.bottom, "mark"), title=tooltip))
    if len(places) > 1:
        groups.append(group(path(track(places), "curve")))
    for (x, y), tooltip in zip(places, chart.texts, strict=False):
        groups.append(group(circle(x, y, 3, "dot"), title=tooltip))
    return Picture(WIDTH, HEIGHT, tuple(groups), "plot timeline")
