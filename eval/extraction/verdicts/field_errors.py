"""Assigns one of the specification's twelve error patterns to a wrong field."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, Final

from eval.extraction.matchers.normalisation import fold_case, is_word_boundary
from eval.extraction.matchers.registry import canonical_value
from eval.extraction.matchers.schema_nodes import encode_json
from eval.extraction.matchers.value_comparison import coerce_value
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alignment import Entry

PLACEHOLDERS: Final = frozenset(
    [
        *("", "-", "--", "—", "?", "n/a", "na", "n.a.", "none", "null", "nil", "nan", "unknown"),
        *("tbd", "not available", "not applicable", "not specified", "not mentioned"),
        *("not provided", "not stated", "not given", "undefined", "unspecified", "missing"),
        *("unbekannt", "keine angabe", "inconnu", "non précisé", "desconocido", "no disponible"),
    ]
)
"""Texts that mean "no value", where null would be correct."""

_MAX_OCCURRENCES: Final = 100
"""Maximum number of occurrences of one text in another that are checked."""


def find_moved_fields(entries: list[Entry], matching: Matching) -> frozenset[int]:
    """Finds fields that were extracted under another path: missed here, spurious there.

    They have the same name and value but different paths. Each missed field is matched at most
    once.

    Returns:
        The indexes of both the missed and the spurious fields.
    """
    # Indexed by identity, then by path, so that fields with the same path are skipped in one step.
    missed: dict[Any, dict[str, deque[int]]] = defaultdict(lambda: defaultdict(deque))
    for index, entry in enumerate(entries):
        if entry.match is None and entry.predicted is None and entry.mismatch is None:
            identity = _field_identity(entry, entry.expected, matching)
            missed[identity][entry.node.path].append(index)
    moved: set[int] = set()
    if not missed:
        return frozenset()
    for index, entry in enumerate(entries):
        if entry.match is None and entry.predicted is not None and entry.mismatch is None:
            by_path = missed.get(_field_identity(entry, entry.predicted, matching), {})
            path = next((path for path in by_path if path != entry.node.path), None)
            if path is not None:
                moved |= {by_path[path].popleft(), index}
                if not by_path[path]:
                    del by_path[path]
    return frozenset(moved)


def _field_identity(entry: Entry, value: Any, matching: Matching) -> tuple[str, Any]:
    if isinstance(value, list | dict):
        return entry.node.name, encode_json(value) if entry.node.level < 50 else id(value)
    return entry.node.name, canonical_value(value, "exact", matching)


def classify_missed(entry: Entry, *, is_moved: bool) -> str:
    """Returns the pattern of an expected field that was not extracted."""
    if entry.mismatch is not None:
        return _classify_mismatch(entry)
    if is_moved:
        return "wrong_nesting"
    return "missing_required_field" if entry.node.required else "missing_value"


def classify_spurious(entry: Entry, hallucination: int, *, is_moved: bool) -> str:
    """Returns the pattern of an extracted field that was not expected."""
    if entry.mismatch is not None:
        return _classify_mismatch(entry)
    if is_moved:
        return "wrong_nesting"
    if is_placeholder(entry.predicted):
        return "type_coercion_failed"
    return "hallucinated_value" if hallucination == 1 else "extra_field"


def classify_paired(
    entry: Entry, category: str, hallucination: int, *, type_right: bool | None
) -> str:
    """Returns the pattern of an extracted field that is not an exact match of the right type."""
    expected, predicted = entry.expected, entry.predicted
    if type(expected) is not type(predicted) and not _are_numbers(expected, predicted):
        readable = coerce_value(predicted, type(expected)) is not None
        unreadable = isinstance(predicted, str) and not readable
        return "type_coercion_failed" if unreadable else "wrong_type"
    if type_right is False:
        return "wrong_type"
    if category == "exact":
        return ""
    if isinstance(expected, str):
        first, second = (" ".join(fold_case(text).split()) for text in (expected, predicted))
        if _contains_words(first, second):
            return "incomplete_extraction"
        if _contains_words(second, first):
            return "over_extraction"
    if hallucination == 2:
        return "hallucinated_value"
    return "partial_value" if category == "partial" else "wrong_value"


def is_placeholder(value: Any) -> bool:
    """Returns whether a value is a placeholder for "no value", such as "n/a"."""
    return isinstance(value, str) and len(value) < 40 and fold_case(value.strip()) in PLACEHOLDERS


def _classify_mismatch(entry: Entry) -> str:
    assert entry.mismatch is not None
    kinds = {entry.mismatch.expected, entry.mismatch.predicted}
    return "array_vs_object" if kinds == {"array", "object"} else "wrong_type"


def _are_numbers(first: Any, second: Any) -> bool:
    return type(first) in (int, float) and type(second) in (int, float)


def _contains_words(whole: str, part: str) -> bool:
    """Returns whether ``part`` occurs in ``whole`` between word boundaries."""
    start = whole.find(part) if part and len(part) < len(whole) else -1
    for _ in range(_MAX_OCCURRENCES):
        if start < 0:
            return False
        end = start + len(part)
        if is_word_boundary(whole[start - 1 : start], part[0]) and is_word_boundary(
            part[-1], whole[end : end + 1]
        ):
            return True
        start = whole.find(part, start + 1)
    return False
