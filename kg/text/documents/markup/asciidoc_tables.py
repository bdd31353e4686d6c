"""Reads tables of AsciiDoc, whose rows are told apart by the number of columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator

from kg.text.documents.markup.table_rows import MAX_COLUMNS, Cell, TableRows, read_span

MAX_LINE_LENGTH = 20_000
"""Maximum length of a line with cells, in characters; a longer one is one cell."""
# Before the bar stand the columns and rows of the cell or its copies, its alignment and its style.
_CELL = re.compile(
    r"(?:(?:^|(?<=[ \t]))(?:(\d*)(?:\.(\d+))?[+*])?[<^>.]{0,3}[adehlmsv]?)?(?<!\\)\|"
)
_COLUMNS = re.compile(r"\bcols[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^,\]]*))")
_COPIES = re.compile(r"[ \t]*(\d{1,4})\*")


def count_columns(attributes: str) -> int:
    """Returns the number of columns that ``[cols=…]`` states; 0 if it states none."""
    match = _COLUMNS.search(attributes)
    specification = (match[1] or match[2] or match[3] or "").strip() if match else ""
    if not specification:
        return 0
    if specification.isdecimal():
        number = read_span(specification)
    else:
        copies = map(_COPIES.match, re.split("[,;]", specification))
        number = sum(int(copy[1]) if copy else 1 for copy in copies)
    return number if number <= MAX_COLUMNS else 0


def iter_rows(
    lines: list[str], n_columns: int, separator: str, strip_markup: Callable[[str], str]
) -> Iterator[list[str]]:
    """Yields the texts of each row of a table.

    Args:
        lines: what stands between the delimiters.
        n_columns: from ``count_columns``; if 0, the cells of the first line are the first row.
        separator: the first character of the delimiter.
        strip_markup: removes inline markup.
    """
    lines = [line for line in lines if not line.startswith("//")]
    if separator in ",:":
        try:
            reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
            yield from [list(map(strip_markup, row)) for row in reader if row]
        except csv.Error:  # such as a cell that is too long
            yield from [[strip_markup(line)] for line in lines if line]
        return
    rows = TableRows()
    row: list[Cell] = []
    n_filled = 0
    for cells in _iter_cells(lines, separator):
        n_cells = sum(cell.columns for cell in cells)
        n_columns = n_columns or n_cells
        if row and n_cells >= n_columns > 1:
            # The row before has too few cells.
            yield rows.fill_row(row)
            row, n_filled = [], 0
        for cell in cells:
            if rows.count_spanning() >= n_columns:
                rows.end_group()  # no further cell would have a place
            row.append(cell._replace(text=strip_markup(cell.text)))
            n_filled += cell.columns
            if n_filled >= n_columns - rows.count_spanning():
                yield rows.fill_row(row)
                row, n_filled = [], 0
    if row:
        yield rows.fill_row(row)


def _iter_cells(lines: list[str], separator: str) -> Iterator[list[Cell]]:
    """Yields the cells that begin in a line, with the text of the lines that follow."""
    cells: list[Cell] = []
    texts: list[str] = []  # of the last of these cells
    for line in [*lines, separator]:
        line = line.replace(separator, "|") if separator != "|" else line
        marks = list(_CELL.finditer(line)) if len(line) <= MAX_LINE_LENGTH else []
        if not marks:
            texts.append(line)
            if len(line) > MAX_LINE_LENGTH and not cells:
                cells.append(Cell(""))
            continue
        texts.append(line[: marks[0].start()])
        if cells:
            cells[-1] = cells[-1]._replace(text=_join_text(texts))
            yield cells
        cells = []
        ends = [*(mark.start() for mark in marks[1:]), len(line)]
        for mark, end in zip(marks, ends, strict=True):
            texts = [line[mark.end() : end]]
            columns, n_rows = read_span(mark[1]), read_span(mark[2])
            columns = columns if columns <= MAX_COLUMNS else 1
            cells.append(Cell(_join_text(texts), columns, n_rows))


def _join_text(lines: list[str]) -> str:
    return " ".join(filter(None, map(str.strip, lines))).replace("\\|", "|")
