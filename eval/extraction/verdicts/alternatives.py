"""Reads the places of an expected output that list several right values: ``{"$any": […]}``.

A value may be anything that is not empty: a scalar, an array, an object with further such places.
Which one counts is decided while replies are aligned: the one nearest to the reply.
"""

from __future__ import annotations

import operator
from typing import Any

from eval.extraction.matchers.lists import find_best_assignment
from eval.extraction.matchers.schema_nodes import ALTERNATIVES, SchemaNode
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.schemas.schema_validator import MAX_VALUE_DEPTH
from eval.extraction.settings import Matching


class Alternatives(tuple[Any, ...]):
    """Several right values of one place; none of them is ``Alternatives`` itself.

    No parsed JSON is of this class, so a reply that has the notation for alternatives is an object.
    """

    __slots__ = ()


def read_alternatives(value: Any, depth: int = 0) -> Any:
    """Returns an expected output with its alternatives read; it is the same object if none has any.

    Anything else than a list of at least one value is an object as any other.
    """
    if depth > MAX_VALUE_DEPTH:
        return value
    if isinstance(value, list):
        elements = [
            read_alternatives(one, depth + 1) if isinstance(one, dict | list) else one
            for one in value
        ]
        return elements if any(map(operator.is_not, elements, value)) else value
    if not isinstance(value, dict):
        return value
    listed = value.get(ALTERNATIVES)
    if len(value) == 1 and isinstance(listed, list) and listed:
        read = [read_alternatives(one, depth + 1) for one in listed]
        return Alternatives(
            flat for one in read for flat in (one if isinstance(one, Alternatives) else (one,))
        )
    changed = {}
    for key, part in value.items():
        if isinstance(part, dict | list):
            read_part = read_alternatives(part, depth + 1)
            if read_part is not part:
                changed[key] = read_part
    return {**value, **changed} if changed else value


def choose_everywhere(value: Any, depth: int = 0) -> Any:
    """Returns an expected output with the first of several right values in their place.

    It is the same object if it has none.
    """
    if depth > MAX_VALUE_DEPTH:
        return value
    value = choose_first(value)
    # Without comprehensions, each of which would be one more frame per level.
    if isinstance(value, list):
        elements = []
        for element in value:
            elements.append(choose_everywhere(element, depth + 1))  # noqa: PERF401
        return elements if any(map(operator.is_not, elements, value)) else value
    if isinstance(value, dict):
        changed = {}
        for key, part in value.items():
            chosen = choose_everywhere(part, depth + 1)
            if chosen is not part:
                changed[key] = chosen
        return {**value, **changed} if changed else value
    return value


def choose_first(value: Any) -> Any:
    """Returns the first of several right values; any other value as it is."""
    return value[0] if isinstance(value, Alternatives) else value


def choose_elements(
    node: SchemaNode, expected: list[Any], predicted: list[Any], matching: Matching
) -> list[Any]:
    """Returns an array of scalars with each of its alternatives decided.

    Expected and predicted elements are assigned to each other so that most of them are right; the
    value nearest to the assigned element counts, the first one where there is none.

    Args:
        node: schema node of the elements.
        expected: the expected elements, some of which are ``Alternatives``.
        predicted: the predicted elements.
        matching: when two values count as the same.
    """
    values = [one if isinstance(one, Alternatives) else (one,) for one in expected]

    def rate(value: Any, element: Any) -> float:
        if value is None or element is None:
            return float(value is element)
        is_right, score, *_ = compare_values(node, value, element, matching)
        return float(is_right) + score

    def rate_best(row: tuple[Any, ...], element: Any) -> float:
        return max(rate(value, element) for value in row)

    gains = [[rate_best(row, element) for element in predicted] for row in values]
    chosen = [row[0] for row in values]
    for i, j in find_best_assignment(gains):
        chosen[i] = max(values[i], key=lambda value: rate(value, predicted[j]))
    return chosen
