"""Curves of several systems with intervals at their points."""

from __future__ import annotations

from eval.blocks.axis_charts import CurveChart
from eval.blocks.text_format import shorten_names
from reporting.charts.picture import (
    Group,
    Picture,
    Shape,
    circle,
    diamond,
    group,
    line,
    path,
    place_labels,
    rect,
    text,
    track,
)
from reporting.charts.plane import Plane

WIDTH = 560.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 400.0, 30.0, 246.0
_LABEL_X = 424.0
_STEP = 17.0
_LETTERS = 18
_DODGE = 4.0
"""Distance of the points of two curves at one x, so that their intervals can be told apart."""
N_LOOKS = 6


def draw_curves(chart: CurveChart) -> Picture:
    """Draws curves that differ in dashes and marks as well as in colour, named at their ends."""
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, chart.x, chart.y)
    groups: list[Group] = [plane.draw_grid()]
    curves = [curve for curve in chart.curves if curve.points]
    names = shorten_names((curve.name for curve in curves), _LETTERS)
    ends = [(_RIGHT, plane.to_y(curve.points[-1].y)) for curve in curves]
    label_y = place_labels(ends, _TOP + 4, _BOTTOM - 4, _STEP)
    for i, curve in enumerate(curves):
        shift = _DODGE * (i - (len(curves) - 1) / 2)
        places = [(plane.to_x(p.x) + shift, plane.to_y(p.y)) for p in curve.points]
        look = f"series s{i % N_LOOKS}"
        leader = [places[-1], (_RIGHT + 12, label_y[i]), (_LABEL_X - 6, label_y[i])]
        groups.append(
            group(
                *([path(track(places), "curve")] if len(places) > 1 else []),
                path(track(leader), "leader"),
                text(_LABEL_X, label_y[i] + 4, names[curve.name], "name"),
                look=look,
                title=curve.name,
            )
        )
        for point, (x, y) in zip(curve.points, places, strict=True):
            shapes: list[Shape] = []
            if point.interval is not None:
                low, high = map(plane.to_y, point.interval)
                shapes.append(line(x, low, x, high, "interval"))
            shapes.append(_draw_mark(i, x, y))
            groups.append(group(*shapes, look=look, title=f"{curve.name}: {point.text}"))
    return Picture(WIDTH, _BOTTOM + 40, tuple(groups), "plot curves")


def _draw_mark(curve: int, x: float, y: float) -> Shape:
    kind = curve % 3
    if kind == 1:
        return diamond(x, y, 4.6, "mark")
    return rect(x - 3.2, y - 3.2, 6.4, 6.4, "mark") if kind == 2 else circle(x, y, 3.6, "mark")
