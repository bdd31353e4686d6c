"""Draws a tree map: areas in proportion to counts, those of one family next to each other.

Source of the layout: Bruls, Huizing & van Wijk, "Squarified treemaps" (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.blocks.charts import CountFamily, TreeMap
from eval.blocks.text_format import format_percent, shorten_text
from reporting.charts.picture import Group, Picture, group, rect, text

WIDTH, HEIGHT = 640.0, 300.0
_LETTER, _TITLE_LETTER = 6.6, 9.4
"""Width of a letter, about; of a bold one, in the widest of common fonts."""
_HEADING = 17.0


@dataclass(frozen=True)
class Box:
    """A rectangle on the drawing."""

    x: float
    y: float
    width: float
    height: float


def draw_tree_map(chart: TreeMap) -> Picture:
    """Draws families as blocks and their parts as rectangles, with names where there is room."""
    shown = sorted((one for one in chart.families if one.count), key=lambda one: -one.count)
    total = sum(one.count for one in shown)
    groups: list[Group] = []
    for family, block in zip(
        shown, lay_out_squares([one.count for one in shown], Box(0, 0, WIDTH, HEIGHT)), strict=True
    ):
        titled = block.height > 2 * _HEADING and block.width > 60
        room = _HEADING if titled else 0.0
        inner = Box(block.x, block.y + room, block.width, block.height - room)
        if titled:
            words = f"{family.name} {format_percent(family.count / total)}"
            said = shorten_text(words, int((block.width - 6) / _TITLE_LETTER))
            groups.append(group(text(block.x + 4, block.y + 13, said, "title"), title=words))
        parts = sorted((one for one in family.parts if one[1]), key=lambda one: -one[1])
        for (name, count), box in zip(
            parts, lay_out_squares([count for _, count in parts], inner), strict=True
        ):
            groups.append(_part(name, count, total, box, family))
    return Picture(WIDTH, HEIGHT, tuple(groups), "plot treemap")


def _part(name: str, count: int, total: int, box: Box, family: CountFamily) -> Group:
    shapes = [rect(box.x + 1, box.y + 1, box.width - 2, box.height - 2, rx=2)]
    letters = int((box.width - 10) / _LETTER)
    if box.height >= 20 and letters >= 4:
        shapes.append(text(box.x + 6, box.y + 15, shorten_text(name, letters), "said"))
        if box.height >= 36:
            shapes.append(text(box.x + 6, box.y + 30, shorten_text(f"{count:,}", letters), "said"))
    told = f"{family.name}, {name}: {count:,}, {format_percent(count / total)} of all errors"
    return group(*shapes, look=f"cell {family.look}", title=told, share=1.0)


def lay_out_squares(sizes: Sequence[int], within: Box) -> list[Box]:
    """Boxes with areas in proportion to ``sizes``, as square as they will be.

    Args:
        sizes: above 0, falling.
        within: what they fill.
    """
    whole = sum(sizes)
    if not whole:
        return []
    scale = within.width * within.height / whole
    areas = [size * scale for size in sizes]
    boxes: list[Box] = []
    free, start = within, 0
    while start < len(areas):
        side = min(free.width, free.height)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(
            areas[start:end], side
        ):
            end += 1
        row, free = _row(areas[start:end], free)
        boxes += row
        start = end
    return boxes


def _worst(areas: Sequence[float], side: float) -> float:
    """The longest side against the shortest, of the least square box of a row."""
    thick = sum(areas) / side if side else 0.0
    if not thick:
        return float("inf")
    return max(max(thick / (one / thick), one / thick / thick) for one in areas)


def _row(areas: Sequence[float], free: Box) -> tuple[list[Box], Box]:
    """A row along the shorter side, and what is left beside it."""
    boxes = []
    if free.width >= free.height:
        thick = sum(areas) / free.height if free.height else 0.0
        y = free.y
        for one in areas:
            boxes.append(Box(free.x, y, thick, one / thick if thick else 0.0))
            y += boxes[-1].height
        return boxes, Box(free.x + thick, free.y, free.width - thick, free.height)
    thick = sum(areas) / free.width if free.width else 0.0
    x = free.x
    for one in areas:
        boxes.append(Box(x, free.y, one / thick if thick else 0.0, thick))
        x += boxes[-1].width
    return boxes, Box(free.x, free.y + thick, free.width, free.height - thick)
