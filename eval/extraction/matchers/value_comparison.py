"""Compares two values of a field with the matcher that the schema node has for their type."""

from __future__ import annotations

import json
import re
from typing import Any

from eval.extraction.matchers.match_result import EQUAL, UNEQUAL, MatchResult
from eval.extraction.matchers.normalisation import json_type
from eval.extraction.matchers.quantities import MAX_QUANTITY_LENGTH
from eval.extraction.matchers.registry import (
    LIST_MATCHERS,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
    canonical_value,
)
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.settings import Matching

_BOOLEANS = {"true": True, "false": False}
_NUMBER = re.compile(r"\s*-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*")


def compare_values(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares two values, neither of which is empty.

    Values of different JSON types score 0, unless ``coercion`` is lenient and the predicted value
    can be converted to the expected type.
    """
    kind = type(expected)
    if kind is not type(predicted):
        if kind in (int, float) and type(predicted) in (int, float):
            return NUMBER_MATCHERS[node.number_matcher](
                expected, predicted, matching, node.tolerance
            )
        if matching.coercion == "lenient":
            predicted = coerce_value(predicted, kind)
            if predicted is not None:
                return compare_values(node, expected, predicted, matching)
        return UNEQUAL
    if kind is str:
        return TEXT_MATCHERS[node.text_matcher](expected, predicted, matching, node.tolerance)
    if kind is bool:
        return EQUAL if expected is predicted else UNEQUAL
    if kind is list or kind is dict:
        return _compare_arrays(node, expected, predicted, matching)
    return NUMBER_MATCHERS[node.number_matcher](expected, predicted, matching, node.tolerance)


def coerce_value(value: Any, kind: type) -> Any:
    """Converts a scalar to another type; returns ``None`` if that is impossible.

    A string with a JSON number becomes that number, "true" becomes true, and numbers and booleans
    become their JSON text.
    """
    if kind is str and isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return None
    if kind is bool:
        return _BOOLEANS.get(value.strip().lower())
    if kind in (int, float) and len(value) <= MAX_QUANTITY_LENGTH and _NUMBER.fullmatch(value):
        return float(value) if set(value) & set(".eE") else int(value)
    return None


def is_same_json(first: Any, second: Any) -> bool:
    """Returns whether two values are the same JSON: 1 equals 1.0, but not true.

    Not recursive, so that deeply nested values cannot exceed the recursion limit.
    """
    waiting = [(first, second)]
    while waiting:
        left, right = waiting.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            waiting += ((left[key], right[key]) for key in left)
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif json_type(left) != json_type(right) or (
            left != right and (left == left or right == right)
        ):
            return False
    return True


def _compare_arrays(
    node: SchemaNode, expected: Any, predicted: Any, matching: Matching
) -> MatchResult:
    """Compares arrays of scalars; objects and nested arrays (below ``MAX_LEVELS``) for equality."""
    if isinstance(expected, dict) or any(
        isinstance(element, dict | list) for side in (expected, predicted) for element in side
    ):
        return EQUAL if is_same_json(expected, predicted) else UNEQUAL
    if expected == predicted and list(map(type, expected)) == list(map(type, predicted)):
        return EQUAL
    text = node.get_element().text_matcher
    first, second = (
        [canonical_value(value, text, matching) for value in side] for side in (expected, predicted)
    )
    name = node.array_matcher or ("list" if matching.ordered_arrays else "bag")
    return LIST_MATCHERS[name](first, second)
