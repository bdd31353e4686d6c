"""Prints tables in which no number is cut: in blocks of columns where the terminal is narrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Column, Table

_EDGE = 1
"""Width of a table's left edge."""
_FRAME = 3
"""Width of the padding and the line around a column."""
_NAME_SHARE = 0.4
"""Share of a terminal's width that the first column may take; longer names are folded."""


def print_table(table: Table) -> None:
    """Prints a table as wide as it needs to be; on a terminal, in blocks that fit its width.

    Each block repeats the first column, which names the rows.
    """
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    for block, width in split_table(table, Console().width if is_terminal else None):
        # A terminal of a few columns breaks the lines itself.
        Console(width=width).print(block, markup=False, highlight=False)


def split_table(table: Table, max_width: int | None) -> Iterator[tuple[Table, int]]:
    """Splits a table into blocks of columns that need no more than a width.

    Args:
        table: the table; its first column names the rows.
        max_width: the width; None to leave the table whole.

    Yields:
        A block, and the width that it needs. A block has at least one column besides the first, so
        that it may be wider than ``max_width``.
    """
    names, *others = table.columns
    name_width = _measure_column(names)
    if max_width is not None:
        name_width = min(name_width, max(int(max_width * _NAME_SHARE), len(str(names.header))))
    first_width = _EDGE + name_width + _FRAME
    block: list[Column] = []
    width = first_width
    for column in others:
        column_width = _measure_column(column) + _FRAME
        if block and max_width is not None and width + column_width > max_width:
            yield _build_block(table, [names, *block], name_width), width
            block, width = [], first_width
        block.append(column)
        width += column_width
    yield _build_block(table, [names, *block], name_width), width


def _build_block(table: Table, columns: Sequence[Column], name_width: int) -> Table:
    from rich.table import Table as RichTable

    block = RichTable(title=table.title, title_justify=table.title_justify)
    for number, column in enumerate(columns):
        is_first = number == 0
        block.add_column(
            column.header,
            justify=column.justify,
            width=name_width if is_first else None,
            overflow="fold",
            no_wrap=not is_first,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        block.add_row(*cells)
    return block


def _measure_column(column: Column) -> int:
    """Returns the width of the longest line of a column, its header included."""
    from rich.cells import cell_len

    texts = map(str, (column.header, *column.cells))
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
