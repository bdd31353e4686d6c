"""Matches numbers: exactly, approximately, or as quantities with units in texts."""

from __future__ import annotations

import math
import re

from eval.extraction.matchers.amounts import differs_in_prefix
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
from eval.extraction.settings import Matching

Number = int | float

MAX_QUANTITY_LENGTH = 100
"""Maximum length of a text that is parsed as a quantity: Python parses long digit strings in
quadratic time."""

# Matches one number with any text before and after it, such as "$ 1,200" or "12.5 kg".
_QUANTITY = re.compile(
    r"(?P<before>[^\d+.,-]*)(?P<number>[+-]?(?:\d[\d.,'’ ]*|[.,]\d[\d.,]*)(?:[eE][+-]?\d{1,3})?)"
    r"(?P<after>.*)",
    re.DOTALL,
)
_INFINITIES = (math.inf, -math.inf)
_THREE_DIGITS = re.compile(r"\d{3}")
_SEPARATORS = re.compile(r"[.,]")


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

    A different unit scores 0; a unit on one side only halves the score. Units are compared as
    written, without conversion. Texts that are not quantities must be equal.
    """
    first, second = parse_quantity(expected), parse_quantity(predicted)
    if first is None or second is None:
        return match_exact_text(expected, predicted, matching)
    equal, score, _, rule = match_near_number(first[0], second[0], matching, tolerance)
    if first[1] == second[1] and not differs_in_prefix(expected, predicted):
        return equal, score, None, rule
    if first[1] and second[1]:
        return UNEQUAL
    return False, score / 2, None, ""


def parse_quantity(text: str) -> tuple[float, str] | None:
    """Parses a number and its unit (case-folded); ``None`` if there is not exactly one number.

    With both commas and points, the last one is the decimal separator and must occur once. One kind
    of separator that occurs several times separates thousands. A single comma before three digits
    separates thousands, a single point does not: "1,234" is 1234, but "1.234" is not.
    """
    if len(text) > MAX_QUANTITY_LENGTH:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None or any(char.isdigit() for char in match["after"]):
        return None
    number = parse_plain_number(match["number"].rstrip(" .,'’"))
    if number is None:
        return None
    unit = " ".join((match["before"] + " " + match["after"]).split())
    return number, fold_case(unit)


def parse_plain_number(text: str) -> float | None:
    """Parses a number with thousands or decimal separators; ``None`` if it is not a number."""
    text = re.sub(r"['’\s]", "", text)
    separators = _SEPARATORS.findall(text)
    if separators:
        last_separator = separators[-1]
        head, _, tail = text.rpartition(last_separator)
        if len(set(separators)) == 2:
            if separators.count(last_separator) > 1:
                return None
            is_thousands = False
        else:
            is_thousands = len(separators) > 1 or (
                last_separator == "," and _THREE_DIGITS.fullmatch(tail) is not None
            )
        head = _SEPARATORS.sub("", head)
        text = head + tail if is_thousands else f"{head}.{tail}"
    try:
        return float(text)
    except ValueError:
        return None
