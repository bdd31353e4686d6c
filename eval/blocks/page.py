"""Lets commands write the page of a run without importing ``reporting``.

``reporting`` renders what ``eval`` measures, so ``eval`` cannot import it. The package ``epoche``,
which imports both, registers the function that writes pages.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from kg.base.console import print_warning

if TYPE_CHECKING:
    from eval.blocks.section import Section

PageFormat = Literal["html", "md", "json", "csv", "parquet"]
PAGE_FORMATS: Final[tuple[PageFormat, ...]] = ("html", "md", "json", "csv", "parquet")
PAGE_STEM: Final = "report"
"""The page of a run is ``report.html`` in its folder."""


class PageWriter(Protocol):
    """Writes pages."""

    def __call__(self, section: Section, out: Path, formats: Collection[PageFormat]) -> list[Path]:
        """Writes a section as a page with its exports; returns the files written."""
        ...


_writers: list[PageWriter] = []


def register_page_writer(writer: PageWriter) -> None:
    """Registers the function that writes pages."""
    _writers[:] = [writer]


def write_section(
    section: Section, out: Path, formats: Collection[PageFormat] = PAGE_FORMATS
) -> list[Path]:
    """Writes a section as a page with its exports, and returns the files written.

    Without a registered writer, a warning says how to get the page.

    Args:
        section: what the page shows.
        out: the page; exports have the same stem.
        formats: which of them to write.

    Raises:
        SettingError: a file would overwrite one that the section was made from.
        WriteError: a file cannot be written; then none is.
    """
    if not _writers:
        print_warning(f"{out} is not written: only the command `epoche` writes pages")
        return []
    return _writers[0](section, out, formats)
