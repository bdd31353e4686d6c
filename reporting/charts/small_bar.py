"""Draws the small bars in tables of groups."""

from __future__ import annotations

from eval.blocks.text_format import ChartEstimate
from reporting.charts.picture import Picture, Shape, group, line, rect

_WIDTH = 96.0


def draw_small_bar(estimate: ChartEstimate) -> Picture:
    """Draws a share as a bar, with whiskers for its interval; without a value it is empty."""

    def scale_x(value: float) -> float:
        return _WIDTH * min(max(value, 0.0), 1.0)

    shapes: list[Shape] = [rect(0, 4, _WIDTH, 6, "track", 1)]
    if estimate.value:
        shapes.append(rect(0, 4, scale_x(estimate.value), 6, "fill", 1))
    if estimate.low is not None and estimate.high is not None:
        low, high = scale_x(estimate.low), scale_x(estimate.high)
        shapes.append(line(low, 7, high, 7, "whisker"))
        shapes += [line(x, 3, x, 11, "whisker") for x in (low, high)]
    return Picture(_WIDTH, 14, (group(*shapes),), "bar")
