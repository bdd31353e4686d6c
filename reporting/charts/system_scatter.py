"""A few systems as named points in a plane, with the frontier of those that none beats in both."""

from __future__ import annotations

from eval.blocks.axis_charts import SystemScatterChart
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
    spread_positions,
    text,
    track,
)
from reporting.charts.plane import Plane
from reporting.charts.scatter import draw_iso_curves

WIDTH = 560.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 380.0, 30.0, 270.0
_LABEL_X = 410.0
_STEP = 17.0
_LETTERS = 19


def draw_system_scatter(chart: SystemScatterChart) -> Picture:
    """Draws systems in a plane; names are in a column at the right, joined to their points.

    Points on the frontier are filled and joined by steps; others are hollow diamonds.
    """
    points = chart.points
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, chart.x, chart.y)
    groups: list[Group] = [plane.draw_grid()]
    if chart.iso_f1:
        groups += draw_iso_curves(plane)
    steps = sorted((plane.to_x(p.x), plane.to_y(p.y)) for p in points if p.on_frontier)
    if len(steps) > 1:
        corners = [steps[0]]
        for at, height in steps[1:]:
            corners += [(at, corners[-1][1]), (at, height)]
        groups.append(group(path(track(corners), "frontier"), title="the frontier"))
    places = [(plane.to_x(p.x), plane.to_y(p.y)) for p in points]
    order = sorted(range(len(points)), key=lambda i: (places[i][1], -places[i][0], i))
    heights = spread_positions([places[i][1] for i in order], _TOP + 4, _BOTTOM - 4, _STEP)
    short = shorten_names((p.name for p in points), _LETTERS)
    for i, height in zip(order, heights, strict=True):
        one, (px, py) = points[i], places[i]
        leader = [(px, py), (_RIGHT + 10, height), (_LABEL_X - 6, height)]
        shapes: list[Shape] = [path(track(leader), "leader")]
        if one.x_interval:
            shapes.append(
                line(
                    plane.to_x(one.x_interval[0]), py, plane.to_x(one.x_interval[1]), py, "interval"
                )
            )
        if one.y_interval:
            shapes.append(
                line(
                    px, plane.to_y(one.y_interval[0]), px, plane.to_y(one.y_interval[1]), "interval"
                )
            )
        hollow = one.on_frontier is False
        shapes.append(diamond(px, py, 5.5, "dot") if hollow else circle(px, py, 5, "dot"))
        mark = "◇ " if hollow else "● "
        shapes.append(text(_LABEL_X, height + 4, mark + short[one.name], "name"))
        groups.append(
            group(*shapes, look="open" if hollow else "", title=f"{one.name}: {one.text}")
        )
    height = max([_BOTTOM + 40, *(at + 14 for at in heights)])
    return Picture(WIDTH, height, tuple(groups), "plot named")
