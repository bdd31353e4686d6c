"""Two values of one field compared by the matcher that the field has for their type."""

from __future__ import annotations

import json
import re
from typing import Any

from eval.extraction.matchers.choosing import (
    LIST_MATCHERS,
    NUMBER_MATCHERS,
    TEXT_MATCHERS,
    canonical,
)
from eval.extraction.matchers.compared import EQUAL, UNEQUAL, Compared
from eval.extraction.matchers.fields import Place
from eval.extraction.matchers.normalising import json_type
from eval.extraction.matchers.quantities import LONGEST
from eval.extraction.settings import Matching

_TRUTH = {"true": True, "false": False}
_NUMBER = re.compile(r"\s*-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*")


def compare(place: Place, expected: Any, predicted: Any, matching: Matching) -> Compared:
    """Compares two values that both state something.

    Values of different JSON types have nothing in common, unless ``coercion`` is lenient and the
    predicted one can be read as the other's type.
    """
    kind = type(expected)
    if kind is not type(predicted):
        if kind in (int, float) and type(predicted) in (int, float):
            return NUMBER_MATCHERS[place.number](expected, predicted, matching, place.tolerance)
        if matching.coercion == "lenient":
            predicted = coerced(predicted, kind)
            if predicted is not None:
                return compare(place, expected, predicted, matching)
        return UNEQUAL
    if kind is str:
        return TEXT_MATCHERS[place.text](expected, predicted, matching, place.tolerance)
    if kind is bool:
        return EQUAL if expected is predicted else UNEQUAL
    if kind is list or kind is dict:
        return _compare_arrays(place, expected, predicted, matching)
    return NUMBER_MATCHERS[place.number](expected, predicted, matching, place.tolerance)


def coerced(value: Any, kind: type) -> Any:
    """``value`` read as another type of scalar; null if it cannot be.

    A text that is a number as JSON writes it is that number, "true" is true, and numbers and truth
    values are the texts JSON has for them.
    """
    if kind is str and isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return None
    if kind is bool:
        return _TRUTH.get(value.strip().lower())
    if kind in (int, float) and len(value) <= LONGEST and _NUMBER.fullmatch(value):
        return float(value) if set(value) & set(".eE") else int(value)
    return None


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON, however deep: true is not 1, but 1.0 is."""
    waiting = [(first, second)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting += ((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting += zip(one, other, strict=True)
        elif json_type(one) != json_type(other) or (
            one != other and (one == one or other == other)
        ):
            return False
    return True


def _compare_arrays(place: Place, expected: Any, predicted: Any, matching: Matching) -> Compared:
    """Compares arrays of scalars; what is nested too deep to be opened is the same or not."""
    if isinstance(expected, dict) or any(
        isinstance(one, dict | list) for side in (expected, predicted) for one in side
    ):
        return EQUAL if same(expected, predicted) else UNEQUAL
    if expected == predicted and list(map(type, expected)) == list(map(type, predicted)):
        return EQUAL
    text = place.element().text
    first, second = (
        [canonical(value, text, matching) for value in side] for side in (expected, predicted)
    )
    name = place.array or ("list" if matching.ordered_arrays else "bag")
    return LIST_MATCHERS[name](first, second)
