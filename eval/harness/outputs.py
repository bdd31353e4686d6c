"""Deletes files derived from a run's rows before the rows change.

They are deleted first, so that a crash cannot leave outdated reports in a folder with new rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kg.base.errors import WriteError
from kg.base.files import convert_write_errors

_REPORT_PATTERNS: Final = (
    "report.html",
    "report.md",
    "report.json",
    "report.*.csv",
    "report.*.parquet",
)
"""Patterns of the report page and its tables."""


def delete_outputs(folder: Path, names: Iterable[str]) -> None:
    """Deletes output files from a folder; files that do not exist are skipped.

    Args:
        folder: the folder.
        names: names of files, or patterns with a ``*``.

    Raises:
        WriteError: a file cannot be deleted.
    """
    for name in names:
        with convert_write_errors(folder / name):
            for path in sorted(folder.glob(name)) if "*" in name else [folder / name]:
                path.unlink(missing_ok=True)


def delete_outputs_and_report(folder: Path, names: Iterable[str]) -> None:
    """Deletes output files, and the report page of the run with its tables.

    Raises:
        WriteError: a file cannot be deleted.
    """
    delete_outputs(folder, (*names, *find_report_files(folder)))


@contextmanager
def replace_files(paths: Iterable[Path]) -> Iterator[None]:
    """Takes files away while new ones are opened, and puts them back if that fails.

    Raises:
        WriteError: a file cannot be renamed or deleted.
    """
    moved = {path: path.with_name(f"{path.name}.old") for path in paths if path.exists()}
    for path, old in moved.items():
        with convert_write_errors(path):
            path.replace(old)
    try:
        yield
    except BaseException:
        for path, old in moved.items():
            with convert_write_errors(path):
                old.replace(path)
        raise
    for old in moved.values():
        with convert_write_errors(old):
            old.unlink()


def require_owned_folder(folder: Path, markers: Iterable[str]) -> None:
    """Refuses a folder with a report that was not written by a run of this kind.

    Such a report would be deleted with the outputs, though it is not derived from a run's rows.

    Args:
        folder: the output folder of a run.
        markers: names of files that only a run of this kind writes.

    Raises:
        WriteError: the folder contains a report page, and none of ``markers``.
    """
    page = find_report_files(folder)
    if page and not any((folder / name).exists() for name in markers):
        raise WriteError(
            f"the folder contains {page[0]}, which was not written by such a run",
            where=str(folder),
            hint="Choose another --out.",
        )


def find_report_files(folder: Path) -> list[str]:
    """Returns the names of all report files in a folder, including those of other programs."""
    return [path.name for pattern in _REPORT_PATTERNS for path in sorted(folder.glob(pattern))]
