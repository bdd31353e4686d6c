"""Heat maps: a number in every cell, and a colour that says the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reporting.plots.picture import Group, Picture, group, rect, text
from reporting.visible_text import shorten_names, shorten_text

_ROW = 24.0
_HEAD_LETTERS = 13
# Width of a letter, about, in the widest of common fonts.
_LETTER = 7.2


@dataclass(frozen=True)
class HeatCell:
    """One cell.

    Attributes:
        said: what is written in it, short.
        share: in [0, 1], how full its colour is.
        look: ``up``, ``down`` or ``plain``.
        told: the whole matter in words.
    """

    said: str
    share: float = 0.0
    look: str = "plain"
    told: str = ""


def heat_map(
    heads: Sequence[str],
    rows: Sequence[tuple[str, Sequence[HeatCell]]],
    *,
    name_width: float = 170.0,
    cell_width: float = 62.0,
    head_lines: int = 1,
) -> Picture:
    """Cells under heads, each row with its name.

    Args:
        heads: of the columns; each is broken at blanks into ``head_lines`` lines.
        rows: name, and a cell for each head.
        name_width: room for the rows' names, in units of the drawing.
        cell_width: likewise for a cell.
        head_lines: lines that a head may take.
    """
    short = shorten_names((name for name, _ in rows), int((name_width - 8) / _LETTER))
    top = 8.0 + 13.0 * head_lines
    groups: list[Group] = []
    for column, head in enumerate(heads):
        x = name_width + cell_width * (column + 0.5)
        lines = _broken(head, head_lines)
        shapes = [
            text(x, top - 7 - 13 * (len(lines) - 1 - n), words, "hint", "middle")
            for n, words in enumerate(lines)
        ]
        groups.append(group(*shapes, title=head))
    for number, (name, cells) in enumerate(rows):
        y = top + number * _ROW
        groups.append(group(text(name_width - 8, y + 16, short[name], "name", "end"), title=name))
        for column, cell in enumerate(cells):
            x = name_width + cell_width * column
            groups.append(
                group(
                    rect(x + 1, y + 1, cell_width - 2, _ROW - 2, rx=3),
                    text(x + cell_width / 2, y + 16, cell.said, "said", "middle"),
                    look=f"cell {cell.look}",
                    title=cell.told or f"{name}, {heads[column]}: {cell.said}",
                    share=cell.share,
                )
            )
    width = name_width + cell_width * len(heads) + 2
    return Picture(width, top + len(rows) * _ROW + 4, tuple(groups), "heatmap")


def _broken(words: str, lines: int) -> list[str]:
    """Words on at most so many lines, broken at blanks and within names; a long line is cut."""
    found: list[str] = []
    for part in re.findall(r"[^ /_-]*[ /_-]?", words):
        if found and (len(found[-1]) + len(part) <= _HEAD_LETTERS or len(found) == lines):
            found[-1] += part
        else:
            found.append(part)
    return [shorten_text(one.strip(), _HEAD_LETTERS) for one in found]
