"""A few systems as named points in a plane, with the frontier of those that none beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import spread_positions
from reporting.plots.axes import Axis, Plane
from reporting.plots.clouds import iso_curves
from reporting.plots.picture import (
    Group,
    Picture,
    Shape,
    circle,
    diamond,
    group,
    line,
    path,
    text,
    track,
)
from reporting.visible_text import shorten_names

WIDTH = 560.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 380.0, 30.0, 270.0
_LABEL_X = 410.0
_STEP = 17.0
_LETTERS = 19


@dataclass(frozen=True)
class NamedPoint:
    """One system.

    Attributes:
        name: fit to be shown.
        x, y: its values.
        x_span, y_span: intervals, where known.
        told: its numbers in words.
        on_frontier: whether no other is at least as good in both and better in one; ``None``
            where there is no frontier.
    """

    name: str
    x: float
    y: float
    x_span: tuple[float, float] | None
    y_span: tuple[float, float] | None
    told: str
    on_frontier: bool | None = None


def named_points(
    points: Sequence[NamedPoint], x: Axis, y: Axis, *, iso_f1: bool = False
) -> Picture:
    """Systems in a plane; names stand in a column at the right, joined to their points.

    Points on the frontier are full and joined by steps, others are hollow diamonds.
    """
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, x, y)
    groups: list[Group] = [plane.grid()]
    if iso_f1:
        groups += iso_curves(plane)
    steps = sorted((plane.across(p.x), plane.up(p.y)) for p in points if p.on_frontier)
    if len(steps) > 1:
        corners = [steps[0]]
        for at, height in steps[1:]:
            corners += [(at, corners[-1][1]), (at, height)]
        groups.append(group(path(track(corners), "frontier"), title="the frontier"))
    places = [(plane.across(p.x), plane.up(p.y)) for p in points]
    order = sorted(range(len(points)), key=lambda i: (places[i][1], -places[i][0], i))
    heights = spread_positions([places[i][1] for i in order], _TOP + 4, _BOTTOM - 4, _STEP)
    short = shorten_names((p.name for p in points), _LETTERS)
    for i, height in zip(order, heights, strict=True):
        one, (px, py) = points[i], places[i]
        leader = [(px, py), (_RIGHT + 10, height), (_LABEL_X - 6, height)]
        shapes: list[Shape] = [path(track(leader), "leader")]
        if one.x_span:
            shapes.append(
                line(plane.across(one.x_span[0]), py, plane.across(one.x_span[1]), py, "interval")
            )
        if one.y_span:
            shapes.append(
                line(px, plane.up(one.y_span[0]), px, plane.up(one.y_span[1]), "interval")
            )
        hollow = one.on_frontier is False
        shapes.append(diamond(px, py, 5.5, "dot") if hollow else circle(px, py, 5, "dot"))
        mark = "◇ " if hollow else "● "
        shapes.append(text(_LABEL_X, height + 4, mark + short[one.name], "name"))
        groups.append(
            group(*shapes, look="open" if hollow else "", title=f"{one.name}: {one.told}")
        )
    height = max([_BOTTOM + 40, *(at + 14 for at in heights)])
    return Picture(WIDTH, height, tuple(groups), "named")
