"""Assigns the confidences of a reply to its fields.

Values of the same field in two elements of an array may be equal, but not their confidences; so a
confidence is found by the object that the value is a part of.

A system may give, beside its extraction, a value of the same shape with a number in [0, 1] where
the extraction has a field, or null where it left one out.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from eval.extraction.matchers.schema_nodes import MAX_LEVELS, SchemaNode, encode_json
from eval.extraction.verdicts.alignment import Alignment
from eval.extraction.verdicts.sample_score import FieldMatch

FieldConfidences = dict[str, tuple[tuple[float, bool], ...]]
"""Path of a field → the confidence of each decision on it, and whether the decision is right."""

_Found = dict[tuple[int, str, str], deque[float]]
"""Identity of an object, path and value of a part of it → its confidences, in the reply's order."""


def assign_confidences(
    root: SchemaNode,
    predicted: Any,
    confidences: Any,
    alignment: Alignment,
    fields: Iterable[FieldMatch],
) -> FieldConfidences:
    """Returns the confidences of the fields that have one.

    Args:
        root: schema node of the reply.
        predicted: the reply.
        confidences: its confidences, in the same shape; anything else is ignored.
        alignment: the aligned fields.
        fields: the verdicts on them, in the same order.
    """
    found: _Found = defaultdict(deque)
    _collect(root, predicted, confidences, found, 0)
    if not found:
        return {}
    decisions: dict[str, list[tuple[float, bool]]] = defaultdict(list)

    def add_decision(owner: int, path: str, value: Any, *, is_right: bool) -> None:
        candidates = found.get((owner, path, encode_json(value)))
        if candidates:
            decisions[path].append((candidates.popleft(), is_right))

    for entry, field in zip(alignment.entries, fields, strict=True):
        if entry.node.level < MAX_LEVELS:
            is_right = field.category == "exact"
            add_decision(entry.owner, field.path, entry.predicted, is_right=is_right)
    for node, owner in alignment.left_out:
        add_decision(owner, node.path, None, is_right=True)
    return {path: tuple(found) for path, found in decisions.items()}


def _collect(node: SchemaNode, value: Any, confidence: Any, found: _Found, owner: int) -> None:
    if isinstance(confidence, int | float) and not isinstance(confidence, bool):
        if node.level < MAX_LEVELS and 0 <= confidence <= 1:
            found[owner, node.path, encode_json(value)].append(float(confidence))
    elif isinstance(confidence, dict) and isinstance(value, dict):
        for key, inner in confidence.items():
            _collect(node.get_child(key), value.get(key), inner, found, id(value))
    elif isinstance(confidence, list) and isinstance(value, list):
        for element, inner in zip(value, confidence, strict=False):
            _collect(node.get_element(), element, inner, found, owner)
