"""Horizontal bars in groups: every group one matter, every bar one system or way of counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import ChartEstimate
from reporting.plots.picture import Group, Picture, Shape, group, line, rect, text
from reporting.visible_text import shorten_names

WIDTH = 420.0
_LEFT, _RIGHT = 138.0, 362.0
_ROW, _HEAD, _GAP = 21.0, 20.0, 9.0
_LETTERS = 18


@dataclass(frozen=True)
class BarRow:
    """One bar.

    Attributes:
        name: fit to be shown.
        value: within [0, 1], with its interval.
        sign: written after the number: ★ where tests show it to be best.
        told: the whole finding in words.
    """

    name: str
    value: ChartEstimate
    sign: str = ""
    told: str = ""


def bar_groups(groups: Sequence[tuple[str, Sequence[BarRow]]]) -> Picture:
    """Groups of bars, each under its heading; a group without a heading has no room for one."""
    short = shorten_names((row.name for _, rows in groups for row in rows), _LETTERS)
    drawn: list[Group] = []
    y = 2.0
    for title, rows in groups:
        if title:
            drawn.append(group(text(0, y + 13, title, "title")))
            y += _HEAD
        for row in rows:
            drawn.append(_bar(row, short[row.name], y))
            y += _ROW
        y += _GAP
    bottom = y - _GAP + 4
    ticks: list[Shape] = []
    for share, said in ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1")):
        at = _LEFT + (_RIGHT - _LEFT) * share
        ticks.append(line(at, 2, at, bottom))
        if said:
            ticks.append(text(at, bottom + 14, said, anchor="middle"))
    return Picture(WIDTH, bottom + 20, (group(*ticks, look="grid"), *drawn), "bars")


def _bar(row: BarRow, name: str, y: float) -> Group:
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
    return group(*shapes, title=row.told or f"{row.name}: {value.text}{more}")
