"""Computes the geometry of the report's charts, which ``templates/_charts.svg.j2`` draws.

Converts numbers to coordinates; the template defines colours and markup. Lengths are in the units
of the chart's ``viewBox``, which are CSS pixels when a chart is shown at its natural width. They
are rounded to a tenth, so that the same inputs give the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reporting.visible_text import shorten_names


@dataclass(frozen=True)
class ChartEstimate:
    """A proportion in [0, 1] with its interval; unknown values are ``None``.

    ``worst_low`` and ``worst_high`` are the values with every unusable reply (INVALID or ERROR)
    counted against and for the system, the lower one first.
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
        """Whether the worst-case bounds differ from each other by more than rounding."""
        low, high = self.worst_low, self.worst_high
        return low is not None and high is not None and high - low > 5e-5

    @property
    def text(self) -> str:
        """The value to three decimals, or an en dash when it is undefined."""
        return format_number(self.value)

    @property
    def interval_text(self) -> str:
        """``0.812–0.874``, or empty without an interval."""
        if self.low is None or self.high is None:
            return ""
        return f"{format_number(self.low)}–{format_number(self.high)}"

    @property
    def worst_text(self) -> str:
        """The worst-case bounds in the same form, or empty if they do not differ."""
        if not self.has_worst:
            return ""
        return f"{format_number(self.worst_low)}–{format_number(self.worst_high)}"


class EstimateLike(Protocol):
    """A metric's value with its interval and its worst-case bounds, as records have it."""

    @property
    def value(self) -> float | None:
        """The value; ``None`` if undefined."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""

    @property
    def worst(self) -> float | None:
        """The value if every unusable reply had been wrong."""

    @property
    def best(self) -> float | None:
        """The value if every unusable reply had been right."""


def to_chart_estimate(estimate: EstimateLike | None) -> ChartEstimate:
    """Converts a metric's value, interval and worst-case bounds for a chart.

    For a metric whose lower values are better, ``worst`` is above ``best``. So the bounds are
    sorted.
    """
    if estimate is None:
        return ChartEstimate(None)
    ends = [end for end in (estimate.worst, estimate.best) if end is not None]
    low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
    return ChartEstimate(estimate.value, estimate.low, estimate.high, low, high)


UNDEFINED_TEXT = "–"


def format_number(value: float | None, digits: int = 3) -> str:
    """Formats a number with fixed digits and a true minus sign (U+2212); ``None`` as an en dash."""
    if value is None:
        return UNDEFINED_TEXT
    text = f"{value:.{digits}f}"
    if float(text) == 0:  # "-0.000" would suggest a sign that rounding has removed
        text = text.lstrip("-")
    return text.replace("-", "−")


def format_percent(share: float | None) -> str:
    """Formats a share in whole per cent; only exactly 0 and 1 become "0 %" and "100 %"."""
    if share is None:
        return UNDEFINED_TEXT
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def _scale_share(value: float, start: float, end: float) -> float:
    return round(start + (end - start) * min(max(value, 0.0), 1.0), 1)


@dataclass(frozen=True)
class DotRow:
    """One system's row in a dot-and-interval chart: its texts and the coordinates of its marks."""

    name: str
    short: str
    control: bool
    estimate: ChartEstimate
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
_MAX_NAME_LENGTH = 17
_TICKS = ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1"))


def build_dot_panel(entries: Sequence[tuple[str, bool, ChartEstimate]]) -> DotPanel:
    """Lays out ``(name, is control, estimate)`` rows in order, controls last, below a gap."""
    sorted_entries = [e for e in entries if not e[1]] + [e for e in entries if e[1]]
    short_names = shorten_names((name for name, _, _ in entries), _MAX_NAME_LENGTH)

    def scale_x(value: float | None) -> float | None:
        return None if value is None else _scale_share(value, _PANEL_LEFT, _PANEL_RIGHT)

    y = 14.0  # the middle of the first row
    divider: float | None = None
    rows: list[DotRow] = []
    for name, control, estimate in sorted_entries:
        if control and rows and not rows[-1].control:
            divider = round(y - _ROW_HEIGHT / 2 + _DIVIDER_GAP / 2, 1)
            y += _DIVIDER_GAP
        rows.append(
            DotRow(
                name=name,
                short=short_names[name],
                control=control,
                estimate=estimate,
                y=y,
                x=scale_x(estimate.value),
                low=scale_x(estimate.low) if estimate.has_interval else None,
                high=scale_x(estimate.high) if estimate.has_interval else None,
                worst_low=scale_x(estimate.worst_low) if estimate.has_worst else None,
                worst_high=scale_x(estimate.worst_high) if estimate.has_worst else None,
            )
        )
        y += _ROW_HEIGHT
    bottom = y - _ROW_HEIGHT / 2 + 2
    return DotPanel(
        width=_PANEL_WIDTH,
        height=bottom + 22,  # room for the labels of the axis
        plot_left=_PANEL_LEFT,
        plot_right=_PANEL_RIGHT,
        plot_bottom=bottom,
        ticks=tuple((_scale_share(x, _PANEL_LEFT, _PANEL_RIGHT), label) for x, label in _TICKS),
        divider_y=divider,
        rows=tuple(rows),
    )


@dataclass(frozen=True)
class ScatterPoint:
    """One system in the coverage–accuracy plane: its values, its point, and the y of its name."""

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
    """Plot of coverage (x axis) against the accuracy of the YES and NO answers (y axis)."""

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
    """Systems without a point: they never answered, so their accuracy is undefined."""
    ideal_x: float | None
    """x coordinate of a system that answers exactly the cards with a provable YES or NO."""


_SCATTER = {"width": 600.0, "left": 46.0, "right": 420.0, "top": 14.0, "bottom": 290.0}
_LABEL_HEIGHT = 19.0


def build_scatter(
    entries: Sequence[tuple[str, bool, float | None, float | None]],
    *,
    answerable_share: float | None = None,
) -> Scatter:
    """Lays out ``(name, is control, coverage, accuracy)``, with the names in a column at the right.

    Names are ordered by the height of their points and moved apart, so that they never overlap
    however close the points are; a leader line connects each name with its point.
    """
    left, right = _SCATTER["left"], _SCATTER["right"]
    top, bottom = _SCATTER["top"], _SCATTER["bottom"]
    points = [
        (name, control, coverage, accuracy)
        for name, control, coverage, accuracy in entries
        if coverage is not None and accuracy is not None
    ]
    short_names = shorten_names((name for name, _, _, _ in entries), _MAX_NAME_LENGTH)
    absent = tuple(n for n, _, c, a in entries if c is None or a is None)
    coordinates = [
        (_scale_share(c, left, right), _scale_share(a, bottom, top)) for _, _, c, a in points
    ]
    order = sorted(range(len(points)), key=lambda i: (coordinates[i][1], -coordinates[i][0], i))
    label_y = spread_positions(
        [coordinates[i][1] for i in order], top + 4, bottom - 4, _LABEL_HEIGHT
    )
    label_y_by_point = dict(zip(order, label_y, strict=True))
    lowest_y = max([bottom, *label_y]) if label_y else bottom
    return Scatter(
        width=_SCATTER["width"],
        height=round(max(bottom + 42, lowest_y + 14), 1),
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        label_x=right + 34,
        x_ticks=tuple((_scale_share(x, left, right), label) for x, label in _TICKS if label),
        y_ticks=tuple((_scale_share(y, bottom, top), label) for y, label in _TICKS if label),
        points=tuple(
            ScatterPoint(
                name=name,
                short=short_names[name],
                control=control,
                coverage=coverage,
                accuracy=accuracy,
                x=coordinates[i][0],
                y=coordinates[i][1],
                label_y=label_y_by_point[i],
            )
            for i, (name, control, coverage, accuracy) in enumerate(points)
        ),
        absent=absent,
        ideal_x=None if answerable_share is None else _scale_share(answerable_share, left, right),
    )


def spread_positions(
    positions: Sequence[float], low: float, high: float, step: float
) -> list[float]:
    """Moves sorted positions at least ``step`` apart, within [low, high] if they fit there."""
    # Positions first move towards `high`; those that then exceed it are moved back from its end.
    new_positions: list[float] = []
    for position in positions:
        floor = new_positions[-1] + step if new_positions else low
        new_positions.append(max(position, floor))
    if new_positions and new_positions[-1] > high:
        ceiling = high
        for index in range(len(new_positions) - 1, -1, -1):
            new_positions[index] = min(new_positions[index], ceiling)
            ceiling = new_positions[index] - step
    if new_positions and new_positions[0] < low:
        shift = low - new_positions[0]
        new_positions = [position + shift for position in new_positions]
    return [round(position, 1) for position in new_positions]


@dataclass(frozen=True)
class Bar:
    """A small horizontal bar from 0 to 1, with whiskers for the interval; lengths in pixels."""

    width: float
    fill: float
    low: float | None
    high: float | None


_BAR_WIDTH = 96.0


def build_bar(estimate: ChartEstimate) -> Bar:
    """Lays out one bar; without a value its fill is 0."""

    def scale_x(value: float | None) -> float | None:
        return None if value is None else _scale_share(value, 0, _BAR_WIDTH)

    return Bar(
        width=_BAR_WIDTH,
        fill=scale_x(estimate.value) or 0.0,
        low=scale_x(estimate.low) if estimate.has_interval else None,
        high=scale_x(estimate.high) if estimate.has_interval else None,
    )


@dataclass(frozen=True)
class Segment:
    """The part of a system's bar that belongs to one outcome."""

    outcome: str
    description: str
    share: float
    x: float
    width: float
    symbol: str
    """Empty if the segment is too narrow for it."""


@dataclass(frozen=True)
class StackRow:
    """One system's outcomes, as the segments of a full bar."""

    name: str
    short: str
    control: bool
    y: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Stack:
    """Stacked bars of all systems, controls last, below a gap."""

    width: float
    height: float
    left: float
    right: float
    divider_y: float | None
    rows: tuple[StackRow, ...]


_STACK_WIDTH = 420.0
_STACK_ROW_HEIGHT = 30.0
_MIN_SYMBOL_WIDTH = 14.0


def build_stack(
    entries: Sequence[tuple[str, bool, Sequence[tuple[str, str, str, float]]]],
) -> Stack:
    """Lays out ``(name, is control, [(outcome, symbol, text, count)])``; bars have equal length."""
    sorted_entries = [e for e in entries if not e[1]] + [e for e in entries if e[1]]
    short_names = shorten_names((name for name, _, _ in entries), _MAX_NAME_LENGTH)
    left, right = _PANEL_LEFT, _STACK_WIDTH
    y, divider = 4.0, None
    rows: list[StackRow] = []
    for name, control, counts in sorted_entries:
        if control and rows and not rows[-1].control:
            divider = y + 1
            y += _DIVIDER_GAP
        total = sum(count for _, _, _, count in counts)
        segments: list[Segment] = []
        running_count = 0.0
        for outcome, symbol, description, count in counts:
            # Both ends are rounded from running sums, so that segments leave no gaps.
            start = _scale_share(running_count / total, left, right) if total else left
            running_count += count
            end = _scale_share(running_count / total, left, right) if total else left
            if count:
                width = round(end - start, 1)
                mark = symbol if end - start >= _MIN_SYMBOL_WIDTH else ""
                segments.append(Segment(outcome, description, count / total, start, width, mark))
        rows.append(StackRow(name, short_names[name], control, y, tuple(segments)))
        y += _STACK_ROW_HEIGHT
    return Stack(_STACK_WIDTH, y, left, right, divider, tuple(rows))
