"""Reports rows that are ERROR at the end of a command, after everything was written."""

from __future__ import annotations

from pathlib import Path

from kg.base.console import print_warning
from kg.base.errors import TooManyErrorsError

_RETRY_HINT = "use --retry-errors to ask them again"


def report_failed_rows(
    failed: int, total: int, *, field: str, where: Path, hint: str = _RETRY_HINT
) -> None:
    """Warns of rows that are ERROR, and fails if all rows are.

    ``--max-consecutive-errors`` aborts a long run early. A run with fewer questions than that
    limit ends normally; this check gives it a failing exit code, so that scripts notice.

    Args:
        failed: number of rows that are ERROR.
        total: number of all rows.
        field: name of the row's field with the reason.
        where: the file of rows, or its folder.
        hint: what to do when the cause is fixed.

    Raises:
        TooManyErrorsError: there are rows and all of them are ERROR.
    """
    if not failed:
        return
    problem = f"{failed} of {total} rows are ERROR (see their `{field}`)"
    if failed == total:
        raise TooManyErrorsError(
            problem, where=str(where), hint=f"When the cause is fixed, {hint}."
        )
    print_warning(f"{problem}; {hint}")
