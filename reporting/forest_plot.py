"""Computes the geometry of forest plots: differences with intervals, around a line at zero.

Units and rounding are as in ``reporting/charts.py``; ``templates/_forest.svg.j2`` draws the plot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import format_number
from reporting.visible_text import shorten_names

_WIDTH = 640.0
_LEFT = 178.0
_RIGHT = 520.0
_TOP = 26.0
_MAX_NAME_LENGTH = 24
_TICK_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class PlottedDifference:
    """One pair to plot; numbers are on the metric's scale.

    Attributes:
        first, second: display names.
        value: first − second; ``None`` if one of them has no value.
        low, high: interval of the difference.
        minimum_detectable_effect: true difference that is found with a power of 80 %.
        is_significant: whether test and interval both show a difference.
        text: the tooltip, with the systems and the finding.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    minimum_detectable_effect: float | None
    is_significant: bool
    text: str


@dataclass(frozen=True)
class ForestRow:
    """One pair's row: coordinates of its marks, and its texts.

    The band is the range of differences too small to be detected, around zero.
    """

    first: str
    second: str
    y: float
    x: float | None
    low: float | None
    high: float | None
    band_left: float | None
    band_width: float | None
    is_significant: bool
    value: str
    interval: str
    text: str


@dataclass(frozen=True)
class ForestPlot:
    """A forest plot; ``rows`` from top to bottom."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    zero: float
    label_x: float
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[ForestRow, ...]
    negative_side: str
    """Label of the side left of zero."""
    positive_side: str


def build_forest_plot(
    differences: Sequence[PlottedDifference], *, reference: str = "", higher_is_better: bool | None
) -> ForestPlot:
    """Lays out differences, one per row.

    Args:
        differences: the differences, in the order of the rows.
        reference: the second system if it is the same in all rows; rows then do not repeat it.
        higher_is_better: direction of the metric, for the labels of the two sides.
    """
    magnitudes = [
        abs(end)
        for pair in differences
        for end in (pair.value, pair.low, pair.high)
        if end is not None
    ]
    step, axis_end = _choose_scale(max(magnitudes, default=0.0))

    def scale_x(value: float) -> float:
        share = (min(max(value, -axis_end), axis_end) + axis_end) / (2 * axis_end)
        return round(_LEFT + (_RIGHT - _LEFT) * share, 1)

    row_height = 32.0 if reference else 38.0
    max_name_length = _MAX_NAME_LENGTH if reference else _MAX_NAME_LENGTH - 4
    names = [
        *(pair.first for pair in differences),
        *(pair.second for pair in differences),
        reference,
    ]
    short_names = shorten_names(names, max_name_length)
    y = _TOP + row_height / 2
    rows = []
    for pair in differences:
        band = (
            None
            if pair.minimum_detectable_effect is None
            else min(pair.minimum_detectable_effect, axis_end)
        )
        has_interval = pair.value is not None and pair.low is not None and pair.high is not None
        rows.append(
            ForestRow(
                first=short_names[pair.first],
                second="" if reference else f"against {short_names[pair.second]}",
                y=round(y, 1),
                x=None if pair.value is None else scale_x(pair.value),
                low=scale_x(pair.low) if has_interval and pair.low is not None else None,
                high=scale_x(pair.high) if has_interval and pair.high is not None else None,
                band_left=None if band is None else scale_x(-band),
                band_width=None if band is None else round(scale_x(band) - scale_x(-band), 1),
                is_significant=pair.is_significant,
                value=format_signed(pair.value),
                interval=f"{format_signed(pair.low)} to {format_signed(pair.high)}"
                if has_interval
                else "",
                text=pair.text,
            )
        )
        y += row_height
    bottom = round(y - row_height / 2 + 4, 1)
    n_ticks = round(axis_end / step)
    # Decimals of the tick labels: as many as the step has; 0.25 has one more than 0.2.
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (step == 0.25)
    better_text = {True: "is better", False: "is better", None: "is higher"}[higher_is_better]
    sides = (f"← second {better_text}", f"first {better_text} →")
    if higher_is_better is False:
        sides = (f"← first {better_text}", f"second {better_text} →")
    if reference:
        reference_name = short_names[reference]
        sides = (
            sides[0].replace("second", reference_name),
            sides[1].replace("second", reference_name),
        )
        sides = (sides[0].replace("first", "row"), sides[1].replace("first", "row"))
    return ForestPlot(
        width=_WIDTH,
        height=bottom + 24,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=bottom,
        zero=scale_x(0.0),
        label_x=_LEFT - 14,
        ticks=tuple(
            (scale_x(n * step), format_signed(n * step, digits) if n else "0")
            for n in range(-n_ticks, n_ticks + 1)
        ),
        rows=tuple(rows),
        negative_side=sides[0],
        positive_side=sides[1],
    )


def format_signed(value: float | None, digits: int = 3) -> str:
    """Formats a difference with a plus or a true minus sign (U+2212); zero has no sign."""
    text = format_number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def _choose_scale(max_value: float) -> tuple[float, float]:
    """Returns the distance between ticks and the end of the axis.

    The axis ends two to four ticks from zero on both sides. A value above 1 is cut off.
    """
    for step in _TICK_STEPS:
        count = math.ceil(max_value / step - 1e-9)  # tolerance: 0.3 / 0.1 is just above 3
        if count <= 4:
            return step, step * max(count, 2)
    return 0.5, 1.0
