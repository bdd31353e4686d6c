"""Compares two values of a field with the matcher that the schema chooses for their type."""

from __future__ import annotations

import json
import re
from typing import Any

from eval.extraction.matchers.match_result import EQUAL, UNEQUAL, MatchResult
from eval.extraction.matchers.normalisation import get_json_type
from eval.extraction.matchers.quantities import MAX_QUANTITY_LENGTH
from eval.extraction.matchers.registry import (
    LIST_MATCHERS,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
    to_canonical_value,
)
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.settings import Matching

_BOOLEANS = {"true": True, "false": False}
# Matches a JSON number, with any white space around it.
_NUMBER = re.compile(r"\s*-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*")


def compare_values(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares two values that are not empty.

    Values of different JSON types score 0, unless ``coercion`` is lenient and the predicted value
    can be converted to the expected type.
    """
    expected_type = type(expected)
    if expected_type is not type(predicted):
        if expected_type in (int, float) and type(predicted) in (int, float):
            return NUMBER_MATCHERS[node.number_matcher](
                expected, predicted, matching, node.tolerance
            )
        if matching.coercion == "lenient":
            predicted = coerce_value(predicted, expected_type)
            if predicted is not None:
                return compare_values(node, expected, predicted, matching)
        return UNEQUAL
    if expected_type is str:
        return TEXT_MATCHERS[node.text_matcher](expected, predicted, matching, node.tolerance)
    if expected_type is bool:
        return EQUAL if expected is predicted else UNEQUAL
    if expected_type is list or expected_type is dict:
        return _compare_arrays(node, expected, predicted, matching)
    return NUMBER_MATCHERS[node.number_matcher](expected, predicted, matching, node.tolerance)


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
    text_matcher = node.get_element().text_matcher
    first, second = (
        [to_canonical_value(value, text_matcher, matching) for value in side]
        for side in (expected, predicted)
    )
    array_matcher = node.array_matcher or ("list" if matching.ordered_arrays else "bag")
    return LIST_MATCHERS[array_matcher](first, second)
