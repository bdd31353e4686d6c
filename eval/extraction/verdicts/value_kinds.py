"""Classifies values for the alignment: which count as no value, and how the others are opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eval.extraction.matchers.rules import is_absent
from eval.extraction.matchers.schema_nodes import ALTERNATIVES, MAX_LEVELS, SchemaNode
from eval.extraction.schemas.schema_validator import MAX_VALUE_DEPTH
from eval.extraction.settings import Matching

# The kinds of a value. Arrays with nested values are aligned element by element; arrays of scalars
# are compared as one field.
EMPTY, SCALAR, SCALAR_ARRAY, NESTED_ARRAY, OBJECT = range(5)


class ValueKinds:
    """Finds out which values count as no value, and the kinds of the others."""

    def __init__(self, matching: Matching) -> None:
        self._matching: Final = matching
        self._drops_empty: Final = "empty_text" in matching.rules
        self._drops_placeholders: Final = "placeholders" in matching.rules

    def may_be_empty(self, value: Any) -> bool:
        """Returns whether a scalar is a text that may count as no value."""
        if self._drops_placeholders:
            return isinstance(value, str)
        return self._drops_empty and isinstance(value, str) and (not value or value.isspace())

    def find_kind(self, value: Any, node: SchemaNode) -> int:
        """Returns the kind of a value."""
        if isinstance(value, dict):
            if has_alternatives(value):
                return SCALAR
            return EMPTY if not value else SCALAR if node.level >= MAX_LEVELS else OBJECT
        if isinstance(value, list):
            if not has_content(value):
                return EMPTY
            if node.level >= MAX_LEVELS:
                return SCALAR
            has_nested = any(isinstance(element, dict | list) for element in value)
            if has_nested:
                return NESTED_ARRAY
            is_empty = self._drops_empty and all(
                is_absent(element, self._matching) for element in value
            )
            return EMPTY if is_empty else SCALAR_ARRAY
        return EMPTY if is_absent(value, self._matching) else SCALAR

    def iter_leaves(self, node: SchemaNode, value: Any) -> Iterator[tuple[SchemaNode, Any]]:
        """Yields the fields of a value that has no counterpart."""
        if node.ignored:
            return
        kind = self.find_kind(value, node)
        if kind == OBJECT:
            for key, child in node.members:
                if value.get(key) is not None:
                    yield from self.iter_leaves(child, value[key])
            for key in sorted(value.keys() - node.keys.keys()):
                yield from self.iter_leaves(node.get_child(key), value[key])
        elif kind == NESTED_ARRAY:
            for element in value:
                yield from self.iter_leaves(node.get_element(), element)
        elif kind != EMPTY:
            yield node, choose_first(value)


def has_alternatives(value: Any) -> bool:
    """Returns whether an expected value lists several right values of one field."""
    return isinstance(value, dict) and len(value) == 1 and ALTERNATIVES in value


def choose_everywhere(value: Any, depth: int = 0) -> Any:
    """Returns an expected output with the first of several right values in their place."""
    if depth > MAX_VALUE_DEPTH:
        return value
    if isinstance(value, list):
        return [choose_everywhere(element, depth + 1) for element in value]
    if isinstance(value, dict) and not has_alternatives(value):
        return {key: choose_everywhere(part, depth + 1) for key, part in value.items()}
    return choose_first(value)


def choose_first(value: Any) -> Any:
    """Returns the first of several right values; any other value as it is."""
    return value[ALTERNATIVES][0] if has_alternatives(value) else value


def has_content(value: Any) -> bool:
    """Returns False for null, an empty object, an empty array and an array of nulls, else True."""
    if isinstance(value, list):
        return any(element is not None for element in value)
    return value is not None and value != {}
