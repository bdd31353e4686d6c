"""Classifies values for the alignment: which count as no value, and how the others are opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eval.extraction.matchers.rules import is_absent
from eval.extraction.matchers.schema_nodes import MAX_LEVELS, SchemaNode
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alternatives import choose_everywhere, choose_first

SCALAR_TYPES: Final = frozenset({str, int, float, bool})

# The kinds of a value. Arrays with nested values are aligned element by element; arrays of scalars
# are compared as one field.
EMPTY, SCALAR, SCALAR_ARRAY, NESTED_ARRAY, OBJECT = range(5)


class ValueKinds:
    """Finds out which values count as no value, and the kinds of the others."""

    def __init__(self, matching: Matching) -> None:
        self._matching: Final = matching
        self._drops_empty: Final = "empty_text" in matching.rules
        self._drops_placeholders: Final = "placeholders" in matching.rules

    def may_be_empty(self, text: str) -> bool:
        """Returns whether a text may count as no value."""
        return self._drops_placeholders or (self._drops_empty and (not text or text.isspace()))

    def find_kind(self, value: Any, node: SchemaNode) -> int:
        """Returns the kind of a value."""
        if isinstance(value, dict):
            return EMPTY if not value else SCALAR if node.level >= MAX_LEVELS else OBJECT
        if isinstance(value, list):
            if not has_content(value):
                return EMPTY
            if node.level >= MAX_LEVELS:
                return SCALAR
            has_nested = any(isinstance(choose_first(one), dict | list) for one in value)
            if has_nested:
                return NESTED_ARRAY
            is_empty = self._drops_empty and all(
                is_absent(element, self._matching) for element in value
            )
            return EMPTY if is_empty else SCALAR_ARRAY
        return EMPTY if is_absent(value, self._matching) else SCALAR

    def read_flat_rows(self, node: SchemaNode, values: list[Any]) -> list[list[Any]] | None:
        """Returns the values of the declared keys of each object, ``None`` where there is none.

        Returns:
            ``None`` instead of a list if any value is no object, has keys that are not declared, or
            anything but scalars that count.
        """
        members = node.members
        if any(child.ignored for _, child in members):
            return None
        rows = []
        for value in values:
            if not isinstance(value, dict) or not value.keys() <= node.keys.keys():
                return None
            row = []
            for key, _ in members:
                part = value.get(key)
                if part is not None and type(part) not in SCALAR_TYPES:
                    return None
                is_empty = isinstance(part, str) and is_absent(part, self._matching)
                row.append(None if is_empty else part)
            rows.append(row)
        return rows

    def iter_leaves(
        self, node: SchemaNode, value: Any, owner: int = 0
    ) -> Iterator[tuple[SchemaNode, Any, int]]:
        """Yields the fields of a value that has no counterpart, and the identity of their object.

        Args:
            node: its schema node.
            value: the value.
            owner: identity of the object that the value is a part of.
        """
        if node.ignored:
            return
        value = choose_first(value)
        kind = self.find_kind(value, node)
        if kind == OBJECT:
            for key, child in node.members:
                if value.get(key) is not None:
                    yield from self.iter_leaves(child, value[key], id(value))
            for key in sorted(value.keys() - node.keys.keys()):
                yield from self.iter_leaves(node.get_child(key), value[key], id(value))
        elif kind == NESTED_ARRAY:
            for element in value:
                yield from self.iter_leaves(node.get_element(), element, owner)
        elif kind != EMPTY:
            yield node, choose_everywhere(value), owner


def has_content(value: Any) -> bool:
    """Returns False for null, an empty object, an empty array and an array of nulls, else True."""
    if isinstance(value, list):
        return any(element is not None for element in value)
    return value is not None and value != {}
