"""Numbers: equal, near, or a quantity with its unit written as text."""

from __future__ import annotations

import math
import re

from eval.extraction.matchers.compared import EQUAL, UNEQUAL, Compared, below_exact
from eval.extraction.matchers.normalising import folded
from eval.extraction.matchers.strings import exact_text
from eval.extraction.settings import Matching

Number = int | float

LONGEST = 100
"""Characters of a text that is read as a quantity; digits beyond take quadratic time to read."""

_QUANTITY = re.compile(
    r"(?P<before>[^\d+.,-]*)(?P<number>[+-]?(?:\d[\d.,'’ ]*|[.,]\d[\d.,]*)(?:[eE][+-]?\d{1,3})?)"
    r"(?P<after>.*)",
    re.DOTALL,
)
_THREE_DIGITS = re.compile(r"\d{3}")
_SEPARATORS = re.compile(r"[.,]")


def exact_number(
    expected: Number, came: Number, matching: Matching, _: float | None = None
) -> Compared:
    """Equal to within ``epsilon``, or nothing; whole numbers to the digit."""
    return EQUAL if equal_numbers(expected, came, matching.epsilon) else UNEQUAL


def near_number(
    expected: Number, came: Number, matching: Matching, tolerance: float | None
) -> Compared:
    """1 less the relative difference: ``1 - |came - expected| / |expected|``, at least 0.

    Within the tolerance it is 1. Beyond it, it stays below an exact match's, since the numbers do
    differ: 104 for 100 would else be exact. Of an expected 0 only 0 is near.
    """
    if equal_numbers(expected, came, matching.epsilon):
        return EQUAL
    off = relative_difference(expected, came)
    allowed = matching.numeric_tolerance if tolerance is None else tolerance
    if off <= allowed:
        return False, 1.0, None
    return False, round(below_exact(max(0.0, 1 - off), matching), 12), None


def equal_numbers(first: Number, second: Number, epsilon: float) -> bool:
    """Whether they differ by at most ``epsilon``; whole numbers not at all.

    JSON has no NaN, but readers let it pass: it equals itself here, or nothing would equal itself.
    """
    if first == second:
        return True
    if isinstance(first, int) and isinstance(second, int):
        return False
    if first != first or second != second:
        return first != first and second != second
    try:
        return abs(first - second) <= epsilon
    except OverflowError:  # a whole number beyond all floats, and a float
        return False


def relative_difference(expected: Number, came: Number) -> float:
    """``|came - expected| / |expected|``; infinite of 0, of what overflows, and of NaN."""
    try:
        off = abs(came - expected) / abs(expected)
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return off if off == off else math.inf


def quantity_text(
    expected: str, came: str, matching: Matching, tolerance: float | None
) -> Compared:
    """Numbers in texts, with their units: "12 kg" is "12.0 kg".

    A different unit is nothing; a unit on one side only halves the score. Units are compared as
    they are written, none is converted. What is no quantity must be equal as text.
    """
    first, second = quantity(expected), quantity(came)
    if first is None or second is None:
        return exact_text(expected, came, matching)
    equal, score, _ = near_number(first[0], second[0], matching, tolerance)
    if first[1] == second[1]:
        return equal, score, None
    if first[1] and second[1]:
        return UNEQUAL
    return False, score / 2, None


def quantity(text: str) -> tuple[float, str] | None:
    """A number and what is written around it, folded; null if the text has no number, or two.

    Of several separators the last one is the decimal one if it occurs once. A lone comma before
    three digits separates thousands, a lone point never does: "1,234" is 1234, "1.234" is not.
    """
    if len(text) > LONGEST:
        return None
    found = _QUANTITY.fullmatch(text)
    if found is None or any(char.isdigit() for char in found["after"]):
        return None
    number = plain_number(found["number"].rstrip(" .,'’"))
    if number is None:
        return None
    unit = " ".join((found["before"] + " " + found["after"]).split())
    return number, folded(unit)


def plain_number(text: str) -> float | None:
    """A number as people write it; null if it is none."""
    text = re.sub(r"['’\s]", "", text)
    marks = _SEPARATORS.findall(text)
    if marks:
        last = marks[-1]
        head, _, tail = text.rpartition(last)
        if len(set(marks)) == 2:
            if marks.count(last) > 1:
                return None
            thousands = False
        else:
            thousands = len(marks) > 1 or (
                last == "," and _THREE_DIGITS.fullmatch(tail) is not None
            )
        head = _SEPARATORS.sub("", head)
        text = head + tail if thousands else f"{head}.{tail}"
    try:
        return float(text)
    except ValueError:
        return None
