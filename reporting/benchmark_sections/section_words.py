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
from reporting.guarded_text import md, md_cell, md_table
from reporting.visible import visible


def block_markdown(block: Block) -> Iterator[str]:
    """The paragraphs and tables of one block."""
    if isinstance(block, Prose):
        mark = {"notice": "> ", "list": "- "}.get(block.kind, "")
        yield from (f"{mark}{md(text)}" for text in block.paragraphs)
    elif isinstance(block, Grid):
        yield f"**{md(block.title)}**" + (f" {md(block.about)}" if block.about else "")
        if block.lines:
            heads = [md_cell(head.name) for head in block.heads]
            rows = [
                [
                    _name(block, line),
                    *map(_cell, line.cells),
                ]
                for line in block.lines
            ]
            yield md_table(heads, rows)
    elif isinstance(block, Figures):
        # What a drawing shows stands in a table nearby; only a finding is said nowhere else.
        yield from (f"{md(one.title)}: {md(one.about)}" for one in block.figures if one.finding)
    elif isinstance(block, Fold):
        yield f"*{md(block.summary)}*"
        for inner in block.blocks:
            yield from block_markdown(inner)
    elif isinstance(block, Terms):
        yield "\n".join(f"- **{md(term)}**: {md(meaning)}" for term, meaning in block.entries)
    elif isinstance(block, Samples):
        yield md(f"{block.count}, all of them in {block.elsewhere}.")
    else:
        # Within a fence longer than any run of its own signs all text is literal.
        text = visible(block.text)
        fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", text)), 3)
        yield f"{fence}\n{text}\n{fence}"


def _name(grid: Grid, line: Line) -> str:
    """A line's name; of a pair also the question that it answers."""
    below = f" ({line.below})" if line.below and grid.look == "pairs" else ""
    return md_cell(f"{line.group}: {line.name}{below}" if line.group else f"{line.name}{below}")


def _cell(cell: Cell) -> str:
    below = f" ({md_cell('; '.join(cell.below))})" if cell.below else ""
    return f"{md_cell(cell.text)}{below}"
