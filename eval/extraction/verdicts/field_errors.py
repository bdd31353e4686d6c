"""Assigns one of the specification's twelve error patterns to a wrong field.

The parameter ``hallucination`` is the type of hallucination, 1 to 4 as listed in the module
``hallucination``, or 0 for none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, Final

from eval.extraction.matchers.normalisation import fold_case, is_word_boundary
from eval.extraction.matchers.registry import to_canonical_value
from eval.extraction.matchers.rules import is_placeholder
from eval.extraction.matchers.schema_nodes import encode_json
from eval.extraction.matchers.value_comparison import coerce_value
from eval.extraction.settings import Matching
from eval.extraction.verdicts.entries import Entry

_MAX_OCCURRENCES: Final = 100
"""Maximum number of occurrences of one text in another that are checked."""


def find_moved_fields(entries: list[Entry], matching: Matching) -> frozenset[int]:
    """Finds fields that were extracted under another path than expected.

    Such a field is missed under the expected path and spurious under the other, with the same name
    and value. Each missed field is matched at most once.

    Returns:
        The indexes of both the missed and the spurious fields.
    """
    # Indexed by identity, then by path, so that fields with the same path are skipped in one step.
    missed_indexes: dict[Any, dict[str, deque[int]]] = defaultdict(lambda: defaultdict(deque))
    for index, entry in enumerate(entries):
        if entry.match is None and entry.predicted is None and entry.mismatch is None:
            identity = _field_identity(entry, entry.expected, matching)
            missed_indexes[identity][entry.node.path].append(index)
    moved_indexes: set[int] = set()
    if not missed_indexes:
        return frozenset()
    for index, entry in enumerate(entries):
        if entry.match is None and entry.predicted is not None and entry.mismatch is None:
            by_path = missed_indexes.get(_field_identity(entry, entry.predicted, matching), {})
            path = next((path for path in by_path if path != entry.node.path), None)
            if path is not None:
                moved_indexes |= {by_path[path].popleft(), index}
                if not by_path[path]:
                    del by_path[path]
    return frozenset(moved_indexes)


def _field_identity(entry: Entry, value: Any, matching: Matching) -> tuple[str, Any]:
    """Returns name and value in a form that is equal for the same field under different paths."""
    if isinstance(value, list | dict):
        # Encoding deeply nested values could exceed the recursion limit; their ids never match.
        return entry.node.name, encode_json(value) if entry.node.level < 50 else id(value)
    return entry.node.name, to_canonical_value(value, "exact", matching)


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


def classify_paired(entry: Entry, category: str, *, type_right: bool | None) -> str:
    """Returns the pattern of an extracted field that is not an exact match of the right type."""
    expected, predicted = entry.expected, entry.predicted
    if type(expected) is not type(predicted) and not _are_numbers(expected, predicted):
        is_readable = coerce_value(predicted, type(expected)) is not None
        is_unreadable = isinstance(predicted, str) and not is_readable
        return "type_coercion_failed" if is_unreadable else "wrong_type"
    if type_right is False:
        return "wrong_type"
    if category == "exact":
        return ""
    if isinstance(expected, str):
        expected_text, predicted_text = (
            " ".join(fold_case(text).split()) for text in (expected, predicted)
        )
        if _contains_words(expected_text, predicted_text):
            return "incomplete_extraction"
        if _contains_words(predicted_text, expected_text):
            return "over_extraction"
    return "partial_value" if category == "partial" else "wrong_value"


def _classify_mismatch(entry: Entry) -> str:
    assert entry.mismatch is not None
    kinds = {entry.mismatch.expected, entry.mismatch.predicted}
    return "array_vs_object" if kinds == {"array", "object"} else "wrong_type"


def _are_numbers(first: Any, second: Any) -> bool:
    return type(first) in (int, float) and type(second) in (int, float)


def _contains_words(text: str, words: str) -> bool:
    """Returns whether ``words`` occur in ``text`` between word boundaries."""
    start = text.find(words) if words and len(words) < len(text) else -1
    for _ in range(_MAX_OCCURRENCES):
        if start < 0:
            return False
        end = start + len(words)
        if is_word_boundary(text[start - 1 : start], words[0]) and is_word_boundary(
            words[-1], text[end : end + 1]
        ):
            return True
        start = text.find(words, start + 1)
    return False
