"""What is made of a run's rows, and must not outlive a change of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kg.base.errors import WriteError
from kg.base.files import write_errors_named

_PAGES: Final = ("report.html", "report.md", "report.json", "report.*.csv", "report.*.parquet")
"""The page and its tables."""


def forget(folder: Path, names: Iterable[str]) -> None:
    """Removes files that are not wanted any more, where they are there.

    Raises:
        WriteError: one cannot be removed.
    """
    for name in names:
        with write_errors_named(folder / name):
            (folder / name).unlink(missing_ok=True)


def forget_with_page(folder: Path, names: Iterable[str]) -> None:
    """As ``forget``, and the page of the run with its tables.

    Raises:
        WriteError: one cannot be removed.
    """
    forget(folder, (*names, *page_in(folder)))


def refuse_page_of_others(folder: Path, marks: Iterable[str]) -> None:
    """Refuses a folder whose report is of something else: it is nobody's to remove.

    Args:
        folder: where a run is to be written.
        marks: names of files that only such a run leaves.

    Raises:
        WriteError: there is a page, and none of ``marks``.
    """
    page = page_in(folder)
    if page and not any((folder / name).exists() for name in marks):
        raise WriteError(
            f"the folder holds {page[0]}, which no run made",
            where=str(folder),
            hint="Choose another --out.",
        )


def page_in(folder: Path) -> list[str]:
    """Names of the files of a page that a folder holds, whoever made it."""
    return [path.name for pattern in _PAGES for path in sorted(folder.glob(pattern))]
