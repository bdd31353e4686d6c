"""Compares two values of a field with the matcher that the schema chooses for their type."""

from __future__ import annotations

import json
import re
from typing import Any

from eval.extraction.matchers.lists import ListPair, align_elements
from eval.extraction.matchers.match_result import (
    EQUAL,
    FULL_SIMILARITY,
    NEAR,
    UNEQUAL,
    MatchResult,
)
from eval.extraction.matchers.normalisation import get_json_type
from eval.extraction.matchers.quantities import MAX_QUANTITY_LENGTH
from eval.extraction.matchers.registry import (
    LIST_MATCHERS,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
    to_canonical_value,
)
from eval.extraction.matchers.rules import find_rule, is_absent
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.settings import Matching

_NUMBERS = frozenset((int, float))
_BOOLEANS = {"true": True, "false": False}
# Matches a JSON number, with any white space around it.
_NUMBER = re.compile(r"\s*-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*")


def compare_values(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares two values that are not empty.

    The matcher of the schema compares them first: that is the strict reading. If they are unequal
    by it, the rules may still accept them as two spellings of the same value. Values of different
    JSON types score 0, unless a rule accepts them or ``coercion`` is lenient and the predicted
    value can be converted.
    """
    if type(expected) in _NUMBERS and type(predicted) in _NUMBERS:
        # Most comparisons in search of the best alignment; no rule applies to two numbers.
        return NUMBER_MATCHERS[node.number_matcher](expected, predicted, matching, node.tolerance)
    result = _compare_strictly(node, expected, predicted, matching)
    if result[0] or result[2] == FULL_SIMILARITY:
        return result
    if not isinstance(expected, list | dict) and not isinstance(predicted, list | dict):
        rule = find_rule(node, expected, predicted, matching)
        if rule:
            return True, 1.0, None if result[2] is None else FULL_SIMILARITY, rule
    if result[1] >= matching.exact and NEAR in matching.rules:
        return True, result[1], result[2], NEAR
    return result


def _compare_strictly(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares two values by the matcher that the schema chooses."""
    expected_type = type(expected)
    if (node.has_twins or expected_type is not type(predicted)) and node.are_two_choices(
        expected, predicted
    ):
        return UNEQUAL
    if expected_type is not type(predicted):
        if matching.coercion == "lenient":
            predicted = coerce_value(predicted, expected_type)
            if predicted is not None:
                return compare_values(node, expected, predicted, matching)
        return UNEQUAL
    if expected_type is str:
        return TEXT_MATCHERS[node.text_matcher](expected, predicted, matching, node.tolerance)
    if expected is None:  # an element of an array
        return EQUAL
    if expected_type is bool:
        return EQUAL if expected is predicted else UNEQUAL
    return _compare_arrays(node, expected, predicted, matching)


def coerce_value(value: Any, target_type: type) -> Any:
    """Converts a scalar to another type; returns ``None`` if that is impossible.

    A string with a JSON number becomes that number, "true" becomes true, and numbers and booleans
    become their JSON text.
    """
    if target_type is str and isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return None
    if target_type is bool:
        return _BOOLEANS.get(value.strip().lower())
    is_short = len(value) <= MAX_QUANTITY_LENGTH
    if target_type in (int, float) and is_short and _NUMBER.fullmatch(value):
        return float(value) if set(value) & set(".eE") else int(value)
    return None


def is_same_json(first: Any, second: Any) -> bool:
    """Returns whether two values are the same JSON: 1 equals 1.0, but not true.

    Not recursive, so that deeply nested values cannot exceed the recursion limit.
    """
    pending = [(first, second)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending += ((left[key], right[key]) for key in left)
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif get_json_type(left) != get_json_type(right) or (
            # Only NaN differs from itself; two NaN count as the same value here.
            left != right and (left == left or right == right)
        ):
            return False
    return True


def _skips_nulls(matching: Matching) -> bool:
    return "empty_text" in matching.rules and matching.nulls == "absent"


def _compare_arrays(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares arrays of scalars.

    Objects and arrays that contain others occur only below ``MAX_LEVELS``; they must be equal.
    """
    if isinstance(expected, dict) or any(
        isinstance(element, dict | list) for side in (expected, predicted) for element in side
    ):
        return EQUAL if is_same_json(expected, predicted) else UNEQUAL
    if expected == predicted and list(map(type, expected)) == list(map(type, predicted)):
        return EQUAL
    element = node.get_element()
    keys = [
        [
            # Two values of an enum may differ in case only; a text never equals a tuple.
            ("choice", value)
            if element.has_twins and isinstance(value, str) and element.has_choice(value)
            else to_canonical_value(value, element.text_matcher, matching)
            for value in side
        ]
        for side in (expected, predicted)
    ]
    array_matcher = node.get_array_matcher(matching, expected, predicted)
    result = LIST_MATCHERS[array_matcher](*keys)
    if result[0]:
        is_reordered = array_matcher != "list" and not node.array_matcher and keys[0] != keys[1]
        return (True, 1.0, None, "sets") if is_reordered else result
    if not matching.rules and not matching.judge:
        return result
    if array_matcher != "list" and _skips_nulls(matching):
        sides = [
            [one for one in side if not is_absent(one, matching)] for side in (expected, predicted)
        ]
        if all(sides) and list(map(len, sides)) != [len(expected), len(predicted)]:
            found = _compare_arrays(node, sides[0], sides[1], matching)
            return (*found[:3], "empty_text") if found[0] and not found[3] else found

    def compare_elements(first: Any, second: Any) -> MatchResult:
        return compare_values(element, first, second, matching)

    threshold = matching.string_fuzzy_threshold
    aligned = align_elements(
        ListPair(expected, predicted, *keys), array_matcher, compare_elements, threshold
    )
    return result if aligned is None or aligned[1] < result[1] else aligned
