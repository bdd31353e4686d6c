"""Judges aligned fields: category, type, hallucination, error pattern."""

from __future__ import annotations

import re
from typing import Any, Final

from eval.extraction.matchers.normalisation import json_type
from eval.extraction.matchers.schema_nodes import SchemaNode, encode_json
from eval.extraction.matchers.value_comparison import coerce_value, is_same_json
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alignment import Entry
from eval.extraction.verdicts.field_errors import (
    classify_missed,
    classify_paired,
    classify_spurious,
    find_moved_fields,
)
from eval.extraction.verdicts.hallucination import Evidence
from eval.extraction.verdicts.sample_score import Category, FieldMatch

_PYTHON_TYPES = {"string": str, "number": float, "integer": int, "boolean": bool}
_FORMATS: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "date": r"\d{4}-\d\d-\d\d",
        "time": r"\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)",
        "date-time": r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)",
        "email": r"[^@\s]+@[^@\s]+",
        "uri": r"[A-Za-z][A-Za-z0-9+.-]*:\S+",
        "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    }.items()
}
"""Simplified patterns of formats. Only used for invalid replies, where any part may be at fault; in
a valid reply all formats are right. Other formats are accepted unchecked."""


class FieldJudge:
    """Judges the fields of one sample."""

    def __init__(self, text: str, matching: Matching, *, valid: bool) -> None:
        """Takes the sample's text, and whether the reply is valid as a whole."""
        self._text: Final = text
        self._matching: Final = matching
        self._valid: Final = valid
        self._evidence: Evidence | None = None

    def judge_fields(self, entries: list[Entry]) -> tuple[FieldMatch, ...]:
        """Judges each field; returns the verdicts in the order of the entries."""
        self._entries = entries
        out_of_place: frozenset[int] | None = None
        verdicts = []
        for index, entry in enumerate(entries):
            if entry.match is not None:
                verdicts.append(self._judge_paired(entry))
                continue
            if out_of_place is None:
                out_of_place = find_moved_fields(entries, self._matching)
            if entry.predicted is None:
                verdicts.append(self._judge_missed(entry, is_moved=index in out_of_place))
            else:
                verdicts.append(self._judge_spurious(entry, is_moved=index in out_of_place))
        return tuple(verdicts)

    def _judge_paired(self, entry: Entry) -> FieldMatch:
        place, expected, predicted, compared, _, _ = entry
        assert compared is not None
        matching = self._matching
        equal, score, similarity = compared
        expected_type, predicted_type, right = self._judge_type(entry)
        category: Category = (
            "exact"
            if score >= matching.exact
            else "partial"
            if score >= matching.partial
            else "incorrect"
        )
        error, hallucination = "", 0
        if not equal or right is False:
            hallucination = self._paired_hallucination(entry, category)
            error = classify_paired(entry, category, hallucination, type_right=right)
            equal = equal and (right is not False or is_same_json(expected, predicted))
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            expected_type,
            predicted_type,
            _matcher_name(place, expected, matching),
            category,
            equal,
            score,
            similarity,
            right,
            error,
            hallucination,
            expected,
            predicted,
        )

    def _judge_missed(self, entry: Entry, *, is_moved: bool) -> FieldMatch:
        place = entry.node
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            entry.mismatch.expected if entry.mismatch else _expected_type(place, entry.expected),
            "",
            _matcher_name(place, entry.expected, self._matching),
            "missed",
            False,
            None,
            None,
            None,
            classify_missed(entry, is_moved=is_moved),
            0,
            entry.expected,
            None,
        )

    def _judge_spurious(self, entry: Entry, *, is_moved: bool) -> FieldMatch:
        place = entry.node
        hallucination = (
            4 if entry.surplus else 3 if self._has_evidence(place, entry.predicted) else 1
        )
        expected_type, predicted_type, right = self._judge_type(entry)
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            expected_type,
            predicted_type,
            _matcher_name(place, entry.predicted, self._matching),
            "spurious",
            False,
            None,
            None,
            right,
            classify_spurious(entry, hallucination, is_moved=is_moved),
            hallucination,
            None,
            entry.predicted,
        )

    def _paired_hallucination(self, entry: Entry, category: Category) -> int:
        """Returns 4 for a list with surplus elements, 2 for a wrong value found nowhere, else 0."""
        expected, predicted = entry.expected, entry.predicted
        if category == "exact":
            return 0
        if isinstance(expected, list) and isinstance(predicted, list):
            if len(predicted) > len(expected):
                return 4
        elif isinstance(predicted, bool) or entry.node.has_choice(predicted):
            return 0  # chosen from given options, so not a hallucination
        return 2 if category == "incorrect" and not self._has_evidence(entry.node, predicted) else 0

    def _has_evidence(self, node: SchemaNode, value: Any) -> bool:
        if self._evidence is None:
            self._evidence = Evidence(self._text, (entry.expected for entry in self._entries))
        return self._evidence.contains_value(value, _element_matcher_name(node, value))

    def _judge_type(self, entry: Entry) -> tuple[str, str, bool | None]:
        """Returns a predicted field's expected type, its actual type, and whether it is right."""
        place, expected, predicted, _, mismatch, _ = entry
        types = place.types
        if self._valid and len(types) == 1 and mismatch is None:
            # The validator has already checked the type of every field of a valid reply.
            return types[0], types[0], True
        known = bool(place.types) or place.allowed is not None
        if mismatch is not None:
            right = self._valid if known or not self._valid else None
            return mismatch.expected, mismatch.predicted, right
        expected_type, predicted_type = (
            _expected_type(place, expected),
            _predicted_type(place, predicted),
        )
        if not known:
            return (
                expected_type,
                predicted_type,
                None if expected is None else expected_type == predicted_type,
            )
        if self._valid:
            return (
                (predicted_type if predicted_type in place.types else expected_type),
                predicted_type,
                True,
            )
        fault = _find_type_fault(place, predicted, predicted_type)
        if not fault or (self._matching.coercion == "lenient" and _is_coercible(place, predicted)):
            return (
                predicted_type if predicted_type in place.types else expected_type,
                predicted_type,
                True,
            )
        return (
            (expected_type if fault == "type" else f"{predicted_type} ({fault})"),
            predicted_type,
            False,
        )


def _matcher_name(node: SchemaNode, value: Any, matching: Matching) -> str:
    """Returns the name of the matcher for a value at a schema node."""
    if isinstance(value, str):
        return node.text_matcher
    if isinstance(value, list):
        return node.array_matcher or ("list" if matching.ordered_arrays else "bag")
    if isinstance(value, bool | dict):
        return "exact"
    return node.number_matcher


def _element_matcher_name(node: SchemaNode, value: Any) -> str:
    return node.get_element().text_matcher if isinstance(value, list) else node.text_matcher


def _expected_type(node: SchemaNode, expected: Any) -> str:
    """Returns a field's expected type: the schema's or, of several, the expected value's."""
    types = node.types
    if len(types) == 1:
        return types[0]
    if expected is None:
        return types[0] if types else ""
    own = json_type(expected)
    if not types or own in types:
        return own
    return "integer" if own == "number" and "integer" in types else types[0]


def _predicted_type(node: SchemaNode, value: Any) -> str:
    """Returns a value's JSON type; a whole number is an integer if the schema requires one."""
    own = json_type(value)
    if own == "number" and "integer" in node.types and "number" not in node.types:
        return "integer" if isinstance(value, int) or value.is_integer() else own
    return own


def _find_type_fault(node: SchemaNode, value: Any, predicted_type: str) -> str:
    """Returns a value's error: ``type``, ``enum`` or the name of a format; empty if it has none."""
    if node.types and predicted_type not in node.types:
        return "type"
    if node.allowed is not None and encode_json(value) not in node.allowed:
        return "enum"
    if isinstance(value, str):
        for name in node.formats:
            shape = _FORMATS.get(name)
            if shape is not None and shape.fullmatch(value) is None:
                return name
    return ""


def _is_coercible(node: SchemaNode, value: Any) -> bool:
    for name in node.types:
        kind = _PYTHON_TYPES.get(name)
        read = None if kind is None else coerce_value(value, kind)
        if read is not None and not _find_type_fault(node, read, _predicted_type(node, read)):
            return True
    return False
