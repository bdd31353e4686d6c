"""Escapes untrusted text for CSV and Markdown.

Unescaped, a spreadsheet would execute a cell that starts with ``=``, and a Markdown renderer would
read ``<`` and ``|`` as markup.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from reporting.visible_text import make_visible

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


_INLINE_MARKUP = r"[\\`*_{}\[\]()#!|~$^]"
_TEXT_MARKUP = re.compile(rf"{_INLINE_MARKUP}|^[+-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""Characters that are markup anywhere in a line, and those that are markup only at its start:
``+``, ``-``, and the ``.`` or ``)`` after a number of one or two digits."""
_CELL_MARKUP = re.compile(_INLINE_MARKUP)


def escape_markdown(text: str) -> str:
    """Escapes text for one line of Markdown."""
    return _escape_markup(text, _TEXT_MARKUP)


def escape_markdown_cell(text: str) -> str:
    """Escapes text for a table cell, which does not start a line: negative numbers stay as is."""
    return _escape_markup(text, _CELL_MARKUP)


def _escape_markup(text: str, markup: re.Pattern[str]) -> str:
    one_line = " ".join(make_visible(text).split())
    escaped_text = markup.sub(r"\\\g<0>", one_line)
    return escaped_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render_markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Renders a Markdown pipe table; the cells must be escaped already."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
