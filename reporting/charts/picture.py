"""A drawing as data: shapes in groups, each group with words of its own.

Coordinates are in the drawing's own units (its ``viewBox``), CSS pixels at its natural width, and
rounded to a tenth, so that the same numbers give the same bytes on every machine. Colours are in
``templates/plots.css.j2``, by the ``look`` of a group; ``templates/_plots.svg.j2`` writes it out
and escapes what it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Shape:
    """One SVG element: its name, its attributes, and the text of a text."""

    tag: Literal["line", "rect", "circle", "path", "text", "use"]
    attributes: tuple[tuple[str, str], ...]
    words: str = ""


@dataclass(frozen=True)
class Group:
    """Shapes that mean one thing.

    Attributes:
        shapes: in the order in which they are drawn.
        look: classes that decide the colours.
        title: what it says, shown on hovering and read aloud; any text.
        share: in [0, 1], by how much a shape of look ``cell`` is filled; ``None`` for none.
    """

    shapes: tuple[Shape, ...]
    look: str = ""
    title: str = ""
    share: float | None = None


@dataclass(frozen=True)
class Picture:
    """A whole drawing."""

    width: float
    height: float
    groups: tuple[Group, ...]
    look: str = ""


def group(*shapes: Shape, look: str = "", title: str = "", share: float | None = None) -> Group:
    """Shapes that belong together."""
    return Group(shapes, look, title, None if share is None else round(min(max(share, 0), 1), 3))


def fixed(value: float) -> str:
    """A coordinate: to a tenth, without a needless ``.0``."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def line(x1: float, y1: float, x2: float, y2: float, look: str = "") -> Shape:
    """A straight line."""
    return _shape("line", look, (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)))


def rect(x: float, y: float, width: float, height: float, look: str = "", rx: float = 0) -> Shape:
    """A rectangle; a negative extent counts as none."""
    sides = (("x", x), ("y", y), ("width", max(width, 0)), ("height", max(height, 0)))
    return _shape("rect", look, (*sides, *((("rx", rx),) if rx else ())))


def circle(x: float, y: float, radius: float, look: str = "") -> Shape:
    """A circle about (x, y)."""
    return _shape("circle", look, (("cx", x), ("cy", y), ("r", radius)))


def text(
    x: float,
    y: float,
    words: str,
    look: str = "",
    anchor: Anchor = "start",
    *,
    turned: bool = False,
) -> Shape:
    """A line of text; ``turned`` reads upwards."""
    shape = _shape("text", look, (("x", x), ("y", y)))
    more: tuple[tuple[str, str], ...] = ()
    if anchor != "start":
        more = (("text-anchor", anchor),)
    if turned:
        more += (("transform", f"rotate(-90 {fixed(x)} {fixed(y)})"),)
    return Shape("text", (*shape.attributes, *more), words)


def path(data: str, look: str = "", *, id_: str = "") -> Shape:
    """Makes a path; ``data`` comes from ``track`` or consists of ``fixed`` numbers."""
    named = (("class", look),) if look else ()
    identified = (("id", id_),) if id_ else ()
    return Shape("path", (*identified, *named, ("d", data)))


def use(id_: str) -> Shape:
    """Repeats a shape of any chart of the page by its id."""
    return Shape("use", (("href", f"#{id_}"),))


def track(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """Path data of straight lines through points."""
    steps = " ".join(f"{fixed(x)} {fixed(y)}" for x, y in points)
    return f"M{steps}{'z' if closed else ''}"


def diamond(x: float, y: float, radius: float, look: str = "") -> Shape:
    """A square that stands on a corner."""
    ends = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
    return path(track(ends, closed=True), look)


def _shape(
    tag: Literal["line", "rect", "circle", "text"],
    look: str,
    numbers: Iterable[tuple[str, float]],
) -> Shape:
    named = (("class", look),) if look else ()
    return Shape(tag, (*named, *((name, fixed(value)) for name, value in numbers)))


def place_labels(
    places: Sequence[tuple[float, float]], low: float, high: float, step: float
) -> list[float]:
    """Returns the height of a label beside each place, so that labels do not overlap.

    Labels are ordered by the heights of their places, of equal ones the one further right first.
    """
    order = sorted(range(len(places)), key=lambda i: (places[i][1], -places[i][0], i))
    heights = spread_positions([places[i][1] for i in order], low, high, step)
    height_by_place = dict(zip(order, heights, strict=True))
    return [height_by_place[i] for i in range(len(places))]


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
