"""Matchers by name, and the names that ``x-match`` may have in a schema."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from eval.extraction.matchers.compared import Matcher
from eval.extraction.matchers.dates import moment, same_date, same_time
from eval.extraction.matchers.identifiers import (
    email,
    phone,
    same_email,
    same_phone,
    same_url,
    same_uuid,
    url,
    uuid,
)
from eval.extraction.matchers.lists import MATCHERS as LIST_MATCHERS
from eval.extraction.matchers.normalising import folded, spaced
from eval.extraction.matchers.quantities import exact_number, near_number, quantity_text
from eval.extraction.matchers.strings import exact_text, fuzzy_text, partial_text
from eval.extraction.settings import Matching

TEXT_MATCHERS: dict[str, Matcher] = {
    "exact": exact_text,
    "enum": exact_text,
    "partial": partial_text,
    "fuzzy": fuzzy_text,
    "numeric": quantity_text,
    "date": same_date,
    "time": same_time,
    "email": same_email,
    "url": same_url,
    "uuid": same_uuid,
    "phone": same_phone,
}
NUMBER_MATCHERS: dict[str, Matcher] = {
    "exact": exact_number,
    "enum": exact_number,
    "partial": near_number,
    "fuzzy": near_number,
    "numeric": near_number,
}
MATCH_NAMES = (*TEXT_MATCHERS, *LIST_MATCHERS, "ignore")
"""What ``x-match`` may be. One that has no meaning for a value's type leaves that type's own."""

_SPELLINGS = {"email": email, "url": url, "uuid": uuid, "phone": phone, "date": moment}

__all__ = [
    "LIST_MATCHERS",
    "MATCH_NAMES",
    "NUMBER_MATCHERS",
    "TEXT_MATCHERS",
    "canonical",
]


def canonical(value: Any, matcher: str, matching: Matching) -> Hashable:
    """What a scalar is known by among others: equal exactly where they count as the same.

    Args:
        value: a text, number, truth value or null.
        matcher: name of the matcher of texts; those that have one spelling a value use it.
        matching: how texts are normalised. Floats are rounded to twelve digits.
    """
    if isinstance(value, str):
        spell = _SPELLINGS.get(matcher)
        spelt = spell(value) if spell is not None else None
        if spelt:
            return spelt
        text = spaced(value, matching)
        return text if matching.case_sensitive else folded(text)
    if isinstance(value, bool) or value is None:
        return ("json", value)
    if isinstance(value, float):
        if value != value:
            return ("json", "NaN")
        return float(f"{value:.12g}")
    return value  # type: ignore[no-any-return]
