"""The blocks of a section as Markdown: the same words and numbers as on the page, no drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reporting.benchmark_sections.blocks import (
    Block,
    Cell,
    Figures,
    Fold,
    Grid,
    Line,
    Prose,
    Terms,
)
from reporting.benchmark_sections.samples import Samples
from reporting.escaped_text import escape_markdown, escape_markdown_cell, render_markdown_table
from reporting.visible_text import make_visible


def block_markdown(block: Block) -> Iterator[str]:
    """The paragraphs and tables of one block."""
    if isinstance(block, Prose):
        mark = {"notice": "> ", "list": "- "}.get(block.kind, "")
        yield from (f"{mark}{escape_markdown(text)}" for text in block.paragraphs)
    elif isinstance(block, Grid):
        yield f"**{escape_markdown(block.title)}**" + (
            f" {escape_markdown(block.about)}" if block.about else ""
        )
        if block.lines:
            heads = [escape_markdown_cell(head.name) for head in block.heads]
            rows = [
                [
                    _name(block, line),
                    *map(_cell, line.cells),
                ]
                for line in block.lines
            ]
            yield render_markdown_table(heads, rows)
    elif isinstance(block, Figures):
        # What a drawing shows stands in a table nearby; only a finding is said nowhere else.
        yield from (
            f"{escape_markdown(one.title)}: {escape_markdown(one.about)}"
            for one in block.figures
            if one.finding
        )
    elif isinstance(block, Fold):
        yield f"*{escape_markdown(block.summary)}*"
        for inner in block.blocks:
            yield from block_markdown(inner)
    elif isinstance(block, Terms):
        yield "\n".join(
            f"- **{escape_markdown(term)}**: {escape_markdown(meaning)}"
            for term, meaning in block.entries
        )
    elif isinstance(block, Samples):
        yield escape_markdown(f"{block.count}, all of them in {block.elsewhere}.")
    else:
        # Within a fence longer than any run of its own signs all text is literal.
        text = make_visible(block.text)
        fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", text)), 3)
        yield f"{fence}\n{text}\n{fence}"


def _name(grid: Grid, line: Line) -> str:
    """A line's name; of a pair also the question that it answers."""
    below = f" ({line.below})" if line.below and grid.look == "pairs" else ""
    return escape_markdown_cell(
        f"{line.group}: {line.name}{below}" if line.group else f"{line.name}{below}"
    )


def _cell(cell: Cell) -> str:
    below = f" ({escape_markdown_cell('; '.join(cell.below))})" if cell.below else ""
    return f"{escape_markdown_cell(cell.text)}{below}"
