"""Whether a value that was not expected stands in the text after all, or in another field.

Type 1 is a field nobody expected with a value that stands nowhere; type 2 an expected field with
such a value; type 3 a value that does stand in the text, or in an expected field, under a name it
was not expected under; type 4 an array element beyond those expected.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from eval.extraction.matchers.choosing import canonical
from eval.extraction.matchers.dates import MONTHS, moment
from eval.extraction.matchers.normalising import FIRST_UNSPACED, folded, words_apart
from eval.extraction.matchers.quantities import LONGEST, plain_number
from eval.extraction.settings import DEFAULT

MAX_TEXT: Final = 1_000_000
"""Characters of a text that are searched."""

_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_SPOKEN = {
    word: float(number)
    for number, word in enumerate(
        [
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
            *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
            *("seventeen", "eighteen", "nineteen", "twenty"),
        ]
    )
}
"""English words for small numbers."""


class Evidence:
    """What a sample's text and its expected fields say, prepared when first asked for."""

    def __init__(self, text: str, expected: Sequence[tuple[str, Any]]) -> None:
        """Takes the text, and the expected fields as the name of the text matcher and the value."""
        self._text: Final = " ".join(folded(text[:MAX_TEXT]).split())
        self._expected: Final = expected
        self._values: frozenset[Hashable] | None = None
        self._words: frozenset[str] | None = None
        self._numbers: frozenset[float] | None = None

    def has(self, value: Any, matcher: str) -> bool:
        """Whether a value stands in the text or is that of an expected field.

        A text stands there if it does so between word boundaries, whatever its case and spacing; a
        date if its year, month and day do; a number if it is written there, as a share also in
        percent; an array if all its elements do. Truth values and nested values cannot be looked
        for and never do.
        """
        if isinstance(value, list):
            return bool(value) and all(self.has(one, matcher) for one in value)
        if not _can_be_looked_for(value):
            return False
        if isinstance(value, str):
            stands = self._has_text(value) or self._has_date(value, matcher)
        else:
            stands = self._has_number(value)
        return stands or canonical(value, matcher, DEFAULT) in self.values

    def _has_text(self, value: str) -> bool:
        wanted = " ".join(folded(value).split())
        first = _WORD.search(wanted)
        spaced = first is not None and ord(first[0][0]) < FIRST_UNSPACED
        # One look at the words spares most made-up values the search through the text.
        if first is None or (spaced and wanted.isascii() and first[0] not in self.words):
            return False
        at = self._text.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            if words_apart(self._text[at - 1 : at], wanted[0]) and words_apart(
                wanted[-1], self._text[end : end + 1]
            ):
                return True
            at = self._text.find(wanted, end)
        return False

    def _has_date(self, value: str, matcher: str) -> bool:
        if matcher != "date" and not value[:4].isdecimal():
            return False
        found = moment(value)
        if found is None or found.year is None or found.year not in self.numbers:
            return False
        if found.day is not None and found.day not in self.numbers:
            return False
        return (
            found.month is None
            or found.month in self.numbers
            or any(MONTHS.get(word) == found.month for word in self.words)
        )

    def _has_number(self, value: float) -> bool:
        try:
            size = abs(float(value))
        except OverflowError:  # a whole number beyond all floats
            return self._has_text(str(abs(value))) if abs(value) < 10**400 else False
        return size in self.numbers or round(size * 100, 9) in self.numbers

    @property
    def values(self) -> frozenset[Hashable]:
        """What the expected fields and the elements of their arrays are known by."""
        if self._values is None:
            self._values = frozenset(
                canonical(one, matcher, DEFAULT)
                for matcher, value in self._expected
                for one in (value if isinstance(value, list) else (value,))
                if _can_be_looked_for(one)
            )
        return self._values

    @property
    def words(self) -> frozenset[str]:
        """The words of the text, folded."""
        if self._words is None:
            self._words = frozenset(_WORD.findall(self._text))
        return self._words

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers of the text, read both ways where a separator may mean two things."""
        if self._numbers is None:
            found: set[float] = {_SPOKEN[word] for word in self.words & _SPOKEN.keys()}
            for text in set(_NUMBER.findall(self._text)):
                found.update(_readings(text[:LONGEST]))
            self._numbers = frozenset(found)
        return self._numbers


def _readings(text: str) -> Iterator[float]:
    """The numbers that digits and separators may mean, parts of dates and of times included."""
    if text.isdecimal():
        yield float(text)
        return
    yield from map(float, _DIGITS.findall(text))
    for reading in (text, text.replace(",", ""), text.replace(".", ""), text.replace(",", ".")):
        number = plain_number(reading)
        if number is not None:
            yield number


def _can_be_looked_for(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
