"""Draws horizontal bars in groups."""

from __future__ import annotations

from eval.blocks.charts import Bar, BarChart
from eval.blocks.text_format import shorten_names
from reporting.charts.picture import Group, Picture, Shape, group, line, rect, text

WIDTH = 420.0
_LEFT, _RIGHT = 138.0, 362.0
_ROW, _HEAD, _GAP = 21.0, 20.0, 9.0
_LETTERS = 18


def draw_bars(chart: BarChart) -> Picture:
    """Draws groups of bars, each under its heading, if it has one."""
    short = shorten_names((row.name for _, bars in chart.groups for row in bars), _LETTERS)
    drawn: list[Group] = []
    y = 2.0
    for title, bars in chart.groups:
        if title:
            drawn.append(group(text(0, y + 13, title, "title")))
            y += _HEAD
        for row in bars:
            drawn.append(_bar(row, short[row.name], y))
            y += _ROW
        y += _GAP
    bottom = y - _GAP + 4
    ticks: list[Shape] = []
    for share, label in ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1")):
        at = _LEFT + (_RIGHT - _LEFT) * share
        ticks.append(line(at, 2, at, bottom))
        if label:
            ticks.append(text(at, bottom + 14, label, anchor="middle"))
    return Picture(WIDTH, bottom + 20, (group(*ticks, look="grid"), *drawn), "plot bars")


def _bar(row: Bar, name: str, y: float) -> Group:
    span = _RIGHT - _LEFT
    shapes = [text(_LEFT - 10, y + 13, name, "name", "end")]
    value = row.value
    if value.value is not None:
        shapes.append(rect(_LEFT, y + 3, span * min(max(value.value, 0.0), 1.0), 13, "bar-fill"))
    if value.low is not None and value.high is not None:
        left, right = (_LEFT + span * min(max(end, 0.0), 1.0) for end in (value.low, value.high))
        shapes.append(line(left, y + 9.5, right, y + 9.5, "whisker"))
        shapes += [line(at, y + 6, at, y + 13, "whisker") for at in (left, right)]
    shapes.append(
        text(WIDTH, y + 13, value.text + (f" {row.sign}" if row.sign else ""), "value", "end")
    )
    more = f" ({value.interval_text})" if value.interval_text else ""
    return group(*shapes, title=row.text or f"{row.name}: {value.text}{more}")
