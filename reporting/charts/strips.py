"""Draws scores as strips of weighted parts."""

from __future__ import annotations

from eval.blocks.charts import Strip, StripChart
from reporting.charts.picture import Group, Picture, group, rect, text

WIDTH = 420.0
_ROW = 70.0
_STRIP = 18.0


def draw_strips(chart: StripChart) -> Picture:
    """Draws a strip per score: a field for each part, as wide as its weight."""
    groups = [
        drawn for at, strip in enumerate(chart.strips) for drawn in _draw_strip(strip, at * _ROW)
    ]
    return Picture(WIDTH, len(chart.strips) * _ROW - 10, tuple(groups), "plot strips")


def _draw_strip(strip: Strip, top: float) -> list[Group]:
    name = text(0, top + 13, strip.name, "title")
    groups = [group(name, text(WIDTH, top + 13, strip.value, "value", "end"), title=strip.text)]
    x = 0.0
    for field in strip.fields:
        width = WIDTH * field.weight
        share = min(max(field.share, 0.0), 1.0)
        groups.append(
            group(
                rect(x + 1, top + 20, width - 2, _STRIP, "worst", 2),
                rect(x + 1, top + 20, (width - 2) * share, _STRIP, "bar-fill", 2),
                text(x + width / 2, top + 20 + _STRIP + 13, field.name, "hint", "middle"),
                title=field.text,
            )
        )
        x += width
    return groups
