"""Scatter plots of many samples: dots while they are few, squares of a lattice when they are many.

Ten thousand dots would hide each other and swell the page; a lattice shows how many lie where, and
its size does not grow with the number of samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from eval.blocks.axis_charts import MAX_DOTS, ScatterChart
from eval.blocks.text_format import format_number
from reporting.charts.picture import Group, Picture, circle, group, path, rect, text, track
from reporting.charts.plane import Plane

WIDTH, HEIGHT = 400.0, 286.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 388.0, 30.0, 246.0
_CELL = 12.0
"""Side of a lattice square."""
ISO_F1 = (0.2, 0.4, 0.6, 0.8, 0.9)
"""F1 values whose curves are drawn between precision and recall."""


def draw_scatter(chart: ScatterChart) -> Picture:
    """Draws the points of samples, all alike."""
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, chart.x, chart.y)
    groups: list[Group] = [plane.draw_grid()]
    if chart.iso_f1:
        groups += draw_iso_curves(plane)
    return Picture(
        WIDTH, HEIGHT, (*groups, *_draw_marks(chart.points, plane, chart.noun)), "plot cloud"
    )


def _draw_marks(points: Sequence[tuple[float, float]], plane: Plane, noun: str) -> list[Group]:
    placed = [(plane.to_x(a), plane.to_y(b)) for a, b in points]
    if len(points) <= MAX_DOTS:
        # Points at one place are drawn once, larger, or else only the last could be seen.
        same = Counter(placed)
        return [
            group(
                circle(px, py, min(3.0 + 1.2 * (same[px, py] - 1) ** 0.5, 11.0), "dot"),
                title=_describe_point(a, b, same[px, py], plane, noun),
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


def _describe_point(x: float, y: float, count: int, plane: Plane, noun: str) -> str:
    many = f"{count:,} {noun}, " if count > 1 else ""
    return f"{many}{plane.x.label} {format_number(x)}, {plane.y.label} {format_number(y)}"


def draw_iso_curves(plane: Plane) -> list[Group]:
    """Curves of equal F1, where x is recall and y precision; each with its value at its end."""
    groups = []
    for value in ISO_F1:
        # F1 is f where (r - f/2)(p - f/2) = f²/4: a hyperbola, of which equal steps of the exponent
        # draw both arms equally well. It is cut off where precision, or recall, is 1.
        half, most = value / 2, math.log((2 - value) / value)
        arms = [math.exp(most * (step / 12 - 1)) for step in range(25)]
        curve = [(min(half + half * e, 1.0), min(half + half / e, 1.0)) for e in arms]
        places = [(plane.to_x(r), plane.to_y(p)) for r, p in curve]
        x, y = places[-1]
        groups.append(
            group(
                path(track(places), "iso"),
                text(x - 3, y - 3, f"F1 {value:g}", "hint", "end"),
                title=f"F1 = {value:g}",
            )
        )
    return groups
