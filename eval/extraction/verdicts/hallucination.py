"""Decides whether an extracted value occurs in the text or in another expected field.

Types of hallucination: 1, an unexpected field whose value occurs nowhere; 3, a value that occurs in
the text or in an expected field, but under an unexpected field name; 4, a surplus array element.
Type 2, an expected field with a wrong value that occurs nowhere, is counted but is no
hallucination: a value need not be in the text literally to be read from it. Without a text, only
type 4 can be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from eval.extraction.matchers.amounts import parse_decimal
from eval.extraction.matchers.dates import MONTHS, parse_moment
from eval.extraction.matchers.normalisation import fold_case, is_word_boundary
from eval.extraction.matchers.quantities import MAX_QUANTITY_LENGTH
from eval.extraction.verdicts.entries import Entry
from kg.words.number_words import NUMBER_WORDS, SCALE_LETTERS, SCALE_READINGS

MAX_TEXT_LENGTH: Final = 1_000_000
"""Number of characters of a text that are searched."""
_MAX_CACHED_VALUES: Final = 100_000

# A number with any separators, such as "1,234.5" or "24.12.2024".
_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
# A number with spaces between groups of three digits, such as "1 000 000".
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
# A number and the word after it, which may be a scale word, such as "3 million".
# Bounded and begun only where a number begins, so that the time is linear in the text's length.
_SCALED = re.compile(r"(?<!\d)(\d{1,60}(?:[.,]\d{1,60})?) ?([^\W\d]{1,20})(?![^\W\d])")
_DIGITS = re.compile(r"\d+")
_SEPARATORS = re.compile(r"[.,'’ ]")
_WORDS_BY_NUMBER = dict(enumerate(NUMBER_WORDS))
"""English words for small numbers."""


class Evidence:
    """Searches a sample's text and its expected fields; each index is built when first needed."""

    def __init__(self, text: str, expected: Iterable[Any]) -> None:
        """Takes the text and the values of the expected fields."""
        self._index: Final = index_text(text)
        self._expected: Final = expected
        self._expected_texts: str | None = None
        self._expected_numbers: frozenset[float] = frozenset()

    def contains_value(self, value: Any, matcher: str) -> bool:
        """Returns whether a value occurs in the text or equals that of an expected field.

        See ``TextIndex.contains_value``; an array must have all its elements in either.
        """
        if isinstance(value, list):
            return bool(value) and all(self.contains_value(element, matcher) for element in value)
        if self._index.contains_value(value, matcher):
            return True
        if isinstance(value, str):
            folded = " ".join(fold_case(value).split())
            is_word = any(map(str.isalnum, folded))
            return is_word and f"\n{folded}\n" in self._expected_values()[0]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return value in self._expected_values()[1]

    def _expected_values(self) -> tuple[str, frozenset[float]]:
        """Returns the expected strings and numbers, including those in arrays.

        Returns:
            The folded strings, each between newlines, and the set of numbers.
        """
        if self._expected_texts is None:
            texts: list[str] = []
            numbers: set[float] = set()
            for value in self._expected:
                for item in value if isinstance(value, list) else (value,):
                    if isinstance(item, str):
                        texts.append(" ".join(item.split()))
                    elif isinstance(item, int | float) and not isinstance(item, bool):
                        numbers.add(item)
            self._expected_texts = fold_case("\n".join(("", *texts, "")))
            self._expected_numbers = frozenset(numbers)
        return self._expected_texts, self._expected_numbers


class TextIndex:
    """Searches one text; each index is built when first needed."""

    def __init__(self, text: str) -> None:
        self._text: Final = " ".join(fold_case(text[:MAX_TEXT_LENGTH]).split())
        self._occurrences: dict[tuple[str, str], bool] = {}
        self._digits: str | None = None
        self._numbers: frozenset[float] | None = None
        self._large_numbers: frozenset[float] | None = None

    def contains_value(self, value: Any, matcher: str) -> bool:
        """Returns whether a value occurs in the text.

        A string occurs if it is found between word boundaries, ignoring case and spacing; a date if
        its year, month and day occur; a number if it is written in the text, a share also as a
        percentage; an array if all its elements occur. Booleans and nested values cannot be
        searched for and never occur.
        """
        if isinstance(value, str):
            folded = " ".join(fold_case(value).split())
            if not any(map(str.isalnum, folded)):
                return False
            # Cached, since a reply may repeat the same value a hundred thousand times.
            occurs = self._occurrences.get((folded, matcher))
            if occurs is None:
                if len(self._occurrences) >= _MAX_CACHED_VALUES:
                    self._occurrences.clear()
                occurs = self._occurrences[folded, matcher] = self._has_text(
                    folded
                ) or self._has_date(folded, matcher)
            return occurs
        if isinstance(value, list):
            return bool(value) and all(self.contains_value(element, matcher) for element in value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self._has_number(value)

    def _has_text(self, text: str) -> bool:
        start = self._text.find(text)
        while start >= 0:
            end = start + len(text)
            # At the start of the text, [-1:0] is the empty string, as it should be.
            if is_word_boundary(self._text[start - 1 : start], text[0]) and is_word_boundary(
                text[-1], self._text[end : end + 1]
            ):
                return True
            start = self._text.find(text, end)
        return False

    def _has_date(self, text: str, matcher: str) -> bool:
        if matcher != "date" and not text[:4].isdecimal():
            return False
        moment = parse_moment(text)
        if moment is None or moment.year is None or str(moment.year) not in self._text:
            return False
        if moment.day is not None and moment.day not in self.numbers:
            return False
        return (
            moment.month is None
            or moment.month in self.numbers
            or any(self._has_text(name) for name, month in MONTHS.items() if month == moment.month)
        )

    def _has_number(self, value: float) -> bool:
        try:
            magnitude = abs(float(value))
        except OverflowError:  # an integer too large for a float
            return abs(value) < 10**MAX_QUANTITY_LENGTH and self._has_text(str(abs(value)))
        # Most numbers are written in the usual way, which is found without parsing the text.
        if self._has_text(f"{magnitude:.12g}"):
            return True
        if magnitude in _WORDS_BY_NUMBER and self._has_text(_WORDS_BY_NUMBER[int(magnitude)]):
            return True
        # Parsing all numbers of a text is slow. Most made-up numbers have digits that do not occur
        # in the text in any notation, so test the digits first.
        if self._digits is None:
            self._digits = _SEPARATORS.sub("", self._text)
        # Up to 12 significant digits, without point, exponent, leading and trailing zeros.
        digits = f"{magnitude:.12g}".partition("e")[0].replace(".", "").strip("0")
        if digits not in self._digits:
            return False
        # A share also occurs if the text has it as a percentage.
        if magnitude in self.numbers or round(magnitude * 100, 9) in self.numbers:
            return True
        return magnitude >= 1000 and magnitude in self.large_numbers

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers of the text; a number with an ambiguous separator is read both ways."""
        if self._numbers is None:
            numbers: set[float] = set()
            for text in set(_NUMBER.findall(self._text)):
                numbers.update(_iter_readings(text[:MAX_QUANTITY_LENGTH]))
            self._numbers = frozenset(numbers)
        return self._numbers

    @property
    def large_numbers(self) -> frozenset[float]:
        """Numbers of the text with digit groups ("1 000") or scale words ("3 million")."""
        if self._large_numbers is None:
            numbers = {
                float(text[:MAX_QUANTITY_LENGTH].replace(" ", ""))
                for text in _GROUPED.findall(self._text)
            }
            for text, word in set(_SCALED.findall(self._text)):
                # Any reading of an ambiguous word will do: the value is not made up.
                factors = SCALE_READINGS.get(word) or SCALE_LETTERS.get(word, ())
                number = _parse_number(text[:MAX_QUANTITY_LENGTH]) if factors else None
                if number is not None:
                    numbers.update(round(number * factor, 6) for factor in factors)
            self._large_numbers = frozenset(numbers)
        return self._large_numbers


@lru_cache(maxsize=8)
def index_text(text: str) -> TextIndex:
    """Returns the index of a text. Cached: the replies of all systems to a sample share it."""
    return TextIndex(text)


def count_found_values(text: str, entries: Iterable[Entry]) -> tuple[int, int]:
    """Counts how many predicted values were searched in the text, and how many were not found.

    Booleans, choices from a given list and nested values are not searched; without a text, nothing.
    """
    if not text:
        return 0, 0
    index = index_text(text)
    n_searched = n_missing = 0
    for entry in entries:
        value, node = entry.predicted, entry.node
        if value is None or isinstance(value, bool | dict) or node.has_choice(value):
            continue
        if isinstance(value, list):
            node = node.get_element()
            if any(isinstance(item, bool | dict) or node.has_choice(item) for item in value):
                continue
        n_searched += 1
        n_missing += not index.contains_value(value, node.text_matcher)
    return n_searched, n_missing


def _iter_readings(text: str) -> Iterator[float]:
    """Yields every number that digits and separators may stand for, also parts of dates."""
    if text.isdecimal():
        yield float(text)
        return
    yield from map(float, _DIGITS.findall(text))
    for reading in (text, text.replace(",", ""), text.replace(".", ""), text.replace(",", ".")):
        number = _parse_number(reading)
        if number is not None:
            yield number


def _parse_number(text: str) -> float | None:
    """Parses a number with separators, also one with leading zeros."""
    number = parse_decimal(text.replace("’", "'").lstrip("0") or "0")
    return None if number is None else float(number)
