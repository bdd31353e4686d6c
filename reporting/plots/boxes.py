"""Box plots side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.charts import format_number
from reporting.plots.axes import Axis, Plane, share_axis
from reporting.plots.picture import Group, Picture, diamond, group, line, rect, text

WIDTH, HEIGHT = 300.0, 236.0
_HALF = 22.0


@dataclass(frozen=True)
class Spread:
    """How values within [0, 1] are spread: least, quartiles, greatest, mean; ``n`` of them."""

    name: str
    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


def boxes(spreads: Sequence[Spread | str], words: str) -> Picture:
    """One box each, with whiskers to the least and the greatest value.

    A box goes from the first to the third quartile; its line is the median, its diamond the mean.

    Args:
        spreads: in order; only a name where there are no values.
        words: what is spread.
    """
    count = len(spreads)
    plane = Plane(40.0, 292.0, 30.0, 190.0, Axis(0.0, float(count or 1), (), ""), share_axis(words))
    groups: list[Group] = [plane.grid()]
    for place, one in enumerate(spreads):
        x = plane.across(place + 0.5)
        name, below = (one, "no samples") if isinstance(one, str) else (one.name, f"n = {one.n:,}")
        groups.append(
            group(
                text(x, plane.bottom + 16, name, "name", "middle"),
                text(x, plane.bottom + 31, below, "hint", "middle"),
            )
        )
        if isinstance(one, str):
            continue
        said = (
            f"{one.name}: median {format_number(one.median)}, middle half {format_number(one.q1)} "
            f"to {format_number(one.q3)}, all {format_number(one.low)} to "
            f"{format_number(one.high)}, mean {format_number(one.mean)}, {one.n:,} samples"
        )
        top, bottom = plane.up(one.q3), plane.up(one.q1)
        middle = plane.up(one.median)
        groups.append(
            group(
                line(x, plane.up(one.low), x, bottom, "whisker"),
                line(x, top, x, plane.up(one.high), "whisker"),
                rect(x - _HALF, top, 2 * _HALF, bottom - top, "box"),
                line(x - _HALF, middle, x + _HALF, middle, "median"),
                diamond(x, plane.up(one.mean), 4, "mean"),
                title=said,
            )
        )
    return Picture(WIDTH, HEIGHT, tuple(groups), "boxes")
