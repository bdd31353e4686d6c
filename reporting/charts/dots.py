"""Draws values with intervals, and outcomes as segments of bars; controls last, below a gap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from eval.blocks.charts import DotChart, NamedEstimate, OutcomeBars, OutcomeRow
from eval.blocks.text_format import format_percent, shorten_names, shorten_text
from reporting.charts.picture import (
    Group,
    Picture,
    Shape,
    circle,
    diamond,
    fixed,
    group,
    line,
    path,
    rect,
    text,
    track,
)

_LEFT = 128.0
_MAX_NAME_LENGTH = 17
_MAX_GROUP_LENGTH = 56
_DIVIDER_GAP = 12.0
_TICKS = ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1"))
_SIGNED_TICKS = ((-1.0, "−1"), (-0.5, ""), (0.0, "0"), (0.5, ""), (1.0, "1"))

_PANEL_WIDTH = 400.0
_PANEL_RIGHT = 344.0
_ROW_HEIGHT = 26.0
_LINE_HEIGHT = 12.0

_STACK_WIDTH = 420.0
_STACK_ROW_HEIGHT = 30.0
_MIN_SYMBOL_WIDTH = 14.0
_MIN_SHARE_WIDTH = 56.0

Row = TypeVar("Row", NamedEstimate, OutcomeRow)


def draw_dots(chart: DotChart) -> Picture:
    """Draws one row per system: a dot, its interval and its worst-case bounds."""
    rows = _sort_controls_last(chart.rows)
    names = shorten_names((row.name for row in rows), _MAX_NAME_LENGTH)
    drawn: list[Group] = []
    y = 14.0  # the middle of the first row
    for at, row in enumerate(rows):
        if row.is_control and at and not rows[at - 1].is_control:
            divider = y - _ROW_HEIGHT / 2 + _DIVIDER_GAP / 2
            drawn.append(group(line(0, divider, _PANEL_WIDTH, divider, "divider")))
            y += _DIVIDER_GAP
        if row.group and (not at or rows[at - 1].group != row.group):
            title = shorten_text(row.group, _MAX_GROUP_LENGTH)
            drawn.append(group(text(0, y + 4, title, "value"), look="row", title=row.group))
            y += _ROW_HEIGHT - 4
        drawn.append(_draw_dot_row(row, names[row.name], y, chart.low))
        y += _ROW_HEIGHT
    bottom = y - _ROW_HEIGHT / 2 + 2
    ticks: list[Shape] = []
    for value, label in _SIGNED_TICKS if chart.low else _TICKS:
        x = _scale_value(value, chart.low)
        ticks.append(line(x, 2, x, bottom))
        if label:
            ticks.append(text(x, bottom + 16, label, anchor="middle"))
    height = bottom + 22  # room for the labels of the axis
    return Picture(_PANEL_WIDTH, height, (group(*ticks, look="grid"), *drawn), "dots")


def _scale_value(value: float, low: float) -> float:
    return _scale_share((value - low) / (1 - low), _LEFT, _PANEL_RIGHT)


def _draw_dot_row(row: NamedEstimate, name: str, y: float, low: float) -> Group:
    estimate = row.estimate

    def scale_x(value: float) -> float:
        return _scale_value(value, low)

    lines = _break_name(row.name) or [name]
    first = y + 4 - _LINE_HEIGHT * (len(lines) - 1) / 2
    shapes: list[Shape] = [
        text(_LEFT - 12, first + _LINE_HEIGHT * at, words, "name", "end")
        for at, words in enumerate(lines)
    ]
    if estimate.worst_low is not None and estimate.worst_high is not None and estimate.has_worst:
        left, right = scale_x(estimate.worst_low), scale_x(estimate.worst_high)
        shapes.append(rect(left, y - 6, right - left, 12, "worst", 2))
    if estimate.low is not None and estimate.high is not None:
        shapes.append(line(scale_x(estimate.low), y, scale_x(estimate.high), y, "interval"))
    if estimate.low is not None and estimate.low < low:  # the interval goes on
        left = scale_x(low)
        shapes.append(path(track([(left, y - 4), (left - 6, y), (left, y + 4)]), "interval"))
    if estimate.value is not None:
        shapes.append(draw_mark(scale_x(estimate.value), y, 4.5, is_control=row.is_control))
    shapes.append(text(_PANEL_WIDTH, y + 4, estimate.text, "value", "end"))
    interval = f" ({estimate.interval_text})" if estimate.interval_text else ""
    look = "row control" if row.is_control else "row"
    return group(*shapes, look=look, title=f"{row.name}: {estimate.text}{interval}")


def _break_name(name: str) -> list[str]:
    """Breaks a name that is too long for a line into two, if it can be; else returns nothing."""
    if len(name) <= _MAX_NAME_LENGTH:
        return [name]
    ends = [match.end() for match in re.finditer(r"[-_/:.@ ]", name)]
    for end in reversed(ends):
        if max(end, len(name) - end) <= _MAX_NAME_LENGTH:
            return [name[:end].rstrip(), name[end:]]
    return []


def draw_mark(x: float, y: float, radius: float, *, is_control: bool) -> Shape:
    """Draws a system's dot; a control is a diamond."""
    return diamond(x, y, 5, "dot") if is_control else circle(x, y, radius, "dot")


def draw_outcomes(chart: OutcomeBars) -> Picture:
    """Draws one bar per system, all of the same length, with a segment per outcome."""
    rows = _sort_controls_last(chart.rows)
    names = shorten_names((row.name for row in rows), _MAX_NAME_LENGTH)
    drawn: list[Group] = []
    y = 4.0
    for at, row in enumerate(rows):
        if row.is_control and at and not rows[at - 1].is_control:
            drawn.append(group(line(0, y + 1, _STACK_WIDTH, y + 1, "divider")))
            y += _DIVIDER_GAP
        look = "row control" if row.is_control else "row"
        drawn.append(group(text(_LEFT - 12, y + 15, names[row.name], "name", "end"), look=look))
        drawn += _draw_segments(row, y)
        y += _STACK_ROW_HEIGHT
    return Picture(_STACK_WIDTH, y, tuple(drawn), "stack")


def _draw_segments(row: OutcomeRow, y: float) -> Iterator[Group]:
    total = sum(outcome.n for outcome in row.counts)
    running_count = 0.0
    for outcome in row.counts:
        if not outcome.n:
            continue
        # Both ends are rounded from running sums, so that segments leave no gaps.
        start = _scale_share(running_count / total, _LEFT, _STACK_WIDTH)
        running_count += outcome.n
        width = round(_scale_share(running_count / total, _LEFT, _STACK_WIDTH) - start, 1)
        share = format_percent(outcome.n / total)
        shapes = [rect(start, y, width, 22)]
        if width >= _MIN_SYMBOL_WIDTH and outcome.symbol:
            words = f"{outcome.symbol} {share}" if width > _MIN_SHARE_WIDTH else outcome.symbol
            shapes.append(text(start + width / 2, y + 15.5, words, "symbol", "middle"))
        look = f"{outcome.look} control" if row.is_control else outcome.look
        yield group(*shapes, look=look, title=f"{row.name}: {outcome.text}, {share}")


def _sort_controls_last(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.is_control)


def _scale_share(share: float, start: float, end: float) -> float:
    return float(fixed(start + (end - start) * min(max(share, 0.0), 1.0)))
