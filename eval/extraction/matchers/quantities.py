"""Matches numbers: exactly, approximately, or as quantities with units in texts."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from eval.extraction.matchers.amounts import Amount, parse_amount
from eval.extraction.matchers.match_result import (
    EQUAL,
    NEAR,
    UNEQUAL,
    MatchResult,
    accept_within,
    cap_below_exact,
)
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.strings import match_exact_text
from eval.extraction.matchers.units import is_same_unit
from eval.extraction.settings import Matching

Number = int | float

MAX_QUANTITY_LENGTH = 100
"""Maximum length of a number in a text: Python parses long digit strings in quadratic time."""

_LABEL = re.compile(r"[^\d+,(-]*?(?=[\d+,(-]|\.\d|$)", re.DOTALL)
_INFINITIES = (math.inf, -math.inf)


def match_exact_number(
    expected: Number, predicted: Number, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches numbers exactly: score 1 if equal (fractions within ``epsilon``), else 0."""
    return EQUAL if are_equal_numbers(expected, predicted, matching.epsilon) else UNEQUAL


def match_number(
    expected: Number, predicted: Number, matching: Matching, tolerance: float | None
) -> MatchResult:
    """Matches numbers exactly, unless the schema gives a tolerance or the rule ``near`` is on."""
    if tolerance is None and NEAR not in matching.rules:
        return match_exact_number(expected, predicted, matching)
    return match_near_number(expected, predicted, matching, tolerance)


def match_near_number(
    expected: Number, predicted: Number, matching: Matching, tolerance: float | None
) -> MatchResult:
    """Scores numbers by 1 − relative difference: ``1 - |predicted - expected| / |expected|``.

    The score is at least 0, and 1 within the tolerance. Outside the tolerance it is capped below
    the exact threshold; otherwise 104 would count as an exact match of 100. If the expected number
    is 0, every other number scores 0. The general tolerance is for fractions only: 1991 is not
    1990, unless the schema says so.
    """
    if are_equal_numbers(expected, predicted, matching.epsilon):
        return EQUAL
    difference = relative_difference(expected, predicted)
    if tolerance is None:
        is_whole = is_whole_number(expected) and is_whole_number(predicted)
        is_close = not is_whole and difference <= matching.numeric_tolerance
    else:
        is_close = difference <= tolerance
    if is_close:
        return accept_within(1.0)
    return False, round(cap_below_exact(max(0.0, 1 - difference), matching), 12), None, ""


def is_whole_number(number: Number) -> bool:
    """Returns whether a number has no fraction."""
    return isinstance(number, int) or number.is_integer()


def are_equal_numbers(first: Number, second: Number, epsilon: float) -> bool:
    """Returns whether numbers are equal; fractions may differ by ``epsilon`` of the greater.

    JSON has no NaN, but some parsers accept it. Here NaN equals NaN, so that every value equals
    itself.
    """
    if first == second:
        return True
    if isinstance(first, int) and isinstance(second, int):
        return False
    try:
        difference, magnitude = abs(first - second), max(abs(first), abs(second))
    except OverflowError:  # an integer too large for a float, and a float
        return False
    if difference > epsilon * magnitude:
        return False
    # Here they are nearly equal, or one is infinite or NaN, which differs from itself.
    if first != first or second != second:
        return first != first and second != second
    is_infinite = first in _INFINITIES or second in _INFINITIES
    return not is_infinite and not (is_whole_number(first) and is_whole_number(second))


def relative_difference(expected: Number, predicted: Number) -> float:
    """Computes ``|predicted - expected| / |expected|``; infinite for 0, on overflow and for NaN."""
    try:
        difference = abs(predicted - expected) / abs(expected)
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return math.inf if math.isnan(difference) else difference


def match_quantity(
    expected: str, predicted: str, matching: Matching, tolerance: float | None
) -> MatchResult:
    """Matches quantities in texts: "12 kg" equals "12.0 kg".

    Another unit or currency scores 0; one that is missing on one side halves the score. Units are
    compared as written, without conversion. Texts that are not quantities must be equal.
    """
    first, second = _parse_pair(expected, predicted, matching.decimal_mark)
    if first is None or second is None:
        return match_exact_text(expected, predicted, matching)
    sides = [(one.currency, one.percent, one.unit.lower()) for one in (first, second)]
    is_open = first.is_open or second.is_open
    readings = [(one.is_open, one.number, one.others) for one in (first, second)]
    if is_open and readings[0] != readings[1]:
        return UNEQUAL
    result = match_near_number(float(first.number), float(second.number), matching, tolerance)
    equal, score, _, rule = result
    if sides[0] == sides[1] and is_same_unit(first.unit, second.unit):
        # In the strict reading, "$5" is not "USD 5".
        is_other_spelling = equal and not rule and first.symbol != second.symbol
        return UNEQUAL if is_other_spelling else result
    if any(sides[0]) and any(sides[1]):
        return UNEQUAL
    return False, score / 2, None, ""


def _parse_pair(
    expected: str, predicted: str, decimal_mark: str
) -> tuple[Amount | None, Amount | None]:
    """Parses two amounts, also after the same words: "approx. 12 kg"."""
    first, second = parse_amount(expected, decimal_mark), parse_amount(predicted, decimal_mark)
    if first is not None and second is not None:
        return first, second
    label, other = (_LABEL.match(text)[0] for text in (expected, predicted))  # type: ignore[index]
    if fold_case(label.strip()) != fold_case(other.strip()):
        return None, None
    rests = expected[len(label) :], predicted[len(other) :]
    return parse_amount(rests[0], decimal_mark), parse_amount(rests[1], decimal_mark)


MAX_DURATION_LENGTH: Final = 40
"""Maximum length of a text that is parsed as a duration."""
_NUMBER: Final = r"\d+(?:[.,]\d+)?"
_DURATION: Final = re.compile(
    rf"(?P<sign>[+-]?)P(?=\d|T\d)(?:(?P<Y>{_NUMBER})Y)?(?:(?P<M>{_NUMBER})M)?(?:(?P<W>{_NUMBER})W)?"
    rf"(?:(?P<D>{_NUMBER})D)?"
    rf"(?:T(?=\d)(?:(?P<h>{_NUMBER})H)?(?:(?P<m>{_NUMBER})M)?(?:(?P<s>{_NUMBER})S)?)?",
    re.ASCII,
)
_MONTHS_OF: Final = {"Y": 12, "M": 1}
_SECONDS_OF: Final = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}


def read_duration(text: str) -> tuple[Decimal, Decimal] | None:
    """Returns the months and seconds of a duration of ISO 8601; ``None`` if a text is none.

    A month has no fixed number of days, and a day counts as 24 hours.
    """
    if not text.lstrip("+-").startswith("P") or len(text) > MAX_DURATION_LENGTH:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match["sign"] == "-" else 1

    def add_up(factors: dict[str, int]) -> Decimal:
        parts = (
            Decimal(match[name].replace(",", ".")) * factor
            for name, factor in factors.items()
            if match[name]
        )
        return sign * sum(parts, Decimal())

    return add_up(_MONTHS_OF), add_up(_SECONDS_OF)
