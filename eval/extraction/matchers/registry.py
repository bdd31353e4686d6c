"""Lists the matchers by name, and the values that ``x-match`` may have in a schema."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from eval.extraction.matchers.dates import match_date, match_time, parse_moment
from eval.extraction.matchers.identifiers import (
    match_email,
    match_phone,
    match_url,
    match_uuid,
    normalise_email,
    normalise_phone,
    normalise_url,
    normalise_uuid,
)
from eval.extraction.matchers.lists import MATCHERS as LIST_MATCHERS
from eval.extraction.matchers.match_result import Matcher
from eval.extraction.matchers.normalisation import normalise_spacing
from eval.extraction.matchers.quantities import (
    match_exact_number,
    match_near_number,
    match_number,
    match_quantity,
)
from eval.extraction.matchers.strings import (
    fold_harmless_case,
    match_exact_text,
    match_fuzzy_text,
    match_literal_text,
    match_partial_text,
)
from eval.extraction.settings import Matching

TEXT_MATCHERS: dict[str, Matcher] = {
    "exact": match_exact_text,
    "literal": match_literal_text,
    "enum": match_exact_text,
    "partial": match_partial_text,
    "fuzzy": match_fuzzy_text,
    "numeric": match_quantity,
    "date": match_date,
    "time": match_time,
    "email": match_email,
    "url": match_url,
    "uuid": match_uuid,
    "phone": match_phone,
}
NUMBER_MATCHERS: dict[str, Matcher] = {
    "exact": match_exact_number,
    "literal": match_exact_number,
    "enum": match_exact_number,
    "number": match_number,
    "partial": match_near_number,
    "fuzzy": match_near_number,
    "numeric": match_near_number,
}
MATCH_NAMES = (*TEXT_MATCHERS, *LIST_MATCHERS, "ignore")
"""Allowed values of ``x-match``. A matcher that cannot match values of some type is ignored for
them."""

_NORMALISERS = {
    "email": normalise_email,
    "url": normalise_url,
    "uuid": normalise_uuid,
    "phone": normalise_phone,
    "date": parse_moment,
}

__all__ = [
    "LIST_MATCHERS",
    "MATCH_NAMES",
    "NUMBER_MATCHERS",
    "TEXT_MATCHERS",
    "to_canonical_value",
]


def to_canonical_value(value: Any, matcher: str, matching: Matching) -> Hashable:
    """Converts a scalar to a hashable value; two such values are equal if the scalars match.

    Args:
        value: a string, number, boolean or null. Floats are rounded to fifteen digits.
        matcher: name of the text matcher; some normalise the spelling.
        matching: settings of the normalisation.
    """
    # Booleans and null become tuples, because True == 1 in Python.
    if isinstance(value, str):
        normalise = _NORMALISERS.get(matcher)
        normalised = normalise(value) if normalise is not None else None
        if normalised:
            return normalised
        if matcher == "literal":
            return value
        text = normalise_spacing(value, matching)
        return text if matching.case_sensitive else fold_harmless_case(text)
    if isinstance(value, bool) or value is None:
        return ("json", value)
    if isinstance(value, float):
        if value != value:
            return ("json", "NaN")
        return float(f"{value:.15g}")
    return value  # type: ignore[no-any-return]
