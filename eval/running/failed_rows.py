"""What a command says of rows that are no answers, once everything is written."""

from __future__ import annotations

from pathlib import Path

from kg.base.console import warn
from kg.base.errors import TooManyErrorsError

_AGAIN = "--retry-errors asks them again"


def report_failed(failed: int, total: int, *, field: str, where: Path) -> None:
    """Warns of rows that are ERROR; a run that holds nothing else has failed.

    ``--max-consecutive-errors`` ends a long run earlier; a short one comes to its end, and must not
    pass for a success in a script.

    Args:
        failed: rows that are ERROR.
        total: all rows.
        field: of a row, that says why.
        where: the file of rows, or its folder.

    Raises:
        TooManyErrorsError: all of them are, and there are any.
    """
    if not failed:
        return
    said = f"{failed} of {total} rows are ERROR (see their `{field}`)"
    if failed == total:
        raise TooManyErrorsError(said, where=str(where), hint=f"When it is mended, {_AGAIN}.")
    warn(f"{said}; {_AGAIN}")
