"""The picture's geometry: sizes, shapes and where labels have room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from reporting.graph_page.layout import HEIGHT, WIDTH
from reporting.visible import shorten, visible

COLOURS = 8
"""Colours of groups in the style sheet; the next eight groups have the next shape."""
LABEL_LIMIT = 28
"""Characters of a label in the picture; the whole label is in the table."""
CHARACTER = 6.3
"""About how wide a character of a label is."""
LINE = 15.0
"""How high a label is."""
_SMALLEST, _LARGEST = 6.5, 19.0

Side = Literal["right", "left", "below", "above"]
BESIDE: tuple[Side, ...] = ("right", "left", "below", "above")
BELOW: tuple[Side, ...] = ("below", "above", "right", "left")
"""Where words stand at lines, names are out of their way below a node."""
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class Label(NamedTuple):
    """A node's label beside it, relative to the node's centre."""

    text: str
    x: float
    y: float
    anchor: Literal["start", "end", "middle"]
    fits: bool
    """Whether it has room; those that have none appear when one points at them or zooms in."""


def radius(count: int, largest: int) -> float:
    """A node's size: its area grows as its count."""
    share = count / largest if largest else 0.0
    return round(_SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(share), 1)


def shape(place: int | None, r: float) -> str:
    """The outline of a group's nodes as an SVG path of about the area of a circle of radius r."""
    number = 0 if place is None else place // COLOURS
    if number % 4 == 1:
        a = round(r * 0.89, 1)
        return f"M{-a} {-a}H{a}V{a}H{-a}Z"
    if number % 4 == 2:
        a = round(r * 1.25, 1)
        return f"M0 {-a}L{a} 0L0 {a}L{-a} 0Z"
    if number % 4 == 3:
        a, b, c = round(r * 1.4, 1), round(r * 1.2, 1), round(r * 0.75, 1)
        return f"M0 {-a}L{b} {c}H{-b}Z"
    return f"M{-r} 0A{r} {r} 0 1 1 {r} 0A{r} {r} 0 1 1 {-r} 0Z"


def label_text(text: str) -> str:
    """A label fit for the picture: visible, on one line, cut to length."""
    return shorten(" ".join(visible(text).split()), LABEL_LIMIT)


def place_labels(
    texts: Sequence[str],
    places: Sequence[tuple[float, float]],
    radii: Sequence[float],
    sides: Sequence[Side] = BESIDE,
    taken: Sequence[Box] = (),
) -> list[Label]:
    """Labels beside their nodes, the first nodes first, so that none covers another or a node.

    Args:
        texts: labels as they stand in the picture.
        places: centres of the nodes.
        radii: their sizes.
        sides: which side of a node is tried first.
        taken: where something stands already.
    """
    circles = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(places, radii, strict=True)]
    full = list(taken)
    found = []
    for number, (text, (x, y), r) in enumerate(zip(texts, places, radii, strict=True)):
        label = None
        for side in sides:
            dx, dy, anchor = _beside(side, r)
            box = _box(x + dx, y + dy, len(text) * CHARACTER, anchor)
            others = (*circles[:number], *circles[number + 1 :], *full)
            inside = min(box) >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT
            if inside and not any(_overlap(box, other) for other in others):
                full.append(box)
                label = Label(text, dx, dy, anchor, True)
                break
        if label is None:
            side = "left" if x > WIDTH - MARGIN_OF_LABEL else "right"
            dx, dy, anchor = _beside(side, r)
            label = Label(text, dx, dy, anchor, False)
        found.append(label)
    return found


MARGIN_OF_LABEL = 220
"""Nodes nearer than this to the right border have their label on the left when there is no room."""


def saying_box(lines: Sequence[str], x: float, y: float) -> Box:
    """Where words at a line stand whose middle is at (x, y)."""
    half = max((len(line) for line in lines), default=0) * CHARACTER / 2
    return x - half, y - 6 - LINE * len(lines) / 2, x + half, y + LINE * len(lines) / 2 - 6


def _beside(side: Side, r: float) -> tuple[float, float, Literal["start", "end", "middle"]]:
    if side == "right":
        return round(r + 4, 1), 4.0, "start"
    if side == "left":
        return round(-r - 4, 1), 4.0, "end"
    if side == "below":
        return 0.0, round(r + 13, 1), "middle"
    return 0.0, round(-r - 5, 1), "middle"


def _box(x: float, y: float, width: float, anchor: str) -> Box:
    left = x if anchor == "start" else x - width if anchor == "end" else x - width / 2
    return left, y - 0.75 * LINE, left + width, y + 0.25 * LINE


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
