"""Stores the rows of the triple index: for one predicate, subject → objects or the reverse.

A cell with one value is an ``int``. A cell with up to ``MAX_LIST_SIZE`` values is a list, and a
larger one a dictionary (used as an ordered set). Most cells have one value and need no container.

Once a row is complete, its lists are not changed but replaced, so that copies can share them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TypeAlias

Cell: TypeAlias = int | list[int] | dict[int, None]
Row: TypeAlias = dict[int, Cell]

MAX_LIST_SIZE = 8
"""A cell with more values becomes a dictionary, whose membership test takes constant time."""


def add_to_row(row: Row, key: int, value: int) -> bool:
    """Adds ``value`` to the cell at ``key``; returns False if it is present already."""
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
    elif len(cell) < MAX_LIST_SIZE:
        row[key] = [*cell, value]
    else:
        members = dict.fromkeys(cell)
        members[value] = None
        row[key] = members
    return True


def pop_members(remaining: set[int], cells: Iterable[Cell]) -> Iterable[int]:
    """Removes the values in the cells from ``remaining``; returns them in the cells' order."""
    try:
        members = dict.fromkeys(filter(remaining.__contains__, cells))
    except TypeError:  # Some cell is a list or a dictionary, which are not hashable.
        values = (o for cell in cells for o in ((cell,) if isinstance(cell, int) else cell))
        members = dict.fromkeys(filter(remaining.__contains__, values))
    remaining.difference_update(members)
    return members  # type: ignore[return-value]  # whatever passed the filter is an int


def discard_from_row(row: Row, key: int, value: int) -> None:
    """Removes ``value``, which must be present, from the cell at ``key``; drops an empty cell."""
    cell = row[key]
    if isinstance(cell, int):
        del row[key]
    elif len(cell) == 2:
        # One value remains, so the cell becomes an int again, as it was before the addition.
        row[key] = next(other for other in cell if other != value)
    elif isinstance(cell, dict):
        del cell[value]
        if len(cell) <= MAX_LIST_SIZE:
            row[key] = list(cell)
    else:
        row[key] = [other for other in cell if other != value]


def copy_row(row: Row) -> Row:
    """Copies a row together with the cells that can change."""
    copy = row.copy()
    # This test runs at C speed, and most rows contain no dictionaries.
    if dict in set(map(type, row.values())):
        copy.update((key, cell.copy()) for key, cell in row.items() if isinstance(cell, dict))
    return copy


def invert_row(row: Row) -> Row:
    """Inverts a row: object → its subjects, in the order of the row."""
    # If every cell is an int, one ``dict`` call may suffice. A list or dictionary cell is not
    # hashable and raises TypeError; the loop below then runs.
    with contextlib.suppress(TypeError):
        single: Row = dict(zip(row.values(), row, strict=True))  # type: ignore[arg-type]
        if len(single) == len(row):  # No object has two subjects.
            return single
    inverted: Row = {}
    get_subjects = inverted.get
    for s, cell in row.items():
        for o in (cell,) if isinstance(cell, int) else cell:
            # Does the same as ``add_to_row`` without its membership test, because no
            # (subject, object) occurs twice.
            subjects = get_subjects(o)
            if subjects is None:
                inverted[o] = s
            elif isinstance(subjects, dict):
                subjects[s] = None
            elif isinstance(subjects, int):
                inverted[o] = [subjects, s]
            elif len(subjects) < MAX_LIST_SIZE:
                subjects.append(s)
            else:
                members = inverted[o] = dict.fromkeys(subjects)
                members[s] = None
    return inverted


def find_missing_links(row: Row, links: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns those (key, value) links that a row does not contain."""
    get_cell = row.get
    return [
        link
        for link in links
        if (
            cell != link[1]
            if (cell := get_cell(link[0])).__class__ is int
            else cell is None or link[1] not in cell  # type: ignore[operator]  # not int here
        )
    ]


def add_two_step_links(
    forward: Row, reverse: Row, links: Iterable[tuple[int, int]], max_added: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Adds start → end for every path of two links that uses a given link.

    New links are added at once, so that they extend later paths (for transitive properties).

    Args:
        forward: the row, which contains the given links.
        reverse: the inverted row.
        links: the given links.
        max_added: stop after more than this many additions.

    Returns:
        (start, end) of the new links, in order, and the middle node of each.
    """
    get_ends, get_starts = forward.get, reverse.get
    new_links: list[tuple[int, int]] = []
    middles: list[int] = []
    for s, o in links:
        # Cells are copied before the loop, which may add to them. Most links are present already,
        # so the membership test is inlined to save a function call.
        ends = get_ends(o)
        if ends is not None:
            for z in (ends,) if isinstance(ends, int) else list(ends):
                cell = forward[s]
                if cell == z if cell.__class__ is int else z in cell:  # type: ignore[operator]  # not int here
                    continue
                add_to_row(forward, s, z)
                add_to_row(reverse, z, s)
                new_links.append((s, z))
                middles.append(o)
        starts = get_starts(s)
        if starts is not None:
            for x in (starts,) if isinstance(starts, int) else list(starts):
                cell = forward[x]
                if cell == o if cell.__class__ is int else o in cell:  # type: ignore[operator]  # not int here
                    continue
                add_to_row(forward, x, o)
                add_to_row(reverse, o, x)
                new_links.append((x, o))
                middles.append(s)
        if len(new_links) > max_added:
            break
    return new_links, middles
