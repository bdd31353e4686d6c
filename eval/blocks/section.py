"""A section of a report: all that it shows of one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.blocks.blocks import Block, Figure, Fold, Part
from eval.blocks.samples import Samples


@dataclass(frozen=True)
class Section:
    """What a report shows of one run. ``reporting/section_renderer.py`` renders it.

    Attributes:
        id: begins the ids of everything in it: a letter, then letters, digits and hyphens.
        name: for the navigation, a word or two.
        title: the heading.
        about: what it is about, in a few words.
        verdict: what the data show, and what they cannot show.
        parts: in order.
        version: of the Epoché that made the run.
        overview: the chart beside the verdict.
        in_opening: whether a report of cards shows that chart on its first screen, too.
        caveats: what limits the headline numbers.
        notices: what must be read before the numbers.
        stats: (value, what it counts), in a row under the verdict.
        tables: name → CSV; the files are called ``<stem>.<name>.csv``.
        parquet: the same tables as Parquet, if they can be written.
        sources: files that it was made from, which no report may overwrite.
        data: everything for programs, as JSON can represent it.
        card_set: start of the hash of the cards that it is about; empty if it is about none.
    """

    id: str
    name: str
    title: str
    about: str
    verdict: tuple[str, ...]
    parts: tuple[Part, ...]
    version: str
    overview: Figure | None = None
    in_opening: bool = False
    caveats: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    stats: tuple[tuple[str, str], ...] = ()
    tables: dict[str, str] = field(default_factory=dict)
    parquet: dict[str, bytes] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    card_set: str = ""

    def iter_samples(self) -> Iterator[tuple[str, Samples]]:
        """Yields the tables of samples with the id of the part that they are in."""
        for part in self.parts:
            for block in _iter_leaves(part.blocks):
                if isinstance(block, Samples):
                    yield part.id, block


def _iter_leaves(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Fold):
            yield from _iter_leaves(block.blocks)
        else:
            yield block
