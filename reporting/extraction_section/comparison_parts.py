"""The parts that compare systems: TODO."""

from __future__ import annotations

from collections.abc import Iterator

from reporting.benchmark_sections.blocks import Part
from reporting.extraction_section.shown import Shown


def comparison_parts(shown: Shown, id_: str) -> Iterator[Part]:
    """TODO."""
    yield from ()
