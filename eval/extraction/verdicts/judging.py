"""Aligned fields to verdicts: category, type, hallucination, error pattern."""

from __future__ import annotations

import re
from typing import Any, Final

from eval.extraction.matchers.comparing import coerced, same
from eval.extraction.matchers.fields import Place, json_text
from eval.extraction.matchers.normalising import json_type
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alignment import Entry
from eval.extraction.verdicts.field_errors import missed_error, moved, paired_error, spurious_error
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
"""Shapes of formats, for values of replies whose other parts are not valid: a valid reply has all
its formats right. Formats not named here are let pass."""


class Judge:
    """Judges the fields of one sample."""

    def __init__(self, text: str, matching: Matching, *, valid: bool) -> None:
        """Takes the sample's text, and whether the reply is valid as a whole."""
        self._text: Final = text
        self._matching: Final = matching
        self._valid: Final = valid
        self._evidence: Evidence | None = None

    def fields(self, entries: list[Entry]) -> tuple[FieldMatch, ...]:
        """A verdict on each field, in their order."""
        self._entries = entries
        out_of_place: frozenset[int] | None = None
        found = []
        for index, entry in enumerate(entries):
            if entry.compared is not None:
                found.append(self._paired(entry))
                continue
            if out_of_place is None:
                out_of_place = moved(entries, self._matching)
            if entry.predicted is None:
                found.append(self._missed(entry, moved_away=index in out_of_place))
            else:
                found.append(self._spurious(entry, moved_here=index in out_of_place))
        return tuple(found)

    def _paired(self, entry: Entry) -> FieldMatch:
        place, expected, predicted, compared, _, _ = entry
        assert compared is not None
        matching = self._matching
        equal, score, similarity = compared
        wanted, came, right = self._types(entry)
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
            error = paired_error(entry, category, hallucination, type_right=right)
            equal = equal and (right is not False or same(expected, predicted))
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            wanted,
            came,
            _matcher(place, expected, matching),
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

    def _missed(self, entry: Entry, *, moved_away: bool) -> FieldMatch:
        place = entry.place
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            entry.mismatch.expected if entry.mismatch else _type_of(place, entry.expected),
            "",
            _matcher(place, entry.expected, self._matching),
            "missed",
            False,
            None,
            None,
            None,
            missed_error(entry, moved_away=moved_away),
            0,
            entry.expected,
            None,
        )

    def _spurious(self, entry: Entry, *, moved_here: bool) -> FieldMatch:
        place = entry.place
        hallucination = 4 if entry.surplus else 3 if self._stands(place, entry.predicted) else 1
        wanted, came, right = self._types(entry)
        return FieldMatch(
            place.path,
            place.name,
            place.depth,
            place.required,
            wanted,
            came,
            _matcher(place, entry.predicted, self._matching),
            "spurious",
            False,
            None,
            None,
            right,
            spurious_error(entry, hallucination, moved_here=moved_here),
            hallucination,
            None,
            entry.predicted,
        )

    def _paired_hallucination(self, entry: Entry, category: Category) -> int:
        """4 for a list with more elements than expected, 2 for a wrong value found nowhere."""
        expected, predicted = entry.expected, entry.predicted
        if category == "exact":
            return 0
        if isinstance(expected, list) and isinstance(predicted, list):
            if len(predicted) > len(expected):
                return 4
        elif isinstance(predicted, bool) or entry.place.offers(predicted):
            return 0  # chosen, not taken from the text: a wrong choice made nothing up
        return 2 if category == "incorrect" and not self._stands(entry.place, predicted) else 0

    def _stands(self, place: Place, value: Any) -> bool:
        if self._evidence is None:
            self._evidence = Evidence(self._text, (entry.expected for entry in self._entries))
        return self._evidence.has(value, _element_matcher(place, value))

    def _types(self, entry: Entry) -> tuple[str, str, bool | None]:
        """The type a predicted field should have, the one it has, and whether that is right."""
        place, expected, predicted, _, mismatch, _ = entry
        types = place.types
        if self._valid and len(types) == 1 and mismatch is None:
            # With a valid reply the schema has had its say on every alternative.
            return types[0], types[0], True
        known = bool(place.types) or place.allowed is not None
        if mismatch is not None:
            right = self._valid if known or not self._valid else None
            return mismatch.expected, mismatch.predicted, right
        wanted, came = _type_of(place, expected), _predicted_type(place, predicted)
        if not known:
            return wanted, came, None if expected is None else wanted == came
        if self._valid:
            return (came if came in place.types else wanted), came, True
        fault = _fault(place, predicted, came)
        if not fault or (self._matching.coercion == "lenient" and _coercible(place, predicted)):
            return came if came in place.types else wanted, came, True
        return (wanted if fault == "type" else f"{came} ({fault})"), came, False


def _matcher(place: Place, value: Any, matching: Matching) -> str:
    """The name of the matcher for a value at a place."""
    if isinstance(value, str):
        return place.text
    if isinstance(value, list):
        return place.array or ("list" if matching.ordered_arrays else "bag")
    if isinstance(value, bool | dict):
        return "exact"
    return place.number


def _element_matcher(place: Place, value: Any) -> str:
    return place.element().text if isinstance(value, list) else place.text


def _type_of(place: Place, expected: Any) -> str:
    """The type a field should have: the schema's, of several the expected value's."""
    types = place.types
    if len(types) == 1:
        return types[0]
    if expected is None:
        return types[0] if types else ""
    own = json_type(expected)
    if not types or own in types:
        return own
    return "integer" if own == "number" and "integer" in types else types[0]


def _predicted_type(place: Place, value: Any) -> str:
    """The JSON type of a value; a whole number is an integer where the schema wants one."""
    own = json_type(value)
    if own == "number" and "integer" in place.types and "number" not in place.types:
        return "integer" if isinstance(value, int) or value.is_integer() else own
    return own


def _fault(place: Place, value: Any, came: str) -> str:
    """What is wrong with a value's type: ``type``, ``enum``, the name of a format, or nothing."""
    if place.types and came not in place.types:
        return "type"
    if place.allowed is not None and json_text(value) not in place.allowed:
        return "enum"
    if isinstance(value, str):
        for name in place.formats:
            shape = _FORMATS.get(name)
            if shape is not None and shape.fullmatch(value) is None:
                return name
    return ""


def _coercible(place: Place, value: Any) -> bool:
    for name in place.types:
        kind = _PYTHON_TYPES.get(name)
        read = None if kind is None else coerced(value, kind)
        if read is not None and not _fault(place, read, _predicted_type(place, read)):
            return True
    return False
