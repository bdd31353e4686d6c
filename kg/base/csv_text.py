"""Renders untrusted text as CSV that no spreadsheet executes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from kg.base.visible_text import make_visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that start a formula; some spreadsheets also accept the full-width ones at the end."""


def escape_csv_cell(value: object) -> str:
    """Formats a CSV cell so that no spreadsheet reads it as a formula.

    Numbers stay as they are. Text that starts like a formula, after any blanks, gets a leading
    apostrophe, which spreadsheets read as "this is text".
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = make_visible(str(value))
    start = text.lstrip(" \u00a0")
    return f"'{text}" if start.startswith(_FORMULA_STARTS) else text


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Renders escaped cells as CSV (RFC 4180, CRLF line ends)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([escape_csv_cell(cell) for cell in header])
    writer.writerows([escape_csv_cell(cell) for cell in row] for row in rows)
    return buffer.getvalue()
