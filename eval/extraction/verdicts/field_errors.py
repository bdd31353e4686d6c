"""Which of the specification's error patterns a field that is wrong shows: one of twelve."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, Final

from eval.extraction.matchers.choosing import canonical
from eval.extraction.matchers.comparing import coerced
from eval.extraction.matchers.fields import json_text
from eval.extraction.matchers.normalising import folded, words_apart
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
"""Texts that say there is nothing, where null would have said it."""

_LOOKS: Final = 100
"""Occurrences of one text in another that are looked at."""


def moved(entries: list[Entry], matching: Matching) -> frozenset[int]:
    """Indexes of fields that were extracted, but at another place: missed here, spurious there.

    They have the same name and value and another path. Each missed one is found once at most.
    """
    # By identity and then by path, so that no field is held against many of its own path.
    missed: dict[Any, dict[str, deque[int]]] = defaultdict(lambda: defaultdict(deque))
    for index, entry in enumerate(entries):
        if entry.compared is None and entry.predicted is None and entry.mismatch is None:
            identity = _identity(entry, entry.expected, matching)
            missed[identity][entry.place.path].append(index)
    found: set[int] = set()
    if not missed:
        return frozenset()
    for index, entry in enumerate(entries):
        if entry.compared is None and entry.predicted is not None and entry.mismatch is None:
            by_path = missed.get(_identity(entry, entry.predicted, matching), {})
            path = next((path for path in by_path if path != entry.place.path), None)
            if path is not None:
                found |= {by_path[path].popleft(), index}
                if not by_path[path]:
                    del by_path[path]
    return frozenset(found)


def _identity(entry: Entry, value: Any, matching: Matching) -> tuple[str, Any]:
    if isinstance(value, list | dict):
        return entry.place.name, json_text(value) if entry.place.level < 50 else id(value)
    return entry.place.name, canonical(value, "exact", matching)


def missed_error(entry: Entry, *, moved_away: bool) -> str:
    """The pattern of an expected field that did not come."""
    if entry.mismatch is not None:
        return _structure_error(entry)
    if moved_away:
        return "wrong_nesting"
    return "missing_required_field" if entry.place.required else "missing_value"


def spurious_error(entry: Entry, hallucination: int, *, moved_here: bool) -> str:
    """The pattern of a field that came and was not expected."""
    if entry.mismatch is not None:
        return _structure_error(entry)
    if moved_here:
        return "wrong_nesting"
    if is_placeholder(entry.predicted):
        return "type_coercion_failed"
    return "hallucinated_value" if hallucination == 1 else "extra_field"


def paired_error(
    entry: Entry, category: str, hallucination: int, *, type_right: bool | None
) -> str:
    """The pattern of a field that came and is not an exact match of the right type."""
    expected, predicted = entry.expected, entry.predicted
    if type(expected) is not type(predicted) and not _both_numbers(expected, predicted):
        readable = coerced(predicted, type(expected)) is not None
        unreadable = isinstance(predicted, str) and not readable
        return "type_coercion_failed" if unreadable else "wrong_type"
    if type_right is False:
        return "wrong_type"
    if category == "exact":
        return ""
    if isinstance(expected, str):
        first, second = (" ".join(folded(text).split()) for text in (expected, predicted))
        if _holds(first, second):
            return "incomplete_extraction"
        if _holds(second, first):
            return "over_extraction"
    if hallucination == 2:
        return "hallucinated_value"
    return "partial_value" if category == "partial" else "wrong_value"


def is_placeholder(value: Any) -> bool:
    """Whether a value says in words that there is none."""
    return isinstance(value, str) and len(value) < 40 and folded(value.strip()) in PLACEHOLDERS


def _structure_error(entry: Entry) -> str:
    assert entry.mismatch is not None
    kinds = {entry.mismatch.expected, entry.mismatch.predicted}
    return "array_vs_object" if kinds == {"array", "object"} else "wrong_type"


def _both_numbers(first: Any, second: Any) -> bool:
    return type(first) in (int, float) and type(second) in (int, float)


def _holds(whole: str, part: str) -> bool:
    """Whether ``part`` stands in ``whole`` from the edge of a word to the edge of a word."""
    at = whole.find(part) if part and len(part) < len(whole) else -1
    for _ in range(_LOOKS):
        if at < 0:
            return False
        end = at + len(part)
        if words_apart(whole[at - 1 : at], part[0]) and words_apart(part[-1], whole[end : end + 1]):
            return True
        at = whole.find(part, at + 1)
    return False
