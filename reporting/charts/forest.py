"""Draws forest plots: differences with intervals, around a line at zero."""

from __future__ import annotations

import math

from eval.blocks.charts import ForestChart, PlottedDifference
from eval.blocks.text_format import format_signed, shorten_names
from reporting.charts.picture import Group, Picture, Shape, circle, group, line, rect, text

_WIDTH = 640.0
_LEFT = 178.0
_RIGHT = 520.0
_TOP = 26.0
_MAX_NAME_LENGTH = 24
_TICK_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


def draw_forest(chart: ForestChart) -> Picture:
    """Draws one row per difference: its dot, its interval, and the band that is undetectable."""
    differences = chart.differences
    magnitudes = [
        abs(end)
        for pair in differences
        for end in (pair.value, pair.low, pair.high)
        if end is not None
    ]
    step, axis_end = choose_scale(max(magnitudes, default=0.0))
    row_height = 32.0 if chart.reference else 38.0
    max_name_length = _MAX_NAME_LENGTH if chart.reference else _MAX_NAME_LENGTH - 4
    names = shorten_names(
        [*(p.first for p in differences), *(p.second for p in differences), chart.reference],
        max_name_length,
    )
    rows = []
    y = _TOP + row_height / 2
    for pair in differences:
        second = "" if chart.reference else f"against {names[pair.second]}"
        rows.append(_draw_row(pair, names[pair.first], second, y, axis_end))
        y += row_height
    bottom = y - row_height / 2 + 4
    zero = _scale_x(0.0, axis_end)
    negative, positive = _label_sides(chart, names.get(chart.reference, ""))
    sides = group(text(zero - 8, 12, negative, "side", "end"), text(zero + 8, 12, positive, "side"))
    axis = group(line(zero, _TOP - 8, zero, bottom, "zero"))
    grid = group(*_draw_ticks(step, axis_end, bottom), look="grid")
    return Picture(_WIDTH, bottom + 24, (sides, grid, axis, *rows), "forest")


def _scale_x(value: float, axis_end: float) -> float:
    share = (min(max(value, -axis_end), axis_end) + axis_end) / (2 * axis_end)
    return _LEFT + (_RIGHT - _LEFT) * share


def _draw_ticks(step: float, axis_end: float, bottom: float) -> list[Shape]:
    n_ticks = round(axis_end / step)
    # Decimals of the tick labels: as many as the step has; 0.25 has one more than 0.2.
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (step == 0.25)
    shapes = []
    for n in range(-n_ticks, n_ticks + 1):
        x = _scale_x(n * step, axis_end)
        label = format_signed(n * step, digits) if n else "0"
        shapes += [line(x, _TOP - 4, x, bottom), text(x, bottom + 16, label, anchor="middle")]
    return shapes


def _draw_row(pair: PlottedDifference, first: str, second: str, y: float, axis_end: float) -> Group:
    shapes = [text(_LEFT - 14, y - 2 if second else y + 4, first, "name", "end")]
    if second:
        shapes.append(text(_LEFT - 14, y + 12, second, "second", "end"))
    if pair.minimum_detectable_effect:
        band = min(pair.minimum_detectable_effect, axis_end)
        left, right = _scale_x(-band, axis_end), _scale_x(band, axis_end)
        shapes.append(rect(left, y - 8, right - left, 16, "band", 2))
    interval = ""
    if pair.value is not None and pair.low is not None and pair.high is not None:
        ends = (_scale_x(pair.low, axis_end), _scale_x(pair.high, axis_end))
        shapes.append(line(ends[0], y, ends[1], y, "interval"))
        interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}"
    if pair.value is not None:
        shapes.append(circle(_scale_x(pair.value, axis_end), y, 4.5, "dot"))
    value_y = y - 2 if interval else y + 4
    shapes.append(text(_WIDTH, value_y, format_signed(pair.value), "value", "end"))
    if interval:
        shapes.append(text(_WIDTH, y + 12, interval, "second", "end"))
    return group(*shapes, look="row" if pair.is_significant else "row open", title=pair.text)


def _label_sides(chart: ForestChart, reference: str) -> tuple[str, str]:
    """Returns the labels of the sides left and right of zero."""
    if chart.sides is not None:
        return chart.sides
    better = "is higher" if chart.higher_is_better is None else "is better"
    first, second = ("row", reference) if reference else ("first", "second")
    if chart.higher_is_better is False:
        return f"← {first} {better}", f"{second} {better} →"
    return f"← {second} {better}", f"{first} {better} →"


def choose_scale(max_value: float) -> tuple[float, float]:
    """Returns the distance between ticks and the end of the axis.

    The axis ends two to four ticks from zero on both sides. A value above 1 is cut off.
    """
    for step in _TICK_STEPS:
        count = math.ceil(max_value / step - 1e-9)  # tolerance: 0.3 / 0.1 is just above 3
        if count <= 4:
            return step, step * max(count, 2)
    return 0.5, 1.0
