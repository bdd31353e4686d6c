"""Aligns the predicted fields with the expected ones, before they are judged and counted.

Objects are aligned by key. Arrays of objects are aligned by the assignment with the highest total
score (Hungarian method, Kuhn 1955, as implemented in scipy); all fields of unassigned elements are
missed or spurious. Null, a missing key, an empty object and an empty array are equivalent and have
no fields. The number of expected fields therefore depends only on the expected output.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from eval.extraction.matchers.match_result import EQUAL, MatchResult
from eval.extraction.matchers.normalisation import json_type
from eval.extraction.matchers.schema_nodes import MAX_LEVELS, SchemaNode
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.settings import Matching

MAX_COMPARED_FIELDS: Final = 200_000
"""Maximum number of field comparisons per sample in search of the best assignments. After that,
arrays are aligned by equal elements and then by position."""

_encode = json.JSONEncoder(sort_keys=True).encode

# The kinds of a value. Arrays with nested values are aligned element by element; arrays of scalars
# are compared as one field.
_EMPTY, _SCALAR, _SCALAR_ARRAY, _NESTED_ARRAY, _OBJECT = range(5)

_SCALARS: Final = frozenset({str, int, float, bool})

_TIE_WEIGHT: Final = 1e-7
"""Weight of the tie-breaking terms: far below any real difference between total scores."""


class Mismatch(NamedTuple):
    """Different structures at the same path: an object against an array or a scalar."""

    expected: str
    """JSON type of the expected structure."""
    predicted: str
    """JSON type of the predicted structure."""


class Entry(NamedTuple):
    """One field of the aligned pair."""

    node: SchemaNode
    expected: Any
    """``None`` if it is spurious."""
    predicted: Any
    """``None`` if it is missed."""
    match: MatchResult | None
    """``None`` unless both sides have it."""
    mismatch: Mismatch | None = None
    """Set if it has no counterpart because the structures differ."""
    surplus: bool = False
    """Whether it belongs to a surplus array element."""


_Cell = tuple[list[Entry], bool]
"""The fields of a pair of elements, and whether the arrays inside them are in order."""


class Alignment(NamedTuple):
    """All fields of an expected and a predicted value, aligned."""

    entries: list[Entry]
    in_order: bool
    """Whether the elements of all ordered arrays are in the expected order."""
    bounded: bool
    """Whether an assignment may be suboptimal because arrays were too large."""


def align_values(root: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> Alignment:
    """Aligns two values.

    Args:
        root: schema node of both.
        expected: any parsed JSON value.
        predicted: any parsed JSON value; ``None`` if there is none.
        matching: when two values count as the same.

    Returns:
        The fields in schema order; fields that are not in the schema come last.
    """
    aligner = _Aligner(matching)
    entries: list[Entry] = []
    aligner.align_pair(root, expected, predicted, entries)
    return Alignment(entries, aligner.in_order, aligner.bounded)


class _Aligner:
    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.in_order = True
        self.bounded = False
        self.comparisons_left = MAX_COMPARED_FIELDS

    def align_pair(self, node: SchemaNode, expected: Any, predicted: Any, out: list[Entry]) -> None:
        """Adds the fields of two values of the same schema node to ``out``."""
        if node.ignored:
            return
        first, second = _value_kind(expected, node), _value_kind(predicted, node)
        if first == _EMPTY or second == _EMPTY:
            self._align_one_sided(node, expected, predicted, (first, second), out)
        elif first in (_SCALAR, _SCALAR_ARRAY) and second in (_SCALAR, _SCALAR_ARRAY):
            compared = compare_values(node, expected, predicted, self.matching)
            out.append(Entry(node, expected, predicted, compared))
        elif first == second == _OBJECT:
            self._align_objects(node, expected, predicted, out)
        elif first == second:
            self._align_object_arrays(node, expected, predicted, out)
        else:
            mismatch = Mismatch(json_type(expected), json_type(predicted))
            out += (
                Entry(leaf, value, None, None, mismatch)
                for leaf, value in iter_leaves(node, expected)
            )
            out += (
                Entry(leaf, None, value, None, mismatch)
                for leaf, value in iter_leaves(node, predicted)
            )

    def _align_one_sided(
        self,
        node: SchemaNode,
        expected: Any,
        predicted: Any,
        kinds: tuple[int, int],
        out: list[Entry],
    ) -> None:
        if kinds[0] == _EMPTY:
            # If a required array is expected to be empty, everything predicted in it is surplus.
            surplus = node.required and isinstance(expected, list)
            out += (
                Entry(leaf, None, value, None, None, surplus)
                for leaf, value in iter_leaves(node, predicted)
            )
        else:
            out += (Entry(leaf, value, None, None) for leaf, value in iter_leaves(node, expected))

    def _align_objects(
        self,
        node: SchemaNode,
        expected: dict[str, Any],
        predicted: dict[str, Any],
        out: list[Entry],
    ) -> None:
        for key, child in node.members:
            first, second = expected.get(key), predicted.get(key)
            first_type, second_type = type(first), type(second)
            # Fast path: most fields are scalars, which are compared without a recursive call.
            if first_type in _SCALARS and (second_type in _SCALARS or second is None):
                if child.ignored:
                    continue
                if second is None:
                    compared = None
                elif first_type is second_type and first == second:
                    compared = child.identical_text if first_type is str else EQUAL
                else:
                    compared = compare_values(child, first, second, self.matching)
                out.append(Entry(child, first, second, compared))
            elif first is not None or second is not None:
                self.align_pair(child, first, second, out)
        names = node.keys.keys()
        if not (expected.keys() <= names and predicted.keys() <= names):
            for key in sorted((expected.keys() | predicted.keys()) - names):
                self.align_pair(node.get_child(key), expected.get(key), predicted.get(key), out)

    def _align_object_arrays(
        self, node: SchemaNode, expected: list[Any], predicted: list[Any], out: list[Entry]
    ) -> None:
        element = node.get_element()
        first = [value for value in expected if _has_content(value)]
        second = [value for value in predicted if _has_content(value)]
        ordered = node.array_matcher == "list" or (
            not node.array_matcher and self.matching.ordered_arrays
        )
        if not ordered:
            # Sorted, so that the result is independent of the input order even if pairs are tied.
            first, second = _sort_by_content(first), _sort_by_content(second)
        pairs = self._assign_elements(element, first, second)
        last = -1
        for i, j, cell in pairs:
            if ordered and j < last:
                self.in_order = False
            last = j
            if cell is None:
                self.align_pair(element, first[i], second[j], out)
            else:
                out += cell[0]
                self.in_order = self.in_order and cell[1]
        for index in sorted(set(range(len(first))) - {i for i, _, _ in pairs}):
            out += (
                Entry(leaf, value, None, None) for leaf, value in iter_leaves(element, first[index])
            )
        for index in sorted(set(range(len(second))) - {j for _, j, _ in pairs}):
            out += (
                Entry(leaf, None, value, None, None, True)
                for leaf, value in iter_leaves(element, second[index])
            )

    def _assign_elements(
        self, element: SchemaNode, first: list[Any], second: list[Any]
    ) -> list[tuple[int, int, _Cell | None]]:
        """Assigns elements to each other.

        Returns:
            Pairs of indexes in the order of ``first``, with their fields if already compared.
        """
        if len(first) == 1 == len(second):
            return [(0, 0, None)]
        equal = _equal_elements(first, second)
        if len(equal) == min(len(first), len(second)):
            # All elements of one side have an equal on the other side: no assignment is better.
            return [(i, j, None) for i, j in equal]
        cells = self._compare_elements(element, first, second)
        if cells is None:
            self.bounded = True
            unpaired = [sorted(set(range(len(side))) - {pair[side_index] for pair in equal})
                    for side_index, side in enumerate((first, second))]  # fmt: skip
            return [(i, j, None) for i, j in sorted([*equal, *zip(*unpaired, strict=False)])]
        gains = [
            [
                self._score_pair(cell[0], i - j, len(first) + len(second))
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(cells)
        ]
        return [(i, j, cells[i][j]) for i, j in _best_assignment(gains)]

    def _compare_elements(
        self, element: SchemaNode, first: list[Any], second: list[Any]
    ) -> list[list[_Cell]] | None:
        """Compares each pair of elements; returns ``None`` if there are too many pairs."""
        if len(first) * len(second) > self.comparisons_left:
            return None
        before = self.in_order
        cells: list[list[_Cell]] = []
        for expected_element in first:
            row: list[_Cell] = []
            for other in second:
                fields: list[Entry] = []
                self.in_order = True
                self.align_pair(element, expected_element, other, fields)
                self.comparisons_left -= len(fields)
                row.append((fields, self.in_order))
            cells.append(row)
            # Estimate the total cost from this row, to stop early instead of at the limit.
            if (
                sum(len(cell[0]) for cell in row) * (len(first) - len(cells))
                > self.comparisons_left
            ):
                break
        self.in_order = before
        return cells if len(cells) == len(first) else None

    def _score_pair(self, entries: list[Entry], distance: int, size: int) -> float:
        """Returns what a pair of elements adds to the total score, with tie-breaking terms.

        The score of a field is averaged over both directions, so that the assignment does not
        change when expected and predicted are swapped. Ties are decided by the numbers of strictly
        equal, exact, partial and lenient fields, of wholly equal elements and of identical values,
        and last by the distance of positions. The weights of these counts are irrational-looking
        numbers on purpose: different counts then practically never have equal sums.
        """
        matching = self.matching
        total = ties = 0.0
        all_equal = True
        for node, expected, predicted, compared, _, _ in entries:
            if compared is None:
                all_equal = False
                continue
            equal, score, similarity = compared
            if equal:
                total += 1.0
                # Scalars only: comparing nested values with == could exceed the recursion limit.
                ties += 2.0 + 0.057281 * (type(expected) in _SCALARS and expected == predicted)
                continue
            all_equal = False
            # The score of two texts depends on the direction only if their containment is not 0.
            if similarity is None or similarity[2]:
                score = (score + compare_values(node, predicted, expected, matching)[1]) / 2
            total += score
            ties += (
                0.618034 * (score >= matching.exact)
                + 0.414214 * (score >= matching.partial)
                + 0.236068 * (score >= matching.lenient)
                + 0.090170
            )
        return (
            total + _TIE_WEIGHT * (ties + all_equal) - 1e-4 * _TIE_WEIGHT * (distance / size) ** 2
        )


def iter_leaves(node: SchemaNode, value: Any) -> Iterator[tuple[SchemaNode, Any]]:
    """Yields the fields of a value that has no counterpart."""
    if node.ignored:
        return
    kind = _value_kind(value, node)
    if kind == _OBJECT:
        for key, child in node.members:
            if value.get(key) is not None:
                yield from iter_leaves(child, value[key])
        for key in sorted(value.keys() - node.keys.keys()):
            yield from iter_leaves(node.get_child(key), value[key])
    elif kind == _NESTED_ARRAY:
        for element in value:
            yield from iter_leaves(node.get_element(), element)
    elif kind != _EMPTY:
        yield node, value


def _value_kind(value: Any, node: SchemaNode) -> int:
    if value is None:
        return _EMPTY
    if isinstance(value, dict):
        return _EMPTY if not value else _SCALAR if node.level >= MAX_LEVELS else _OBJECT
    if isinstance(value, list):
        if not _has_content(value):
            return _EMPTY
        if node.level >= MAX_LEVELS:
            return _SCALAR
        nested = any(isinstance(element, dict | list) for element in value)
        return _NESTED_ARRAY if nested else _SCALAR_ARRAY
    return _SCALAR


def _has_content(value: Any) -> bool:
    """Returns False for null, an empty object, an empty array and an array of nulls, else True."""
    if isinstance(value, list):
        return any(element is not None for element in value)
    return value is not None and value != {}


def _equal_elements(first: list[Any], second: list[Any]) -> list[tuple[int, int]]:
    """Pairs equal elements: the first occurrence on one side with the first on the other."""
    texts = _encode_values(first), _encode_values(second)
    if texts[0] is None or texts[1] is None:
        return []
    positions: dict[str, deque[int]] = defaultdict(deque)
    for j, text in enumerate(texts[1]):
        positions[text].append(j)
    return [
        (i, positions[text].popleft()) for i, text in enumerate(texts[0]) if positions.get(text)
    ]


def _encode_values(values: list[Any]) -> list[str] | None:
    """Encodes values as canonical JSON; returns ``None`` if they are nested too deeply."""
    try:
        return [_encode(value) for value in values]
    except RecursionError:
        return None


def _sort_by_content(values: list[Any]) -> list[Any]:
    """Sorts values by their JSON text; returns them unsorted if they are nested too deeply."""
    texts = _encode_values(values)
    if texts is None:
        return values
    return [values[index] for index in sorted(range(len(values)), key=texts.__getitem__)]


def _best_assignment(gains: list[list[float]]) -> list[tuple[int, int]]:
    """Finds the assignment with the highest total: pairs of row and column, by row."""
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
