"""Finds blocks and tables in the section of a benchmark."""

from __future__ import annotations

from typing import Any

from eval.blocks.blocks import Fold, Table
from eval.blocks.samples import Samples
from eval.blocks.section import Section


def list_blocks(section: Section, part: str) -> list[Any]:
    """Lists the blocks of a part, including those inside folds."""
    section_part = next(candidate for candidate in section.parts if candidate.id == part)
    blocks: list[Any] = []
    for block in section_part.blocks:
        blocks += [*block.blocks] if isinstance(block, Fold) else [block]
    return blocks


def find_grid(section: Section, part: str, title: str) -> Table:
    """Returns the first table of a part whose title starts with ``title``."""
    return next(
        block
        for block in list_blocks(section, part)
        if isinstance(block, Table) and block.title.startswith(title)
    )


def grid_cells(table: Table) -> dict[str, list[str]]:
    """Returns a table as row name → texts of its cells."""
    return {line.name: [cell.text for cell in line.cells] for line in table.rows}


def find_samples(section: Section) -> Samples:
    """Returns the block that lists the single samples of a section."""
    return next(block for block in list_blocks(section, "samples") if isinstance(block, Samples))


def verdict_text(section: Section) -> str:
    """Returns the verdict of a section as one text."""
    return " ".join(section.verdict)
