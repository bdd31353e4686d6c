"""Histograms with marks, and lines over time."""

from __future__ import annotations

from collections.abc import Sequence

from reporting.plots.axes import Plane, amount_axis
from reporting.plots.picture import (
    Anchor,
    Group,
    Picture,
    circle,
    group,
    line,
    path,
    rect,
    text,
    track,
)

WIDTH, HEIGHT = 400.0, 236.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 388.0, 62.0, 196.0
_LABEL = 84.0
"""Room for the words of a mark: two nearer than this stand on different lines."""


def histogram(
    counts: Sequence[int],
    high: float,
    marks: Sequence[tuple[str, float | None]],
    *,
    words: str,
    unit: str,
    noun: str,
) -> Picture:
    """Counts in bins of equal width over [0, high], with values marked by lines.

    Args:
        counts: one a bin; none gives empty axes.
        high: the upper edge of the last bin.
        marks: name and value, in rising order; unknown ones are left out.
        words: what is spread along the axis.
        unit: of the values, written after them.
        noun: what is counted, several of them.
    """
    x = amount_axis(high, words)
    y = amount_axis(max(counts, default=0), noun, whole=True)
    plane = Plane(_LEFT, _RIGHT, _TOP, _BOTTOM, x, y)
    groups: list[Group] = [plane.grid(verticals=False)]
    width = high / len(counts) if counts else 0.0
    for number, count in enumerate(counts):
        if not count:
            continue
        left, right = plane.across(number * width), plane.across((number + 1) * width)
        at = plane.up(count)
        said = f"{number * width:.3g} to {(number + 1) * width:.3g} {unit}: {count:,} {noun}"
        bar = rect(left + 0.5, at, right - left - 1, _BOTTOM - at, "bar-fill")
        groups.append(group(bar, title=said))
    free: list[float] = []
    for name, value in marks:
        if value is None:
            continue
        at = plane.across(value)
        # Names stand on the first line on which the one before leaves room.
        row = next((n for n, taken in enumerate(free) if at - taken >= _LABEL), len(free))
        free[row : row + 1] = [at]
        y_text = _TOP - 26 + 12 * (row % 3) - 10
        anchor: Anchor = "end" if at > _RIGHT - _LABEL else "start"
        said = f"{name} {value:.3g} {unit}"
        groups.append(
            group(
                line(at, y_text - 8, at, _BOTTOM, "mark"),
                text(at + (4 if anchor == "start" else -4), y_text, said, "label", anchor),
                title=said,
            )
        )
    return Picture(WIDTH, HEIGHT, tuple(groups), "histogram")


def over_time(points: Sequence[tuple[float, float]], *, x_words: str, y_words: str) -> Picture:
    """Values over time, joined by lines.

    Args:
        points: seconds since the start, and the value, by rising time.
        x_words: what the axis of time shows.
        y_words: what the values are.
    """
    x = amount_axis(max((at for at, _ in points), default=0.0), x_words)
    y = amount_axis(max((value for _, value in points), default=0.0), y_words)
    plane = Plane(_LEFT, _RIGHT, 30.0, _BOTTOM, x, y)
    places = [(plane.across(at), plane.up(value)) for at, value in points]
    groups: list[Group] = [plane.grid()]
    if len(places) > 1:
        groups.append(group(path(track(places), "curve")))
    for (at, value), (px, py) in zip(points, places, strict=True):
        said = f"until {at:.3g} s: {value:.3g} {y_words}"
        groups.append(group(circle(px, py, 3, "dot"), title=said))
    return Picture(WIDTH, HEIGHT, tuple(groups), "timeline")
