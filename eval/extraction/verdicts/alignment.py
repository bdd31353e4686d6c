"""Aligns the predicted fields with the expected ones, before they are judged and counted.

Objects are aligned by key. Arrays of objects are aligned by the assignment with the highest total
score (Hungarian method, Kuhn 1955, as implemented in scipy); all fields of unassigned elements are
missed or spurious. Null, a missing key, an empty object and an empty array are equivalent and have
no fields; so is an empty text under the rule ``empty_text``. The number of expected fields
therefore depends only on the expected output.
"""

from __future__ import annotations

import operator
from typing import Any, Final, NamedTuple

from eval.extraction.matchers.lists import find_best_assignment
from eval.extraction.matchers.match_result import EQUAL, NEAR
from eval.extraction.matchers.normalisation import get_json_type
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alternatives import Alternatives, choose_elements
from eval.extraction.verdicts.entries import Entry, Mismatch, PairScorer
from eval.extraction.verdicts.large_arrays import (
    pair_equal_elements,
    pair_large_arrays,
    sort_by_content,
)
from eval.extraction.verdicts.stated_currencies import refuse_currencies
from eval.extraction.verdicts.ties import pair_entries_by_keys, pair_rows_by_keys
from eval.extraction.verdicts.value_kinds import (
    EMPTY,
    OBJECT,
    SCALAR,
    SCALAR_ARRAY,
    SCALAR_TYPES,
    ValueKinds,
    has_content,
)

MAX_COMPARED_FIELDS: Final = 200_000
"""Maximum number of field comparisons per sample in search of the best assignments. After that,
arrays are aligned by the values that their elements share."""


class _Cell(NamedTuple):
    """A pair of elements, compared."""

    entries: list[Entry]
    left_out: list[tuple[SchemaNode, int]]
    in_order: bool
    literal: bool


class Alignment(NamedTuple):
    """All fields of an expected and a predicted value, aligned."""

    entries: list[Entry]
    left_out: list[tuple[SchemaNode, int]]
    """Declared fields that neither side has, in objects that are aligned, each with the identity of
    the predicted object that it could be in (``Entry.owner``)."""
    in_order: bool
    """Whether the elements of all ordered arrays are in the expected order."""
    literal: bool
    """Whether that holds for all arrays of which the schema does not say that order is free, and no
    empty text was read as null."""
    bounded: bool
    """Whether an assignment may be suboptimal because arrays were too large."""


def align_values(root: SchemaNode, expected: Any, predicted: Any, matching: Matching) -> Alignment:
    """Aligns two values.

    Args:
        root: schema node of both.
        expected: any parsed JSON value; its alternatives are read (``read_alternatives``).
        predicted: any parsed JSON value; ``None`` if there is none.
        matching: when two values count as the same.

    Returns:
        The fields in schema order; fields that are not in the schema come last.
    """
    aligner = _Aligner(matching)
    entries: list[Entry] = []
    aligner.align_pair(root, expected, predicted, entries)
    judged = refuse_currencies(entries, predicted, matching)
    return Alignment(judged, aligner.left_out, aligner.in_order, aligner.literal, aligner.bounded)


class _Aligner:
    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.in_order = True
        self.literal = True
        self.bounded = False
        self.comparisons_left = MAX_COMPARED_FIELDS
        self.left_out: list[tuple[SchemaNode, int]] = []
        self.kinds = ValueKinds(matching)
        # The specification's reading has the greatest total score.
        self.by_keys = NEAR not in matching.rules

    def align_pair(
        self,
        node: SchemaNode,
        expected: Any,
        predicted: Any,
        entries: list[Entry],
        owner: int = 0,
    ) -> None:
        """Adds the fields of two values of the same schema node to ``entries``.

        Args:
            node: schema node of both.
            expected: the expected value.
            predicted: the predicted one.
            entries: where the fields are added.
            owner: identity of the predicted object that ``predicted`` is a part of.
        """
        if node.ignored:
            return
        if isinstance(expected, Alternatives):
            expected = self._choose_alternative(node, expected, predicted, owner)
        find_kind = self.kinds.find_kind
        expected_kind, predicted_kind = find_kind(expected, node), find_kind(predicted, node)
        if expected_kind == EMPTY or predicted_kind == EMPTY:
            self._align_one_side(
                node, expected, predicted, (expected_kind, predicted_kind), entries, owner
            )
        elif expected_kind in (SCALAR, SCALAR_ARRAY) and predicted_kind in (
            SCALAR,
            SCALAR_ARRAY,
        ):
            if isinstance(expected, list) and any(isinstance(x, Alternatives) for x in expected):
                expected = self._choose_elements(node, expected, predicted)
            match = compare_values(node, expected, predicted, self.matching)
            entries.append(Entry(node, expected, predicted, match, owner=owner))
        elif expected_kind == predicted_kind == OBJECT:
            self._align_objects(node, expected, predicted, entries)
        elif expected_kind == predicted_kind:
            self._align_object_arrays(node, expected, predicted, entries, owner)
        else:
            expected_type = get_json_type(expected)
            mismatch = Mismatch(expected_type, get_json_type(predicted))
            entries += (
                Entry(leaf, value, None, None, mismatch)
                for leaf, value, _ in self.kinds.iter_leaves(node, expected)
            )
            entries += (
                Entry(leaf, None, value, None, mismatch, owner=leaf_owner)
                for leaf, value, leaf_owner in self.kinds.iter_leaves(node, predicted, owner)
            )

    def _choose_alternative(
        self, node: SchemaNode, alternatives: Alternatives, predicted: Any, owner: int
    ) -> Any:
        """Returns the right value that is nearest to the predicted one; the first, if none is."""
        if self.kinds.find_kind(predicted, node) == EMPTY:
            return alternatives[0]
        state = self.in_order, self.literal, self.left_out
        ratings: list[tuple[int, float, int]] = []
        for value in alternatives:
            if self.comparisons_left <= 0:
                self.bounded = True
                break
            self.left_out = []
            fields: list[Entry] = []
            self.align_pair(node, value, predicted, fields, owner)
            self.comparisons_left -= max(len(fields), 1)
            matches = [field.match for field in fields if field.match is not None]
            n_right, score = sum(match[0] for match in matches), sum(match[1] for match in matches)
            ratings.append((n_right, score, len(matches) - len(fields)))
        self.in_order, self.literal, self.left_out = state
        best = max(range(len(ratings)), key=ratings.__getitem__, default=0)
        return alternatives[best]

    def _choose_elements(self, node: SchemaNode, expected: list[Any], predicted: Any) -> list[Any]:
        """Returns an array of scalars with each of its alternatives decided."""
        given = predicted if isinstance(predicted, list) else []
        n_values = sum(len(x) if isinstance(x, Alternatives) else 1 for x in expected)
        n_comparisons = n_values * len(given)
        if n_comparisons > self.comparisons_left:
            self.bounded, given = True, []
        else:
            self.comparisons_left -= n_comparisons
        return choose_elements(node.get_element(), expected, given, self.matching)

    def _align_one_side(
        self,
        node: SchemaNode,
        expected: Any,
        predicted: Any,
        kinds: tuple[int, int],
        entries: list[Entry],
        owner: int,
    ) -> None:
        if kinds == (EMPTY, EMPTY):
            self.literal &= isinstance(expected, str) == isinstance(predicted, str)
            if node.declared:
                place = id(predicted) if isinstance(predicted, dict) else owner
                self.left_out += ((leaf, place) for leaf in node.leaves)
        elif OBJECT in kinds:
            # An object that is missing lacks each of its fields.
            self._align_objects(
                node,
                expected if kinds[0] == OBJECT else {},
                predicted if isinstance(predicted, dict) else {},
                entries,
            )
        elif kinds[0] == EMPTY:
            # If a required array is expected to be empty, everything predicted in it is surplus.
            surplus = node.required and isinstance(expected, list)
            entries += (
                Entry(leaf, None, value, None, None, surplus, leaf_owner)
                for leaf, value, leaf_owner in self.kinds.iter_leaves(node, predicted, owner)
            )
        else:
            entries += (
                Entry(leaf, value, None, None, owner=owner)
                for leaf, value, _ in self.kinds.iter_leaves(node, expected)
            )

    def _align_objects(
        self,
        node: SchemaNode,
        expected: dict[str, Any],
        predicted: dict[str, Any],
        entries: list[Entry],
    ) -> None:
        may_be_empty = self.kinds.may_be_empty
        owner = id(predicted)
        for key, child in node.members:
            expected_value, predicted_value = expected.get(key), predicted.get(key)
            expected_type, predicted_type = type(expected_value), type(predicted_value)
            # Fast path: most fields are scalars, which are compared without a recursive call.
            if (
                expected_type in SCALAR_TYPES
                and (predicted_type in SCALAR_TYPES or predicted_value is None)
                and not (isinstance(expected_value, str) and may_be_empty(expected_value))
                and not (isinstance(predicted_value, str) and may_be_empty(predicted_value))
            ):
                if child.ignored:
                    continue
                if predicted_value is None:
                    match = None
                elif expected_type is predicted_type and expected_value == predicted_value:
                    match = child.identical_text if expected_type is str else EQUAL
                else:
                    match = compare_values(child, expected_value, predicted_value, self.matching)
                entries.append(
                    Entry(child, expected_value, predicted_value, match, None, False, owner)
                )
            elif expected_value is not None or predicted_value is not None:
                self.align_pair(child, expected_value, predicted_value, entries, owner)
            else:
                self.left_out += [(leaf, owner) for leaf in child.leaves]
        declared_keys = node.keys.keys()
        if not (expected.keys() <= declared_keys and predicted.keys() <= declared_keys):
            for key in sorted((expected.keys() | predicted.keys()) - declared_keys):
                child, expected_value = node.get_child(key), expected.get(key)
                predicted_value = predicted.get(key)
                self.align_pair(child, expected_value, predicted_value, entries, owner)
                # A key that the schema does not declare is only expected to be empty if gold is.
                if key in expected and _is_empty(expected_value) and _is_empty(predicted_value):
                    self.left_out += [(child, owner)] * (not child.ignored)

    def _align_object_arrays(
        self,
        node: SchemaNode,
        expected: list[Any],
        predicted: list[Any],
        entries: list[Entry],
        owner: int,
    ) -> None:
        element = node.get_element()
        iter_leaves = self.kinds.iter_leaves
        expected_elements = [value for value in expected if has_content(value)]
        predicted_elements = [value for value in predicted if has_content(value)]
        orders: list[list[int]] = [
            list(range(len(values))) for values in (expected_elements, predicted_elements)
        ]
        is_ordered = node.get_array_matcher(self.matching) == "list"
        if not is_ordered:
            # Sorted, so that the result is independent of the input order even if pairs are tied.
            orders = [sort_by_content(values) for values in (expected_elements, predicted_elements)]
            expected_elements = [expected_elements[index] for index in orders[0]]
            predicted_elements = [predicted_elements[index] for index in orders[1]]
        pairs = self._assign_elements(element, expected_elements, predicted_elements, owner)
        positions = [orders[1][j] for _, j, _ in sorted(pairs, key=lambda pair: orders[0][pair[0]])]
        is_in_order = all(map(operator.lt, positions, positions[1:]))
        self.in_order &= is_in_order or not is_ordered
        self.literal &= is_in_order or node.array_matcher in ("set", "bag")
        for i, j, cell in pairs:
            if cell is None:
                self.align_pair(
                    element, expected_elements[i], predicted_elements[j], entries, owner
                )
            else:
                entries += cell.entries
                self.left_out += cell.left_out
                self.in_order &= cell.in_order
                self.literal &= cell.literal
        for index in sorted(set(range(len(expected_elements))) - {i for i, _, _ in pairs}):
            entries += (
                Entry(leaf, value, None, None)
                for leaf, value, _ in iter_leaves(element, expected_elements[index])
            )
        for index in sorted(set(range(len(predicted_elements))) - {j for _, j, _ in pairs}):
            entries += (
                Entry(leaf, None, value, None, None, True, leaf_owner)
                for leaf, value, leaf_owner in iter_leaves(
                    element, predicted_elements[index], owner
                )
            )

    def _assign_elements(
        self, element: SchemaNode, expected: list[Any], predicted: list[Any], owner: int
    ) -> list[tuple[int, int, _Cell | None]]:
        """Assigns elements to each other.

        Returns:
            Pairs of indexes (expected, predicted) in the order of the expected elements, with
            their fields if these have already been compared.
        """
        if len(expected) == 1 == len(predicted):
            return [(0, 0, None)]
        equal_pairs = pair_equal_elements(expected, predicted)
        if len(equal_pairs) == min(len(expected), len(predicted)):
            # All elements of one side have an equal on the other side: no assignment is better.
            return [(i, j, None) for i, j in equal_pairs]
        pairs = self._assign_by_score(element, expected, predicted, owner)
        if pairs is not None:
            return pairs
        self.bounded = True
        return pair_large_arrays(
            element,
            expected,
            predicted,
            self.matching,
            lambda left, right: self._assign_by_score(element, left, right, owner),
        )

    def _assign_by_score(
        self, element: SchemaNode, expected: list[Any], predicted: list[Any], owner: int
    ) -> list[tuple[int, int, _Cell | None]] | None:
        """Finds the best assignment; returns ``None`` if there are too many pairs to compare."""
        rows = self._read_flat_rows(element, expected, predicted)
        if rows is not None:
            gains = self._score_flat_elements(element, rows)
            pairs = find_best_assignment(gains)
            if self.by_keys:
                nodes = [child for _, child in element.members]
                pairs = pair_rows_by_keys(pairs, nodes, rows, self.matching)
            return [(i, j, None) for i, j in pairs]
        cells_by_row = self._compare_elements(element, expected, predicted, owner)
        if cells_by_row is None:
            return None
        scorer = PairScorer(self.matching, len(expected) + len(predicted))
        gains = [
            [scorer.score_entries(cell.entries, i - j) for j, cell in enumerate(row)]
            for i, row in enumerate(cells_by_row)
        ]
        pairs = find_best_assignment(gains)
        if self.by_keys:
            pairs = pair_entries_by_keys(pairs, lambda i, j: cells_by_row[i][j].entries)
        return [(i, j, cells_by_row[i][j]) for i, j in pairs]

    def _read_flat_rows(
        self, element: SchemaNode, expected: list[Any], predicted: list[Any]
    ) -> tuple[list[list[Any]], list[list[Any]]] | None:
        """Returns the values of elements if all are flat objects; ``None`` if not, or too many."""
        n_comparisons = len(expected) * len(predicted) * max(len(element.keys), 1)
        if element.ignored or n_comparisons > self.comparisons_left:
            return None
        rows = [self.kinds.read_flat_rows(element, side) for side in (expected, predicted)]
        if rows[0] is None or rows[1] is None:
            return None
        self.comparisons_left -= n_comparisons
        return rows[0], rows[1]

    def _score_flat_elements(
        self, element: SchemaNode, rows: tuple[list[list[Any]], list[list[Any]]]
    ) -> list[list[float]]:
        scorer = PairScorer(self.matching, len(rows[0]) + len(rows[1]))
        nodes = [child for _, child in element.members]
        return [
            [scorer.score_rows(nodes, left, right, i - j) for j, right in enumerate(rows[1])]
            for i, left in enumerate(rows[0])
        ]

    def _compare_elements(
        self, element: SchemaNode, expected: list[Any], predicted: list[Any], owner: int
    ) -> list[list[_Cell]] | None:
        """Compares each pair of elements; returns ``None`` if there are too many pairs."""
        if len(expected) * len(predicted) > self.comparisons_left:
            return None
        before = self.in_order, self.literal, self.left_out
        cells: list[list[_Cell]] = []
        for expected_element in expected:
            row: list[_Cell] = []
            for predicted_element in predicted:
                fields: list[Entry] = []
                self.in_order = self.literal = True
                self.left_out = []
                self.align_pair(element, expected_element, predicted_element, fields, owner)
                self.comparisons_left -= len(fields)
                row.append(_Cell(fields, self.left_out, self.in_order, self.literal))
            cells.append(row)
            # Estimate the total cost from this row, to stop early instead of at the limit.
            if (
                sum(len(cell.entries) for cell in row) * (len(expected) - len(cells))
                > self.comparisons_left
            ):
                break
        self.in_order, self.literal, self.left_out = before
        return cells if len(cells) == len(expected) else None


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list) and not value)
