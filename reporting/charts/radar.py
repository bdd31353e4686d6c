"""Draws a radar chart: a few shares on axes around a centre."""

from __future__ import annotations

import math

from eval.blocks.charts import RadarChart
from eval.blocks.text_format import format_number
from reporting.charts.picture import Anchor, Picture, Shape, circle, group, line, path, text, track

# Wide enough for a name of 17 letters at either side, in the widest of common fonts.
WIDTH, HEIGHT = 356.0, 206.0
_X, _Y, _RADIUS = 178.0, 102.0, 66.0
_RINGS = (0.25, 0.5, 0.75, 1.0)


def draw_radar(chart: RadarChart) -> Picture:
    """Draws shares on axes that go round from the top; an unknown one leaves a gap."""
    axes = chart.axes
    count = len(axes)

    def at(index: int, share: float) -> tuple[float, float]:
        angle = 2 * math.pi * index / count - math.pi / 2
        reach = _RADIUS * min(max(share, 0.0), 1.0)
        return _X + reach * math.cos(angle), _Y + reach * math.sin(angle)

    grid: list[Shape] = [
        path(track([at(n, ring) for n in range(count)], closed=True), "ring") for ring in _RINGS
    ]
    grid += [line(_X, _Y, *at(n, 1.0)) for n in range(count)]
    known = [(n, share) for n, (_, share) in enumerate(axes) if share is not None]
    shape = [at(n, share) for n, share in known]
    outline = [path(track(shape, closed=True), "area")] if len(shape) > 2 else []
    if len(shape) == 2:
        outline = [path(track(shape), "area")]
    dots = [
        group(circle(*at(n, share), 3.5, "dot"), title=f"{axes[n][0]}: {format_number(share)}")
        for n, share in known
    ]
    labels: list[Shape] = []
    for n, (name, share) in enumerate(axes):
        x, y = at(n, 1.0)
        side = x - _X
        anchor: Anchor = "start" if side > 10 else "end" if side < -10 else "middle"
        above = y < _Y - 10
        dx = 8 if anchor == "start" else -8 if anchor == "end" else 0
        first = y - 20 if above else y + 16 if anchor == "middle" else y - 2
        labels.append(text(x + dx, first, name, "hint", anchor))
        labels.append(text(x + dx, first + 13, format_number(share), "value", anchor))
    return Picture(
        WIDTH,
        HEIGHT,
        (group(*grid, look="grid"), group(*outline), *dots, group(*labels)),
        "plot radar",
    )
