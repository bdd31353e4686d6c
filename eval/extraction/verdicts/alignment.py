"""Which predicted field answers which expected one: aligned first, counted after.

Objects are aligned by key. Arrays of objects are aligned by the assignment whose pairs score most
in total (Kuhn's Hungarian method, 1955, as scipy has it); what is over on either side is missed or
spurious with all its fields. Null, a missing key, an empty object and an empty array all state
nothing: so how many fields are expected depends on what is expected alone, whatever came.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from eval.extraction.matchers.compared import EQUAL, Compared
from eval.extraction.matchers.comparing import compare
from eval.extraction.matchers.fields import MAX_LEVELS, Place
from eval.extraction.matchers.normalising import json_type
from eval.extraction.settings import Matching

MAX_COMPARISONS: Final = 200_000
"""Fields of a sample that are compared in search of the best assignments. After that, arrays are
aligned by equal elements and then by position."""

_encode = json.JSONEncoder(sort_keys=True).encode

_EMPTY, _SCALAR, _LIST, _ROWS, _OBJECT = range(5)

_SCALARS: Final = frozenset({str, int, float, bool})

_TIES: Final = 1e-7
"""Assignments whose totals differ by less are tied, up to the number of fields."""


class Mismatch(NamedTuple):
    """Structures that differ where one place has an object, the other an array or a scalar."""

    expected: str
    """JSON type of the structure; so the next."""
    predicted: str


class Entry(NamedTuple):
    """One field of the aligned pair."""

    place: Place
    expected: Any
    """Null if it is spurious."""
    predicted: Any
    """Null if it is missed."""
    compared: Compared | None
    """Null unless both sides have it."""
    mismatch: Mismatch | None = None
    """Why it has no counterpart, if it is that."""
    surplus: bool = False
    """Whether it stands in an array element beyond those expected."""


_Cell = tuple[list[Entry], bool]
"""The fields of a pair of elements, and whether their own arrays are in order."""


class Alignment(NamedTuple):
    """All fields of an expected and a predicted value."""

    entries: list[Entry]
    in_order: bool
    """Whether the elements of all arrays that are ordered came in the order expected."""
    bounded: bool
    """Whether some assignment may not be the best, because arrays were too large."""


def align(root: Place, expected: Any, predicted: Any, matching: Matching) -> Alignment:
    """Aligns two values.

    Args:
        root: the place of both.
        expected: any value as a JSON parser gives it; so ``predicted``.
        predicted: null if there is none.
        matching: what counts as the same.

    Returns:
        The fields in the order of the schema; those it does not know after those it does.
    """
    aligner = _Aligner(matching)
    entries: list[Entry] = []
    aligner.pair(root, expected, predicted, entries)
    return Alignment(entries, aligner.in_order, aligner.bounded)


class _Aligner:
    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.in_order = True
        self.bounded = False
        self.left = MAX_COMPARISONS

    def pair(self, place: Place, expected: Any, predicted: Any, out: list[Entry]) -> None:
        """Adds the fields of two values that stand at the same place."""
        if place.ignored:
            return
        first, second = _kind(expected, place), _kind(predicted, place)
        if first == _EMPTY or second == _EMPTY:
            self._with_an_empty_one(place, expected, predicted, (first, second), out)
        elif first in (_SCALAR, _LIST) and second in (_SCALAR, _LIST):
            compared = compare(place, expected, predicted, self.matching)
            out.append(Entry(place, expected, predicted, compared))
        elif first == second == _OBJECT:
            self._objects(place, expected, predicted, out)
        elif first == second:
            self._rows(place, expected, predicted, out)
        else:
            mismatch = Mismatch(json_type(expected), json_type(predicted))
            out += (Entry(at, value, None, None, mismatch) for at, value in leaves(place, expected))
            out += (
                Entry(at, None, value, None, mismatch) for at, value in leaves(place, predicted)
            )

    def _with_an_empty_one(
        self,
        place: Place,
        expected: Any,
        predicted: Any,
        kinds: tuple[int, int],
        out: list[Entry],
    ) -> None:
        if kinds[0] == _EMPTY:
            surplus = place.required and isinstance(expected, list)
            out += (
                Entry(at, None, value, None, None, surplus)
                for at, value in leaves(place, predicted)
            )
        else:
            out += (Entry(at, value, None, None) for at, value in leaves(place, expected))

    def _objects(
        self, place: Place, expected: dict[str, Any], predicted: dict[str, Any], out: list[Entry]
    ) -> None:
        for key, child in place.members:
            first, second = expected.get(key), predicted.get(key)
            kind, other = type(first), type(second)
            # Scalars, which most fields are, are seen to without another call.
            if kind in _SCALARS and (other in _SCALARS or second is None):
                if child.ignored:
                    continue
                if second is None:
                    compared = None
                elif kind is other and first == second:
                    compared = child.same_text if kind is str else EQUAL
                else:
                    compared = compare(child, first, second, self.matching)
                out.append(Entry(child, first, second, compared))
            elif first is not None or second is not None:
                self.pair(child, first, second, out)
        names = place.keys.keys()
        if not (expected.keys() <= names and predicted.keys() <= names):
            for key in sorted((expected.keys() | predicted.keys()) - names):
                self.pair(place.child(key), expected.get(key), predicted.get(key), out)

    def _rows(
        self, place: Place, expected: list[Any], predicted: list[Any], out: list[Entry]
    ) -> None:
        element = place.element()
        first = [value for value in expected if _states(value)]
        second = [value for value in predicted if _states(value)]
        ordered = place.array == "list" or (not place.array and self.matching.ordered_arrays)
        if not ordered:
            # So that their order does not even decide what is tied in every respect but types.
            first, second = _sorted(first), _sorted(second)
        pairs = self._assigned(element, first, second)
        last = -1
        for i, j, cell in pairs:
            if ordered and j < last:
                self.in_order = False
            last = j
            if cell is None:
                self.pair(element, first[i], second[j], out)
            else:
                out += cell[0]
                self.in_order = self.in_order and cell[1]
        for at in sorted(set(range(len(first))) - {i for i, _, _ in pairs}):
            out += (Entry(to, value, None, None) for to, value in leaves(element, first[at]))
        for at in sorted(set(range(len(second))) - {j for _, j, _ in pairs}):
            out += (
                Entry(to, None, value, None, None, True)
                for to, value in leaves(element, second[at])
            )

    def _assigned(
        self, element: Place, first: list[Any], second: list[Any]
    ) -> list[tuple[int, int, _Cell | None]]:
        """Pairs of indexes in the order of ``first``, with their fields where they are known."""
        if len(first) == 1 == len(second):
            return [(0, 0, None)]
        equal = _equal_elements(first, second)
        if len(equal) == min(len(first), len(second)):
            # No total can be higher than that of all elements of one side found on the other.
            return [(i, j, None) for i, j in equal]
        cells = self._compared_cells(element, first, second)
        if cells is None:
            self.bounded = True
            rest = [sorted(set(range(len(side))) - {pair[at] for pair in equal})
                    for at, side in enumerate((first, second))]  # fmt: skip
            return [(i, j, None) for i, j in sorted([*equal, *zip(*rest, strict=False)])]
        gains = [
            [self._gain(cell[0], i - j, len(first) + len(second)) for j, cell in enumerate(row)]
            for i, row in enumerate(cells)
        ]
        return [(i, j, cells[i][j]) for i, j in _best(gains)]

    def _compared_cells(
        self, element: Place, first: list[Any], second: list[Any]
    ) -> list[list[_Cell]] | None:
        """Each pair of elements compared; null if they are too many."""
        if len(first) * len(second) > self.left:
            return None
        before = self.in_order
        cells: list[list[_Cell]] = []
        for one in first:
            row: list[_Cell] = []
            for other in second:
                fields: list[Entry] = []
                self.in_order = True
                self.pair(element, one, other, fields)
                self.left -= len(fields)
                row.append((fields, self.in_order))
            cells.append(row)
            # Told after the first row already, since the others cost about as much.
            if sum(len(cell[0]) for cell in row) * (len(first) - len(cells)) > self.left:
                break
        self.in_order = before
        return cells if len(cells) == len(first) else None

    def _gain(self, entries: list[Entry], apart: int, size: int) -> float:
        """What a pair of elements adds to the total, ties being decided by ever smaller parts.

        The score of a field is that of both directions on average, so that the assignment is the
        same when expected and predicted change roles. Ties go to the more strictly equal, exact,
        partial and lenient fields, to wholly equal elements, to fields equal to the letter, then to
        the nearer positions; what all but the last are worth is in no simple proportion, so that
        equal sums mean equal counts.
        """
        matching = self.matching
        total = ties = 0.0
        whole = True
        for place, expected, predicted, compared, _, _ in entries:
            if compared is None:
                whole = False
                continue
            equal, score, alike = compared
            if equal:
                total += 1.0
                # Of scalars only: comparing what is nested takes the interpreter's stack.
                ties += 2.0 + 0.057281 * (type(expected) in _SCALARS and expected == predicted)
                continue
            whole = False
            if alike is None or alike[2]:
                score = (score + compare(place, predicted, expected, matching)[1]) / 2
            total += score
            ties += (
                0.618034 * (score >= matching.exact)
                + 0.414214 * (score >= matching.partial)
                + 0.236068 * (score >= matching.lenient)
                + 0.090170
            )
        return total + _TIES * (ties + whole) - 1e-4 * _TIES * (apart / size) ** 2


def leaves(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The fields of a value that has no counterpart."""
    if place.ignored:
        return
    kind = _kind(value, place)
    if kind == _OBJECT:
        for key, child in place.members:
            if value.get(key) is not None:
                yield from leaves(child, value[key])
        for key in sorted(value.keys() - place.keys.keys()):
            yield from leaves(place.child(key), value[key])
    elif kind == _ROWS:
        for one in value:
            yield from leaves(place.element(), one)
    elif kind != _EMPTY:
        yield place, value


def _kind(value: Any, place: Place) -> int:
    if value is None:
        return _EMPTY
    if isinstance(value, dict):
        return _EMPTY if not value else _SCALAR if place.level >= MAX_LEVELS else _OBJECT
    if isinstance(value, list):
        if not _states(value):
            return _EMPTY
        if place.level >= MAX_LEVELS:
            return _SCALAR
        return _ROWS if any(isinstance(one, dict | list) for one in value) else _LIST
    return _SCALAR


def _states(value: Any) -> bool:
    """Whether a value is more than null, an empty object, or an array of nulls."""
    if isinstance(value, list):
        return any(one is not None for one in value)
    return value is not None and value != {}


def _equal_elements(first: list[Any], second: list[Any]) -> list[tuple[int, int]]:
    """Pairs of elements that are the same, the first of one with the first of the other."""
    texts = _texts(first), _texts(second)
    if texts[0] is None or texts[1] is None:
        return []
    places: dict[str, deque[int]] = defaultdict(deque)
    for j, text in enumerate(texts[1]):
        places[text].append(j)
    return [(i, places[text].popleft()) for i, text in enumerate(texts[0]) if places.get(text)]


def _texts(values: list[Any]) -> list[str] | None:
    """Values as texts that are equal if they are; null if they are nested too deep for that."""
    try:
        return [_encode(value) for value in values]
    except RecursionError:
        return None


def _sorted(values: list[Any]) -> list[Any]:
    """Values in an order that does not depend on theirs, unless they are nested too deep."""
    texts = _texts(values)
    if texts is None:
        return values
    return [values[at] for at in sorted(range(len(values)), key=texts.__getitem__)]


def _best(gains: list[list[float]]) -> list[tuple[int, int]]:
    """The assignment with the greatest total: pairs of row and column, by row."""
    rows, columns = len(gains), len(gains[0])
    if rows == 1:
        return [(0, max(range(columns), key=gains[0].__getitem__))]
    if columns == 1:
        return [(max(range(rows), key=lambda i: gains[i][0]), 0)]
    if rows == columns == 2:
        straight = gains[0][0] + gains[1][1] >= gains[0][1] + gains[1][0]
        return [(0, 0), (1, 1)] if straight else [(0, 1), (1, 0)]
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    chosen = linear_sum_assignment(np.array(gains), maximize=True)
    return list(zip(*(indexes.tolist() for indexes in chosen), strict=True))
