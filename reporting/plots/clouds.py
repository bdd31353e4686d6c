"""Scatter plots of many samples: dots while they are few, squares of a lattice when they are many.

Ten thousand dots would hide each other and swell the page; a lattice shows how many lie where, and
its size does not grow with the number of samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from reporting.charts import format_number
from reporting.plots.axes import Axis, Plane
from reporting.plots.picture import Group, Picture, circle, group, path, rect, text, track

WIDTH, HEIGHT = 400.0, 286.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 388.0, 30.0, 246.0
DOTS_AT_MOST = 300
"""Points that are drawn one by one."""
_CELL = 12.0
"""Side of a lattice square."""
ISO_F1 = (0.2, 0.4, 0.6, 0.8, 0.9)
"""F1 values whose curves are drawn between precision and recall."""


def cloud(
    points: Sequence[tuple[float, float]],
    x: Axis,
    y: Axis,
    *,
    noun: str = "samples",
    iso_f1: bool = False,
) -> Picture:
    """Points of samples, all alike.

    Args:
        points: x and y of each.
        x: the axis across.
        y: the axis upwards.
        noun: what a point is, several of them.
        iso_f1: whether x is recall and y precision, and curves of equal F1 are drawn.
    """
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, x, y)
    groups: list[Group] = [plane.grid()]
    if iso_f1:
        groups += iso_curves(plane)
    return Picture(WIDTH, HEIGHT, (*groups, *_marks(points, plane, noun)), "cloud")


def _marks(points: Sequence[tuple[float, float]], plane: Plane, noun: str) -> list[Group]:
    placed = [(plane.across(a), plane.up(b)) for a, b in points]
    if len(points) <= DOTS_AT_MOST:
        # Points at one place are drawn once, larger, or else only the last could be seen.
        same = Counter(placed)
        return [
            group(
                circle(px, py, min(3.0 + 1.2 * (same[px, py] - 1) ** 0.5, 11.0), "dot"),
                title=_told(a, b, same[px, py], plane, noun),
            )
            for (px, py), (a, b) in dict(zip(placed, points, strict=True)).items()
        ]
    cells = Counter((int((px - _LEFT) // _CELL), int((py - _TOP) // _CELL)) for px, py in placed)
    most = max(cells.values())
    groups = []
    for (column, row), count in sorted(cells.items()):
        # The area of a square grows with its count.
        side = max(2.5, (_CELL - 1) * (count / most) ** 0.5)
        left = _LEFT + column * _CELL + (_CELL - side) / 2
        top = _TOP + row * _CELL + (_CELL - side) / 2
        groups.append(group(rect(left, top, side, side, "dot"), title=f"{count:,} {noun}"))
    return groups


def _told(x: float, y: float, count: int, plane: Plane, noun: str) -> str:
    many = f"{count:,} {noun}, " if count > 1 else ""
    return f"{many}{plane.x.words} {format_number(x)}, {plane.y.words} {format_number(y)}"


def iso_curves(plane: Plane) -> list[Group]:
    """Curves of equal F1, where x is recall and y precision; each with its value at its end."""
    groups = []
    for value in ISO_F1:
        # F1 is f where (r - f/2)(p - f/2) = f²/4: a hyperbola, of which equal steps of the exponent
        # draw both arms equally well. It is cut off where precision, or recall, is 1.
        half, most = value / 2, math.log((2 - value) / value)
        arms = [math.exp(most * (step / 12 - 1)) for step in range(25)]
        curve = [(min(half + half * e, 1.0), min(half + half / e, 1.0)) for e in arms]
        places = [(plane.across(r), plane.up(p)) for r, p in curve]
        x, y = places[-1]
        groups.append(
            group(
                path(track(places), "iso"),
                text(x - 3, y - 3, f"F1 {value:g}", "hint", "end"),
                title=f"F1 = {value:g}",
            )
        )
    return groups
