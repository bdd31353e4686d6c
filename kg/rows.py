"""A row of the triple index: what one predicate links, from one side.

A cell is a bare ``int`` while it holds one value, a list up to ``LIST_LIMIT`` values, and a
dictionary (an ordered set) above. Most cells hold one value, so most cost nothing but the int.
"""

from __future__ import annotations

import contextlib
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


def reversed_row(row: Row) -> Row:
    """The row from the other side: object → its subjects, in the order of the row."""
    with contextlib.suppress(TypeError):  # Some cell is a list or a dictionary.
        single: Row = dict(zip(row.values(), row, strict=True))  # type: ignore[arg-type]
        if len(single) == len(row):  # No object has two subjects.
            return single
    found: Row = {}
    held_by = found.get
    for s, cell in row.items():
        for o in (cell,) if isinstance(cell, int) else cell:
            # As ``add_to_row``, but no subject comes twice to an object.
            held = held_by(o)
            if held is None:
                found[o] = s
            elif isinstance(held, dict):
                held[s] = None
            elif isinstance(held, int):
                found[o] = [held, s]
            elif len(held) < LIST_LIMIT:
                held.append(s)
            else:
                grown = found[o] = dict.fromkeys(held)
                grown[s] = None
    return found


def missing_links(row: Row, links: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of some (key, value) that a row does not hold."""
    get = row.get
    return [
        link
        for link in links
        if (
            cell != link[1]
            if (cell := get(link[0])).__class__ is int
            else cell is None or link[1] not in cell  # type: ignore[operator]  # not int here
        )
    ]


def join_links(
    forward: Row, reverse: Row, links: Iterable[tuple[int, int]], most: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Adds what paths of two steps through given steps lead to, to a row and its reverse.

    Each is added when its turn comes, so that it takes part in what follows.

    Args:
        forward: the row, which holds the steps.
        reverse: the same from the other side.
        links: steps.
        most: more than so many are too many: then the rest is left out.

    Returns:
        (start, end) of those that were not there, in order, and the middle of each.
    """
    ends_of, starts_of = forward.get, reverse.get
    added: list[tuple[int, int]] = []
    middles: list[int] = []
    for s, o in links:
        # Cells are copied before they are walked: what is found may land in them. Most of what is
        # found is known, so that is asked without a call.
        further = ends_of(o)
        if further is not None:
            for z in (further,) if isinstance(further, int) else list(further):
                cell = forward[s]
                if cell == z if cell.__class__ is int else z in cell:  # type: ignore[operator]  # not int here
                    continue
                add_to_row(forward, s, z)
                add_to_row(reverse, z, s)
                added.append((s, z))
                middles.append(o)
        before = starts_of(s)
        if before is not None:
            for x in (before,) if isinstance(before, int) else list(before):
                cell = forward[x]
                if cell == o if cell.__class__ is int else o in cell:  # type: ignore[operator]  # not int here
                    continue
                add_to_row(forward, x, o)
                add_to_row(reverse, o, x)
                added.append((x, o))
                middles.append(s)
        if len(added) > most:
            break
    return added, middles
