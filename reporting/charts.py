"""Where every mark of a chart stands: pure geometry, drawn by ``templates/_charts.svg.j2``.

Numbers go in, coordinates come out; no colour and no markup here. Lengths are in the chart's own
units (its ``viewBox``), which are CSS pixels when a chart is shown at its natural width, and are
rounded to a tenth so that the same inputs give the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reporting.visible import short_names


@dataclass(frozen=True)
class Estimate:
    """A proportion in [0, 1] with its interval; every part may be unknown.

    ``worst_low``/``worst_high`` bound the value whatever the unusable replies would have been.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return self.low is not None and self.high is not None

    @property
    def has_worst(self) -> bool:
        """Whether the worst-case bounds say more than the value itself."""
        return (
            self.worst_low is not None
            and self.worst_high is not None
            and self.worst_high - self.worst_low > 5e-5
        )

    @property
    def text(self) -> str:
        """The value to three decimals, or an en dash when it is undefined."""
        return number(self.value)

    @property
    def interval_text(self) -> str:
        """``0.812–0.874``, or nothing without an interval."""
        if self.low is None or self.high is None:
            return ""
        return f"{number(self.low)}–{number(self.high)}"

    @property
    def worst_text(self) -> str:
        """The worst-case bounds in the same form, or nothing when they say nothing."""
        return f"{number(self.worst_low)}–{number(self.worst_high)}" if self.has_worst else ""


class Measured(Protocol):
    """A number of a record, with its interval and its worst-case bounds."""

    @property
    def value(self) -> float | None:
        """Null where there is none."""

    @property
    def low(self) -> float | None:
        """Of the interval."""

    @property
    def high(self) -> float | None:
        """Of the interval."""

    @property
    def worst(self) -> float | None:
        """Whatever the unusable replies would have been."""

    @property
    def best(self) -> float | None:
        """Likewise."""


def estimate(value: Measured | None) -> Estimate:
    """A metric's value with interval and worst-case bounds, for drawing."""
    if value is None:
        return Estimate(None)
    ends = [end for end in (value.worst, value.best) if end is not None]
    return Estimate(
        value.value,
        value.low,
        value.high,
        min(ends) if len(ends) == 2 else None,
        max(ends) if len(ends) == 2 else None,
    )


UNDEFINED = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A number for reading: fixed digits, a true minus sign, an en dash for ``None``."""
    if value is None:
        return UNDEFINED
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def percent(share: float | None) -> str:
    """A share for reading, to whole percents; never "0 %" or "100 %" for what is only near."""
    if share is None:
        return UNDEFINED
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def _place(value: float, start: float, end: float) -> float:
    return round(start + (end - start) * min(max(value, 0.0), 1.0), 1)


@dataclass(frozen=True)
class DotRow:
    """One system's line in a dot-and-interval chart."""

    name: str
    short: str
    control: bool
    estimate: Estimate
    y: float
    x: float | None
    low: float | None
    high: float | None
    worst_low: float | None
    worst_high: float | None


@dataclass(frozen=True)
class DotPanel:
    """A dot-and-interval chart of one metric over all systems."""

    width: float
    height: float
    plot_left: float
    plot_right: float
    plot_bottom: float
    ticks: tuple[tuple[float, str], ...]
    divider_y: float | None
    rows: tuple[DotRow, ...]


_PANEL_WIDTH = 400.0
_PANEL_LEFT = 128.0
_PANEL_RIGHT = 344.0
_ROW_HEIGHT = 26.0
_DIVIDER_GAP = 12.0
_NAME_LETTERS = 17
_TICKS = ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1"))


def dot_panel(entries: Sequence[tuple[str, bool, Estimate]]) -> DotPanel:
    """Lays out ``(name, is control, estimate)`` rows in order, controls below a dividing gap."""
    ordered = [e for e in entries if not e[1]] + [e for e in entries if e[1]]
    short = short_names((name for name, _, _ in entries), _NAME_LETTERS)
    y = 14.0
    divider: float | None = None
    rows: list[DotRow] = []
    for name, control, estimate in ordered:
        if control and rows and not rows[-1].control:
            divider = round(y - _ROW_HEIGHT / 2 + _DIVIDER_GAP / 2, 1)
            y += _DIVIDER_GAP

        def across(value: float | None) -> float | None:
            return None if value is None else _place(value, _PANEL_LEFT, _PANEL_RIGHT)

        rows.append(
            DotRow(
                name=name,
                short=short[name],
                control=control,
                estimate=estimate,
                y=y,
                x=across(estimate.value),
                low=across(estimate.low) if estimate.has_interval else None,
                high=across(estimate.high) if estimate.has_interval else None,
                worst_low=across(estimate.worst_low) if estimate.has_worst else None,
                worst_high=across(estimate.worst_high) if estimate.has_worst else None,
            )
        )
        y += _ROW_HEIGHT
    bottom = y - _ROW_HEIGHT / 2 + 2
    return DotPanel(
        width=_PANEL_WIDTH,
        height=bottom + 22,
        plot_left=_PANEL_LEFT,
        plot_right=_PANEL_RIGHT,
        plot_bottom=bottom,
        ticks=tuple((_place(at, _PANEL_LEFT, _PANEL_RIGHT), label) for at, label in _TICKS),
        divider_y=divider,
        rows=tuple(rows),
    )


@dataclass(frozen=True)
class ScatterPoint:
    """One system in the coverage–accuracy plane, with the place of its written name."""

    name: str
    short: str
    control: bool
    coverage: float
    accuracy: float
    x: float
    y: float
    label_y: float


@dataclass(frozen=True)
class Scatter:
    """Coverage (across) against accuracy of the answers given (up)."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    label_x: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    points: tuple[ScatterPoint, ...]
    absent: tuple[str, ...]
    """Systems without a place: they never answered, so their accuracy is undefined."""
    ideal_x: float | None
    """Where the share of cards that have an answer stands: full coverage of those, no other."""


_SCATTER = {"width": 600.0, "left": 46.0, "right": 420.0, "top": 14.0, "bottom": 290.0}
_LABEL_STEP = 19.0


def scatter(
    entries: Sequence[tuple[str, bool, float | None, float | None]],
    *,
    answerable: float | None = None,
) -> Scatter:
    """Lays out ``(name, is control, coverage, accuracy)``; names stand in a column at the right.

    Names are ordered by height and pushed apart, so that they never overlap however close the
    points are; a leader line joins each to its point.
    """
    left, right = _SCATTER["left"], _SCATTER["right"]
    top, bottom = _SCATTER["top"], _SCATTER["bottom"]
    placed = [
        (name, control, coverage, accuracy)
        for name, control, coverage, accuracy in entries
        if coverage is not None and accuracy is not None
    ]
    short = short_names((name for name, _, _, _ in entries), _NAME_LETTERS)
    absent = tuple(n for n, _, c, a in entries if c is None or a is None)
    coordinates = [(_place(c, left, right), _place(a, bottom, top)) for _, _, c, a in placed]
    order = sorted(range(len(placed)), key=lambda i: (coordinates[i][1], -coordinates[i][0], i))
    label_y = spread([coordinates[i][1] for i in order], top + 4, bottom - 4, _LABEL_STEP)
    where = dict(zip(order, label_y, strict=True))
    lowest = max([bottom, *label_y]) if label_y else bottom
    return Scatter(
        width=_SCATTER["width"],
        height=round(max(bottom + 42, lowest + 14), 1),
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        label_x=right + 34,
        x_ticks=tuple((_place(at, left, right), label) for at, label in _TICKS if label),
        y_ticks=tuple((_place(at, bottom, top), label) for at, label in _TICKS if label),
        points=tuple(
            ScatterPoint(
                name=name,
                short=short[name],
                control=control,
                coverage=coverage,
                accuracy=accuracy,
                x=coordinates[i][0],
                y=coordinates[i][1],
                label_y=where[i],
            )
            for i, (name, control, coverage, accuracy) in enumerate(placed)
        ),
        absent=absent,
        ideal_x=None if answerable is None else _place(answerable, left, right),
    )


def spread(wanted: Sequence[float], low: float, high: float, step: float) -> list[float]:
    """Moves sorted positions apart to at least ``step``, within [low, high] where they fit."""
    placed: list[float] = []
    for at in wanted:
        floor = placed[-1] + step if placed else low
        placed.append(max(at, floor))
    if placed and placed[-1] > high:
        ceiling = high
        for index in range(len(placed) - 1, -1, -1):
            placed[index] = min(placed[index], ceiling)
            ceiling = placed[index] - step
    if placed and placed[0] < low:
        shift = low - placed[0]
        placed = [at + shift for at in placed]
    return [round(at, 1) for at in placed]


@dataclass(frozen=True)
class Bar:
    """A small horizontal bar from 0 to 1 with an interval whisker."""

    width: float
    fill: float
    low: float | None
    high: float | None


_BAR_WIDTH = 96.0


def bar(estimate: Estimate) -> Bar:
    """Lays out one bar; an undefined value has no fill."""

    def across(value: float | None) -> float | None:
        return None if value is None else _place(value, 0, _BAR_WIDTH)

    return Bar(
        width=_BAR_WIDTH,
        fill=across(estimate.value) or 0.0,
        low=across(estimate.low) if estimate.has_interval else None,
        high=across(estimate.high) if estimate.has_interval else None,
    )


@dataclass(frozen=True)
class Segment:
    """One outcome's part of a system's bar."""

    outcome: str
    words: str
    share: float
    x: float
    width: float
    symbol: str
    """Empty where the segment is too narrow for it."""


@dataclass(frozen=True)
class StackRow:
    """What one system's answers amount to, as a bar of segments that fill it."""

    name: str
    short: str
    control: bool
    y: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Stack:
    """Stacked bars of all systems, controls below a gap."""

    width: float
    height: float
    left: float
    right: float
    divider_y: float | None
    rows: tuple[StackRow, ...]


_STACK_WIDTH = 420.0
_STACK_ROW = 30.0
_SYMBOL_WIDTH = 14.0


def stack(entries: Sequence[tuple[str, bool, Sequence[tuple[str, str, str, float]]]]) -> Stack:
    """Lays out ``(name, is control, [(outcome, symbol, words, count)])``, bars of equal length."""
    ordered = [e for e in entries if not e[1]] + [e for e in entries if e[1]]
    short = short_names((name for name, _, _ in entries), _NAME_LETTERS)
    left, right = _PANEL_LEFT, _STACK_WIDTH
    y, divider = 4.0, None
    rows: list[StackRow] = []
    for name, control, parts in ordered:
        if control and rows and not rows[-1].control:
            divider = y + 1
            y += _DIVIDER_GAP
        total = sum(count for _, _, _, count in parts)
        segments: list[Segment] = []
        before = 0.0
        for outcome, symbol, words, count in parts:
            start = _place(before / total, left, right) if total else left
            before += count
            end = _place(before / total, left, right) if total else left
            if count:
                wide = end - start >= _SYMBOL_WIDTH
                width = round(end - start, 1)
                segments.append(
                    Segment(outcome, words, count / total, start, width, symbol if wide else "")
                )
        rows.append(StackRow(name, short[name], control, y, tuple(segments)))
        y += _STACK_ROW
    return Stack(_STACK_WIDTH, y, left, right, divider, tuple(rows))
