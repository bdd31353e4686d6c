"""Reads a benchmark's section back: its blocks and tables."""

from __future__ import annotations

from typing import Any

from reporting.benchmark_sections.blocks import Fold, Grid
from reporting.benchmark_sections.samples import Samples
from reporting.benchmark_sections.section import Section


def blocks_of(section: Section, part: str) -> list[Any]:
    """The blocks of a part, folds opened."""
    found = next(one for one in section.parts if one.id == part)
    opened: list[Any] = []
    for block in found.blocks:
        opened += [*block.blocks] if isinstance(block, Fold) else [block]
    return opened


def grid(section: Section, part: str, title: str) -> Grid:
    """The first table of a part whose title starts so."""
    return next(
        one
        for one in blocks_of(section, part)
        if isinstance(one, Grid) and one.title.startswith(title)
    )


def cells(table: Grid) -> dict[str, list[str]]:
    """Name of a line → the texts of its cells."""
    return {line.name: [cell.text for cell in line.cells] for line in table.lines}


def samples_of(section: Section) -> Samples:
    """What it shows of single items."""
    return next(one for one in blocks_of(section, "samples") if isinstance(one, Samples))


def said(section: Section) -> str:
    """What it opens with, in one text."""
    return " ".join(section.verdict)
