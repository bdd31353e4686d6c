"""Judges aligned fields: category, type, hallucination, error pattern."""

from __future__ import annotations

import re
from typing import Any, Final

from eval.extraction.matchers.match_result import LENIENT_RULES
from eval.extraction.matchers.normalisation import get_json_type
from eval.extraction.matchers.rules import is_ambiguous_pair
from eval.extraction.matchers.schema_nodes import SchemaNode, encode_json
from eval.extraction.matchers.value_comparison import coerce_value, is_same_json
from eval.extraction.settings import Matching
from eval.extraction.verdicts.entries import Entry
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
"""Simplified patterns of formats; other formats are accepted unchecked. They are only used for
invalid replies, where any part may be at fault; in a valid reply all formats are right."""


class FieldJudge:
    """Judges the fields of one sample."""

    def __init__(self, text: str, matching: Matching, *, valid: bool, literal: bool) -> None:
        """Takes the sample's text, and whether the reply is valid, also in the strict reading."""
        self._text: Final = text
        self._matching: Final = matching
        self._valid: Final = valid
        self._literal: Final = literal
        self._evidence: Evidence | None = None

    def judge_fields(self, entries: list[Entry]) -> tuple[FieldMatch, ...]:
        """Judges each field; returns the verdicts in the order of the entries."""
        self._entries = entries
        moved_indexes: frozenset[int] | None = None
        verdicts = []
        for index, entry in enumerate(entries):
            if entry.match is not None:
                verdicts.append(self._judge_pair(entry))
                continue
            if moved_indexes is None:
                moved_indexes = find_moved_fields(entries, self._matching)
            if entry.predicted is None:
                verdicts.append(self._judge_missed_field(entry, is_moved=index in moved_indexes))
            else:
                verdicts.append(self._judge_spurious(entry, is_moved=index in moved_indexes))
        return tuple(verdicts)

    def _judge_pair(self, entry: Entry) -> FieldMatch:
        node, expected, predicted, match, _, _, _ = entry
        assert match is not None
        matching = self._matching
        is_right, score, similarity, rule = match
        expected_type, predicted_type, type_right = self._judge_type(entry)
        category: Category = (
            "exact" if is_right else "partial" if score >= matching.partial else "incorrect"
        )
        is_equal = is_right and rule not in LENIENT_RULES
        is_literal = is_equal and not rule
        if type_right is False and is_equal and is_same_json(expected, predicted):
            type_right = True  # The expected value itself does not have the type of the schema.
        error, hallucination = "", 0
        if is_right and (matching.nulls != "strict" or (is_equal and rule)):
            # Another spelling, or another type, of the right value: no reason for invalidity.
            type_right = None if type_right is None else True
        if not is_equal or type_right is False:
            hallucination = self._paired_hallucination(entry, category)
            error = classify_paired(entry, category, type_right=type_right)
            is_equal = is_equal and (type_right is not False or is_same_json(expected, predicted))
            is_literal = is_literal and is_equal
        if is_literal and not self._literal and not is_same_json(expected, predicted):
            is_literal = not _find_type_fault(node, predicted, _predicted_type(node, predicted))
        return FieldMatch(
            node.path,
            node.name,
            node.depth,
            node.required,
            expected_type,
            predicted_type,
            _matcher_name(node, expected, matching),
            category,
            is_equal,
            score,
            similarity,
            type_right,
            error,
            hallucination,
            expected,
            predicted,
            is_literal,
            rule,
            not is_right and is_ambiguous_pair(expected, predicted, matching),
        )

    def _judge_missed_field(self, entry: Entry, *, is_moved: bool) -> FieldMatch:
        node = entry.node
        return FieldMatch(
            node.path,
            node.name,
            node.depth,
            node.required,
            entry.mismatch.expected if entry.mismatch else _expected_type(node, entry.expected),
            type_predicted="",
            matcher=_matcher_name(node, entry.expected, self._matching),
            category="missed",
            strict=False,
            score=None,
            similarity=None,
            type_right=None,
            error=classify_missed(entry, is_moved=is_moved),
            hallucination=0,
            expected=entry.expected,
            predicted=None,
        )

    def _judge_spurious(self, entry: Entry, *, is_moved: bool) -> FieldMatch:
        node = entry.node
        hallucination = 4 if entry.surplus else 0
        if not entry.surplus and self._text:
            hallucination = 3 if self._has_evidence(node, entry.predicted) else 1
        expected_type, predicted_type, type_right = self._judge_type(entry)
        return FieldMatch(
            node.path,
            node.name,
            node.depth,
            node.required,
            expected_type,
            predicted_type,
            matcher=_matcher_name(node, entry.predicted, self._matching),
            category="spurious",
            strict=False,
            score=None,
            similarity=None,
            type_right=type_right,
            error=classify_spurious(entry, hallucination, is_moved=is_moved),
            hallucination=hallucination,
            expected=None,
            predicted=entry.predicted,
        )

    def _paired_hallucination(self, entry: Entry, category: Category) -> int:
        """Returns the type of hallucination of a field that is both expected and predicted.

        It is 4 for a list with surplus elements, 2 for a wrong value found nowhere, otherwise 0.
        """
        expected, predicted = entry.expected, entry.predicted
        if category == "exact":
            return 0
        if isinstance(expected, list) and isinstance(predicted, list):
            if len(predicted) > len(expected):
                return 4
        elif isinstance(predicted, bool) or entry.node.has_choice(predicted):
            return 0  # chosen from given options, so not a hallucination
        if category != "incorrect" or not self._text:
            return 0
        return 0 if self._has_evidence(entry.node, predicted) else 2

    def _has_evidence(self, node: SchemaNode, value: Any) -> bool:
        if self._evidence is None:
            self._evidence = Evidence(self._text, (entry.expected for entry in self._entries))
        return self._evidence.contains_value(value, _element_matcher_name(node, value))

    def _judge_type(self, entry: Entry) -> tuple[str, str, bool | None]:
        """Returns a predicted field's expected type, its actual type, and whether it is right."""
        node, expected, predicted, _, mismatch, _, _ = entry
        types = node.types
        if self._valid and len(types) == 1 and mismatch is None:
            # The validator has already checked the type of every field of a valid reply.
            return types[0], types[0], True
        has_known_type = bool(node.types) or node.allowed is not None
        if mismatch is not None:
            type_right = None if self._valid and not has_known_type else self._valid
            return mismatch.expected, mismatch.predicted, type_right
        expected_type, predicted_type = (
            _expected_type(node, expected),
            _predicted_type(node, predicted),
        )
        if not has_known_type:
            return (
                expected_type,
                predicted_type,
                None if expected is None else expected_type == predicted_type,
            )
        if self._valid:
            return (
                (predicted_type if predicted_type in node.types else expected_type),
                predicted_type,
                True,
            )
        fault = _find_type_fault(node, predicted, predicted_type)
        if not fault or (self._matching.coercion == "lenient" and _is_coercible(node, predicted)):
            return (
                predicted_type if predicted_type in node.types else expected_type,
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
        return node.get_array_matcher(matching, value)
    if isinstance(value, bool | dict):
        return "exact"
    return node.number_matcher


def _element_matcher_name(node: SchemaNode, value: Any) -> str:
    return node.get_element().text_matcher if isinstance(value, list) else node.text_matcher


def _expected_type(node: SchemaNode, expected: Any) -> str:
    """Returns a field's expected type: the schema's or, if that allows several, the value's."""
    types = node.types
    if len(types) == 1:
        return types[0]
    if expected is None:
        return types[0] if types else ""
    value_type = get_json_type(expected)
    if not types or value_type in types:
        return value_type
    return "integer" if value_type == "number" and "integer" in types else types[0]


def _predicted_type(node: SchemaNode, value: Any) -> str:
    """Returns a value's JSON type; a whole number is an integer if the schema requires one."""
    value_type = get_json_type(value)
    if value_type == "number" and "integer" in node.types and "number" not in node.types:
        return "integer" if isinstance(value, int) or value.is_integer() else value_type
    return value_type


def _find_type_fault(node: SchemaNode, value: Any, predicted_type: str) -> str:
    """Returns a value's error: ``type``, ``enum`` or the name of a format; empty if it has none."""
    if node.types and predicted_type not in node.types:
        return "type"
    if isinstance(value, list):
        element = node.get_element()
        is_wrong = element.types and any(
            item is not None and _predicted_type(element, item) not in element.types
            for item in value
        )
        return "type of elements" if is_wrong else ""
    if node.allowed is not None and encode_json(value) not in node.allowed:
        return "enum"
    if isinstance(value, str):
        for name in node.formats:
            format_pattern = _FORMATS.get(name)
            if format_pattern is not None and format_pattern.fullmatch(value) is None:
                return name
    return ""


def _is_coercible(node: SchemaNode, value: Any) -> bool:
    """Returns whether a value can be converted to a type of the schema without an error."""
    for name in node.types:
        python_type = _PYTHON_TYPES.get(name)
        coerced = None if python_type is None else coerce_value(value, python_type)
        if coerced is not None and not _find_type_fault(
            node, coerced, _predicted_type(node, coerced)
        ):
            return True
    return False
