"""Draws box plots side by side."""

from __future__ import annotations

from eval.blocks.axis_charts import Axis, BoxPlot, make_share_axis
from eval.blocks.text_format import format_number
from reporting.charts.picture import Group, Picture, diamond, group, line, rect, text
from reporting.charts.plane import Plane

WIDTH, HEIGHT = 300.0, 236.0
_HALF = 22.0


def draw_boxes(chart: BoxPlot) -> Picture:
    """Draws one box per group, with whiskers to the minimum and the maximum.

    A box goes from the first to the third quartile; its line is the median, its diamond the mean.
    """
    count = len(chart.groups)
    plane = Plane(
        40.0, 292.0, 30.0, 190.0, Axis(0.0, float(count or 1), (), ""), make_share_axis(chart.label)
    )
    groups: list[Group] = [plane.draw_grid()]
    for place, one in enumerate(chart.groups):
        x = plane.to_x(place + 0.5)
        name, below = (one, "no samples") if isinstance(one, str) else (one.name, f"n = {one.n:,}")
        groups.append(
            group(
                text(x, plane.bottom + 16, name, "name", "middle"),
                text(x, plane.bottom + 31, below, "hint", "middle"),
            )
        )
        if isinstance(one, str):
            continue
        said = (
            f"{one.name}: median {format_number(one.median)}, middle half {format_number(one.q1)} "
            f"to {format_number(one.q3)}, all {format_number(one.low)} to "
            f"{format_number(one.high)}, mean {format_number(one.mean)}, {one.n:,} samples"
        )
        top, bottom = plane.to_y(one.q3), plane.to_y(one.q1)
        middle = plane.to_y(one.median)
        groups.append(
            group(
                line(x, plane.to_y(one.low), x, bottom, "whisker"),
                line(x, top, x, plane.to_y(one.high), "whisker"),
                rect(x - _HALF, top, 2 * _HALF, bottom - top, "box"),
                line(x - _HALF, middle, x + _HALF, middle, "median"),
                diamond(x, plane.to_y(one.mean), 4, "mean"),
                title=said,
            )
        )
    return Picture(WIDTH, HEIGHT, tuple(groups), "plot boxes")
