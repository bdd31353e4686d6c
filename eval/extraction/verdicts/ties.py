"""Chooses among assignments of array elements with equally many right fields.

Where the prices of two articles are swapped, it is the same number of right fields whether articles
are paired by their names or by their prices, and similar names score more than wrong prices. A
reader pairs them by name: by the texts that are equal, else by the first field of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from eval.extraction.matchers.lists import find_best_assignment
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.settings import Matching
from eval.extraction.verdicts.entries import Entry

Pair = tuple[int, int]
Counts = tuple[int, float]
"""Number of right fields, and how many of them say which element it is."""

_FIRST_FIELD: Final = 0.5
"""What the first field counts if it is no text."""
MAX_OPEN_PAIRS: Final = 200
"""Maximum number of unequal pairs that are looked at."""


def pair_rows_by_keys(
    pairs: list[Pair],
    nodes: Sequence[SchemaNode],
    rows: tuple[list[list[Any]], list[list[Any]]],
    matching: Matching,
) -> list[Pair]:
    """Returns an assignment of flat objects with as many right fields, by their keys."""
    is_open = [rows[0][i] != rows[1][j] for i, j in pairs]
    open_pairs = [pair for pair, flag in zip(pairs, is_open, strict=True) if flag]
    if not 1 < len(open_pairs) <= MAX_OPEN_PAIRS:
        return pairs
    sides = [[rows[side][pair[side]] for pair in open_pairs] for side in (0, 1)]
    if not any(_is_shared(*columns, first=not n) for n, columns in enumerate(_list_columns(sides))):
        return pairs

    def count(i: int, j: int) -> Counts:
        n_right, n_keys = 0, 0.0
        for place, (node, left, right) in enumerate(
            zip(nodes, rows[0][i], rows[1][j], strict=True)
        ):
            if left is None or right is None:
                continue
            is_same = left == right and type(left) is type(right)
            if is_same or compare_values(node, left, right, matching)[0]:
                n_right += 1
                n_keys += 1 if isinstance(left, str) else 0 if place else _FIRST_FIELD
        return n_right, n_keys

    return _exchange(pairs, open_pairs, count)


def pair_entries_by_keys(
    pairs: list[Pair], list_entries: Callable[[int, int], Iterable[Entry]]
) -> list[Pair]:
    """Returns an assignment of objects with as many right fields, by their texts."""

    def count(i: int, j: int) -> Counts:
        right = [entry for entry in list_entries(i, j) if entry.match and entry.match[0]]
        return len(right), float(sum(isinstance(entry.expected, str) for entry in right))

    open_pairs = [
        pair
        for pair in pairs
        if not all(entry.match and entry.match[0] for entry in list_entries(*pair))
    ]
    has_other_text = any(
        isinstance(entry.expected, str) and not (entry.match and entry.match[0])
        for pair in open_pairs
        for entry in list_entries(*pair)
    )
    if not has_other_text or not 1 < len(open_pairs) <= MAX_OPEN_PAIRS:
        return pairs
    return _exchange(pairs, open_pairs, count)


def _list_columns(sides: list[list[list[Any]]]) -> Iterable[tuple[tuple[Any, ...], ...]]:
    return zip(zip(*sides[0], strict=True), zip(*sides[1], strict=True), strict=True)


def _is_shared(expected: Sequence[Any], predicted: Sequence[Any], *, first: bool) -> bool:
    """Returns whether an element has a key that the predicted one of another pair has."""
    open_keys: list[set[Any]] = [set(), set()]
    for left, right in zip(expected, predicted, strict=True):
        if left != right:
            for side, value in enumerate((left, right)):
                if isinstance(value, str) or (first and isinstance(value, int | float)):
                    open_keys[side].add(value)
    return not open_keys[0].isdisjoint(open_keys[1])


def _exchange(
    pairs: list[Pair], open_pairs: list[Pair], count: Callable[[int, int], Counts]
) -> list[Pair]:
    """Returns the pairs, some exchanged so that as many fields are right, and more of the keys."""
    counts = [[count(i, j) for _, j in open_pairs] for i, _ in open_pairs]
    size = len(open_pairs)
    gains = [
        [
            n_right + 1e-4 * n_keys + 1e-8 * (at == place)
            for place, (n_right, n_keys) in enumerate(row)
        ]
        for at, row in enumerate(counts)
    ]
    other = dict(find_best_assignment(gains))
    chosen = {pair: pair[1] for pair in pairs}
    seen: set[int] = set()
    for start in range(size):
        circle: list[int] = []
        at = start
        while at not in seen:
            seen.add(at)
            circle.append(at)
            at = other[at]
        before = [counts[at][at] for at in circle]
        after = [counts[at][other[at]] for at in circle]
        if sum(one[0] for one in before) == sum(one[0] for one in after) and sum(
            one[1] for one in before
        ) < sum(one[1] for one in after):
            for at in circle:
                chosen[open_pairs[at]] = open_pairs[other[at]][1]
    return [(pair[0], chosen[pair]) for pair in pairs]
