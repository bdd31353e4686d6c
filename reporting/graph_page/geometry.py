"""Computes the geometry of the picture: sizes and shapes of nodes, and positions of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from eval.blocks.text_format import shorten_text
from reporting.graph_page.layout import HEIGHT, WIDTH
from reporting.visible_text import make_visible

N_COLOURS = 8
"""Number of group colours in the style sheet; further groups repeat them with another shape."""
MAX_LABEL_LENGTH = 28
"""Maximum length of a label in the picture, in characters; the table has the whole label."""
CHARACTER_WIDTH = 6.3
"""Approximate width of a label's character."""
LINE_HEIGHT = 15.0
"""Height of a label's line."""
LABEL_MARGIN = 220
"""If there is no free place for a label, it is placed on the right of its node, or on its left if
the node is nearer than this to the right border."""
_MIN_RADIUS, _MAX_RADIUS = 6.5, 19.0

Side = Literal["right", "left", "below", "above"]
RIGHT_FIRST: tuple[Side, ...] = ("right", "left", "below", "above")
"""Usual order in which the sides of a node are tried for its label."""
BELOW_FIRST: tuple[Side, ...] = ("below", "above", "right", "left")
"""Order for pictures with captions at links: labels below a node rarely overlap captions."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom coordinate of a rectangle."""


class Label(NamedTuple):
    """A node's label; the position is relative to the node's centre."""

    text: str
    x: float
    y: float
    anchor: Literal["start", "end", "middle"]
    fits: bool
    """Whether there is room for it. A label without room appears only when the reader points at its
    node or zooms in."""


def compute_radius(count: int, largest: int) -> float:
    """Computes a node's radius; the part above the minimum grows with the root of its count."""
    share = count / largest if largest else 0.0
    return round(_MIN_RADIUS + (_MAX_RADIUS - _MIN_RADIUS) * math.sqrt(share), 1)


def build_shape_path(group: int | None, r: float) -> str:
    """Returns the outline of a group's nodes as an SVG path.

    The shape is a circle, square, diamond or triangle, with about the area of a circle of radius
    ``r``.
    """
    shape_index = 0 if group is None else group // N_COLOURS
    # A square has the area of the circle if half its width is r·√π/2 = 0.89 r; a diamond, if half
    # its diagonal is r·√(π/2) = 1.25 r.
    if shape_index % 4 == 1:
        a = round(r * 0.89, 1)
        return f"M{-a} {-a}H{a}V{a}H{-a}Z"
    if shape_index % 4 == 2:
        a = round(r * 1.25, 1)
        return f"M0 {-a}L{a} 0L0 {a}L{-a} 0Z"
    if shape_index % 4 == 3:
        a, b, c = round(r * 1.4, 1), round(r * 1.2, 1), round(r * 0.75, 1)
        return f"M0 {-a}L{b} {c}H{-b}Z"
    return f"M{-r} 0A{r} {r} 0 1 1 {r} 0A{r} {r} 0 1 1 {-r} 0Z"


def format_label(text: str) -> str:
    """Formats a label for the picture: with visible characters, on one line, cut to length."""
    return shorten_text(" ".join(make_visible(text).split()), MAX_LABEL_LENGTH)


def place_labels(
    texts: Sequence[str],
    positions: Sequence[tuple[float, float]],
    radii: Sequence[float],
    sides: Sequence[Side] = RIGHT_FIRST,
    occupied: Sequence[Box] = (),
) -> list[Label]:
    """Places labels next to their nodes, so that none covers another label or a node.

    Labels are placed greedily in the order given, so the first nodes get the best positions. A
    label without room is returned with ``fits`` false.

    Args:
        texts: labels as they appear in the picture.
        positions: centres of the nodes.
        radii: radii of the nodes.
        sides: sides of a node in the order in which they are tried.
        occupied: boxes that labels must not cover.
    """
    circles = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(positions, radii, strict=True)]
    blocked_boxes = list(occupied)
    labels = []
    for index, (text, (x, y), r) in enumerate(zip(texts, positions, radii, strict=True)):
        label = None
        for side in sides:
            dx, dy, anchor = _compute_label_offset(side, r)
            box = _compute_label_box(x + dx, y + dy, len(text) * CHARACTER_WIDTH, anchor)
            obstacles = (*circles[:index], *circles[index + 1 :], *blocked_boxes)
            is_inside = min(box) >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT
            if is_inside and not any(_boxes_overlap(box, obstacle) for obstacle in obstacles):
                blocked_boxes.append(box)
                label = Label(text, dx, dy, anchor, True)
                break
        if label is None:
            side = "left" if x > WIDTH - LABEL_MARGIN else "right"
            dx, dy, anchor = _compute_label_offset(side, r)
            label = Label(text, dx, dy, anchor, False)
        labels.append(label)
    return labels


def compute_caption_box(lines: Sequence[str], x: float, y: float) -> Box:
    """Computes the box of a link's caption; (x, y) is the middle of the link."""
    half_width = max((len(line) for line in lines), default=0) * CHARACTER_WIDTH / 2
    return (
        x - half_width,
        y - 6 - LINE_HEIGHT * len(lines) / 2,
        x + half_width,
        y + LINE_HEIGHT * len(lines) / 2 - 6,
    )


def _compute_label_offset(
    side: Side, r: float
) -> tuple[float, float, Literal["start", "end", "middle"]]:
    if side == "right":
        return round(r + 4, 1), 4.0, "start"
    if side == "left":
        return round(-r - 4, 1), 4.0, "end"
    if side == "below":
        return 0.0, round(r + 13, 1), "middle"
    return 0.0, round(-r - 5, 1), "middle"


def _compute_label_box(x: float, y: float, width: float, anchor: str) -> Box:
    left = x if anchor == "start" else x - width if anchor == "end" else x - width / 2
    return left, y - 0.75 * LINE_HEIGHT, left + width, y + 0.25 * LINE_HEIGHT


def _boxes_overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
