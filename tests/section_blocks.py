"""Finds blocks and tables in the section of a benchmark."""

from __future__ import annotations

from typing import Any

from reporting.benchmark_sections.blocks import Fold, Grid
from reporting.benchmark_sections.samples import Samples
from reporting.benchmark_sections.section import Section


def list_blocks(section: Section, part: str) -> list[Any]:
    """The blocks of a part, including those inside folds."""
    found = next(one for one in section.parts if one.id == part)
    opened: list[Any] = []
    for block in found.blocks:
        opened += [*block.blocks] if isinstance(block, Fold) else [block]
    return opened


def find_grid(section: Section, part: str, title: str) -> Grid:
    """The first table of a part whose title starts with ``title``."""
    return next(
        one
        for one in list_blocks(section, part)
        if isinstance(one, Grid) and one.title.startswith(title)
    )


def grid_cells(table: Grid) -> dict[str, list[str]]:
    """Row name → texts of its cells."""
    return {line.name: [cell.text for cell in line.cells] for line in table.lines}


def find_samples(section: Section) -> Samples:
    """The block of single samples of a section."""
    return next(one for one in list_blocks(section, "samples") if isinstance(one, Samples))


def verdict_text(section: Section) -> str:
    """The verdict of a section as one text."""
    return " ".join(section.verdict)
