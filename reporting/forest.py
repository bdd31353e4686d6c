"""Where the marks of a forest plot stand: differences with intervals about a line at zero.

Pure geometry, as in ``reporting/charts.py``; drawn by ``templates/_forest.svg.j2``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import number
from reporting.visible import short_names

_WIDTH = 640.0
_LEFT = 178.0
_RIGHT = 520.0
_TOP = 26.0
_NAME_LETTERS = 24
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Difference:
    """One pair to draw; lengths on the metric's scale.

    Attributes:
        first, second: names fit to be shown.
        value: first less second; ``None`` where one has no value.
        low, high: its interval.
        smallest: the true difference that would be found 4 times in 5.
        tells: whether the data tell the two apart.
        text: the whole finding, for the tooltip.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    smallest: float | None
    tells: bool
    text: str


@dataclass(frozen=True)
class ForestRow:
    """One pair's line."""

    first: str
    second: str
    y: float
    x: float | None
    low: float | None
    high: float | None
    band_left: float | None
    band_width: float | None
    tells: bool
    value: str
    interval: str
    text: str


@dataclass(frozen=True)
class Forest:
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
    negative: str
    """What lies on the negative side."""
    positive: str


def forest(
    differences: Sequence[Difference], *, against: str = "", higher_is_better: bool | None
) -> Forest:
    """Lays out differences, one a row.

    Args:
        differences: in the order of the rows.
        against: the second system where it is the same in all rows: it is then not repeated.
        higher_is_better: of the metric; decides which side favours whom.
    """
    ends = [
        abs(end) for one in differences for end in (one.value, one.low, one.high) if end is not None
    ]
    step, reach = _scale(max(ends, default=0.0))

    def place(value: float) -> float:
        share = (min(max(value, -reach), reach) + reach) / (2 * reach)
        return round(_LEFT + (_RIGHT - _LEFT) * share, 1)

    height = 32.0 if against else 38.0
    letters = _NAME_LETTERS if against else _NAME_LETTERS - 4
    names = [*(one.first for one in differences), *(one.second for one in differences), against]
    short = short_names(names, letters)
    y = _TOP + height / 2
    rows = []
    for one in differences:
        band = None if one.smallest is None else min(one.smallest, reach)
        drawn = one.value is not None and one.low is not None and one.high is not None
        rows.append(
            ForestRow(
                first=short[one.first],
                second="" if against else f"against {short[one.second]}",
                y=round(y, 1),
                x=None if one.value is None else place(one.value),
                low=place(one.low) if drawn and one.low is not None else None,
                high=place(one.high) if drawn and one.high is not None else None,
                band_left=None if band is None else place(-band),
                band_width=None if band is None else round(place(band) - place(-band), 1),
                tells=one.tells,
                value=signed(one.value),
                interval=f"{signed(one.low)} to {signed(one.high)}" if drawn else "",
                text=one.text,
            )
        )
        y += height
    bottom = round(y - height / 2 + 4, 1)
    count = round(reach / step)
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (step == 0.25)
    better = {True: "is better", False: "is better", None: "is higher"}[higher_is_better]
    sides = (f"← second {better}", f"first {better} →")
    if higher_is_better is False:
        sides = (f"← first {better}", f"second {better} →")
    if against:
        named = short[against]
        sides = (sides[0].replace("second", named), sides[1].replace("second", named))
        sides = (sides[0].replace("first", "row"), sides[1].replace("first", "row"))
    return Forest(
        width=_WIDTH,
        height=bottom + 24,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=bottom,
        zero=place(0.0),
        label_x=_LEFT - 14,
        ticks=tuple(
            (place(n * step), signed(n * step, digits) if n else "0")
            for n in range(-count, count + 1)
        ),
        rows=tuple(rows),
        negative=sides[0],
        positive=sides[1],
    )


def signed(value: float | None, digits: int = 3) -> str:
    """A difference for reading: a plus or a true minus, none before zero."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def _scale(furthest: float) -> tuple[float, float]:
    """Distance of ticks, and how far the axis reaches to both sides: two to four steps."""
    for step in _STEPS:
        count = math.ceil(furthest / step - 1e-9)
        if count <= 4:
            return step, step * max(count, 2)
    return 0.5, 1.0
