"""A row of the triple index: what one predicate links, from one side.

A cell is a bare ``int`` while it holds one value, a list up to ``LIST_LIMIT`` values, and a
dictionary (an ordered set) above. Most cells hold one value, so most cost nothing but the int.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Cell: TypeAlias = int | list[int] | dict[int, None]
Row: TypeAlias = dict[int, Cell]

LIST_LIMIT = 8
"""A cell with more values becomes a dictionary, whose membership test does not grow."""


def add_to_row(row: Row, key: int, value: int) -> bool:
    """Adds ``value`` to the cell at ``key``; False where it is there already."""
    cell = row.get(key)
    if cell is None:
        row[key] = value
        return True
    if isinstance(cell, int):
        if cell == value:
            return False
        row[key] = [cell, value]
        return True
    if value in cell:
        return False
    if isinstance(cell, dict):
        cell[value] = None
    elif len(cell) < LIST_LIMIT:
        cell.append(value)
    else:
        grown = dict.fromkeys(cell)
        grown[value] = None
        row[key] = grown
    return True


def taken(left: set[int], cells: Iterable[Cell]) -> Iterable[int]:
    """Moves what the cells hold out of ``left``, in their order."""
    try:
        here = dict.fromkeys(filter(left.__contains__, cells))
    except TypeError:  # Some cell is a list or a dictionary.
        flat = (o for cell in cells for o in ((cell,) if isinstance(cell, int) else cell))
        here = dict.fromkeys(filter(left.__contains__, flat))
    left.difference_update(here)
    return here  # type: ignore[return-value]  # whatever passed the filter is an int


def discard_from_row(row: Row, key: int, value: int) -> None:
    """Takes ``value``, which is there, out of the cell at ``key``; an empty cell goes with it."""
    cell = row[key]
    if isinstance(cell, int):
        del row[key]
    elif len(cell) == 2:
        # Back to a bare int, so that undoing an addition leaves the cell as it was.
        row[key] = next(other for other in cell if other != value)
    elif isinstance(cell, dict):
        del cell[value]
        if len(cell) <= LIST_LIMIT:
            row[key] = list(cell)
    else:
        cell.remove(value)


def copy_row(row: Row) -> Row:
    """A row that can be changed without changing this one."""
    copy = row.copy()
    if list(map(type, row.values())).count(int) != len(row):
        for key, cell in row.items():
            if not isinstance(cell, int):
                copy[key] = cell.copy()
    return copy
