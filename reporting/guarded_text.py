"""CSV and Markdown of text from anywhere, which means nothing but itself there.

A spreadsheet would run a cell that starts with ``=``, a Markdown renderer would take ``<`` and
``|`` as markup.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from reporting.visible import visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_cell(value: object) -> str:
    """A CSV cell that no spreadsheet takes for a formula.

    Numbers stay as they are; text that starts like a formula (blanks skipped) gets an apostrophe
    before it, which spreadsheets read as "this is text".
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = visible(str(value))
    start = text.lstrip(" \u00a0")
    return f"'{text}" if start.startswith(_FORMULA_STARTS) else text


def to_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180 text (CRLF line ends) of guarded cells."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([csv_cell(cell) for cell in head])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


_ANYWHERE = r"[\\`*_{}\[\]()#!|~$^]"
_MARKDOWN = re.compile(rf"{_ANYWHERE}|^[+-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""What Markdown takes as markup: anywhere, or (signs, ``1.``) at the start of a line."""
_IN_A_CELL = re.compile(_ANYWHERE)


def md(text: str) -> str:
    """``text`` on one line of Markdown, meaning nothing but itself."""
    return _escaped(text, _MARKDOWN)


def md_cell(text: str) -> str:
    """The same within a cell of a table, where no line starts: numbers stay as they are."""
    return _escaped(text, _IN_A_CELL)


def _escaped(text: str, markup: re.Pattern[str]) -> str:
    flat = " ".join(visible(text).split())
    escaped = markup.sub(r"\\\g<0>", flat)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def md_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table of cells that are Markdown already."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
