"""Draws heat maps."""

from __future__ import annotations

import re

from eval.blocks.charts import HeatMap
from eval.blocks.text_format import shorten_names, shorten_text
from reporting.charts.picture import Group, Picture, group, rect, text

_ROW = 24.0
_HEAD_LETTERS = 13
# Width of a letter, about, in the widest of common fonts.
_LETTER = 7.2


def draw_heat_map(chart: HeatMap) -> Picture:
    """Draws cells under heads, each row with its name."""
    name_width, cell_width = chart.name_width, chart.cell_width
    short = shorten_names((name for name, _ in chart.rows), int((name_width - 8) / _LETTER))
    top = 8.0 + 13.0 * chart.head_lines
    groups: list[Group] = []
    for column, head in enumerate(chart.heads):
        x = name_width + cell_width * (column + 0.5)
        lines = _break_lines(head, chart.head_lines)
        shapes = [
            text(x, top - 7 - 13 * (len(lines) - 1 - n), words, "hint", "middle")
            for n, words in enumerate(lines)
        ]
        groups.append(group(*shapes, title=head))
    for number, (name, cells) in enumerate(chart.rows):
        y = top + number * _ROW
        groups.append(group(text(name_width - 8, y + 16, short[name], "name", "end"), title=name))
        for column, cell in enumerate(cells):
            x = name_width + cell_width * column
            groups.append(
                group(
                    rect(x + 1, y + 1, cell_width - 2, _ROW - 2, rx=3),
                    text(x + cell_width / 2, y + 16, cell.text, "said", "middle"),
                    look=f"cell {cell.look}",
                    title=cell.tooltip or f"{name}, {chart.heads[column]}: {cell.text}",
                    share=cell.share,
                )
            )
    width = name_width + cell_width * len(chart.heads) + 2
    return Picture(width, top + len(chart.rows) * _ROW + 4, tuple(groups), "plot heatmap")


def _break_lines(words: str, lines: int) -> list[str]:
    """Breaks words at blanks and within names into at most ``lines`` lines; cuts long lines."""
    found: list[str] = []
    for part in re.findall(r"[^ /_-]*[ /_-]?", words):
        if found and (len(found[-1]) + len(part) <= _HEAD_LETTERS or len(found) == lines):
            found[-1] += part
        else:
            found.append(part)
    return [shorten_text(one.strip(), _HEAD_LETTERS) for one in found]
