"""Whether a value that was not expected stands in the text after all, or in another field.

Type 1 is a field nobody expected with a value that stands nowhere; type 2 an expected field with
such a value; type 3 a value that does stand in the text, or in an expected field, under a name it
was not expected under; type 4 an array element beyond those expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from eval.extraction.matchers.dates import MONTHS, moment
from eval.extraction.matchers.normalising import folded, words_apart
from eval.extraction.matchers.quantities import LONGEST, plain_number
from kg.words.number_words import NUMBER_WORDS

MAX_TEXT: Final = 1_000_000
"""Characters of a text that are searched."""

_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
_SCALED = re.compile(r"(\d+(?:[.,]\d+)?) ?([^\W\d]+)")
_SCALES = {
    **dict.fromkeys(["thousand", "tausend", "tsd", "mille", "mil", "k"], 1e3),
    **dict.fromkeys(["million", "millions", "millionen", "mio", "millones", "m"], 1e6),
    **dict.fromkeys(
        ["billion", "billions", "bn", "milliarden", "mrd", "milliard", "milliards"], 1e9
    ),
}
"""Words for thousands, millions and thousand millions in English, German, French and Spanish."""
_DIGITS = re.compile(r"\d+")
_SEPARATORS = re.compile(r"[.,'’ ]")
_SPOKEN = dict(enumerate(NUMBER_WORDS))
"""English words for small numbers."""


class Evidence:
    """What a sample's text and its expected fields say; each part prepared when first needed."""

    def __init__(self, text: str, expected: Iterable[Any]) -> None:
        """Takes the text, and the values of the expected fields."""
        self._text: Final = " ".join(folded(text[:MAX_TEXT]).split())
        self._expected: Final = expected
        self._known: dict[tuple[str, str], bool] = {}
        self._expected_texts: str | None = None
        self._expected_numbers: frozenset[float] = frozenset()
        self._digits: str | None = None
        self._numbers: frozenset[float] | None = None
        self._large_numbers: frozenset[float] | None = None

    def has(self, value: Any, matcher: str) -> bool:
        """Whether a value stands in the text or is that of an expected field.

        A text stands there if it does so between word boundaries, whatever its case and spacing; a
        date if its year, month and day do; a number if it is written there, as a share also in
        percent; an array if all its elements do. Truth values and nested values cannot be looked
        for and never do.
        """
        if isinstance(value, str):
            wanted = " ".join(folded(value).split())
            if not any(map(str.isalnum, wanted)):
                return False
            # Kept, since a reply may say the same thing a hundred thousand times.
            known = self._known.get((wanted, matcher))
            if known is None:
                known = self._known[wanted, matcher] = (
                    self._has_text(wanted)
                    or self._has_date(wanted, matcher)
                    or f"\n{wanted}\n" in self._values()[0]
                )
            return known
        if isinstance(value, list):
            return bool(value) and all(self.has(one, matcher) for one in value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self._has_number(value) or value in self._values()[1]

    def _has_text(self, wanted: str) -> bool:
        at = self._text.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            if words_apart(self._text[at - 1 : at], wanted[0]) and words_apart(
                wanted[-1], self._text[end : end + 1]
            ):
                return True
            at = self._text.find(wanted, end)
        return False

    def _has_date(self, wanted: str, matcher: str) -> bool:
        if matcher != "date" and not wanted[:4].isdecimal():
            return False
        found = moment(wanted)
        if found is None or found.year is None or str(found.year) not in self._text:
            return False
        if found.day is not None and found.day not in self.numbers:
            return False
        return (
            found.month is None
            or found.month in self.numbers
            or any(self._has_text(name) for name, at in MONTHS.items() if at == found.month)
        )

    def _has_number(self, value: float) -> bool:
        try:
            size = abs(float(value))
        except OverflowError:  # a whole number beyond all floats
            return abs(value) < 10**LONGEST and self._has_text(str(abs(value)))
        if size in _SPOKEN and self._has_text(_SPOKEN[int(size)]):
            return True
        # Reading all numbers of a text takes long, and most numbers that are made up have digits
        # that it has nowhere, however it separates, scales or rounds them.
        if self._digits is None:
            self._digits = _SEPARATORS.sub("", self._text)
        significant = f"{size:.12g}".partition("e")[0].replace(".", "").strip("0")
        if significant not in self._digits:
            return False
        if size in self.numbers or round(size * 100, 9) in self.numbers:
            return True
        return size >= 1000 and size in self.large_numbers

    def _values(self) -> tuple[str, frozenset[float]]:
        """The texts of the expected fields and of the elements of their arrays, and the numbers."""
        if self._expected_texts is None:
            texts: list[str] = []
            numbers: set[float] = set()
            for value in self._expected:
                for one in value if isinstance(value, list) else (value,):
                    if isinstance(one, str):
                        texts.append(" ".join(one.split()))
                    elif isinstance(one, int | float) and not isinstance(one, bool):
                        numbers.add(one)
            self._expected_texts = folded("\n".join(("", *texts, "")))
            self._expected_numbers = frozenset(numbers)
        return self._expected_texts, self._expected_numbers

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers of the text, read both ways where a separator may mean two things."""
        if self._numbers is None:
            found: set[float] = set()
            for text in set(_NUMBER.findall(self._text)):
                found.update(_readings(text[:LONGEST]))
            self._numbers = frozenset(found)
        return self._numbers

    @property
    def large_numbers(self) -> frozenset[float]:
        """The numbers of the text that blanks divide or words multiply."""
        if self._large_numbers is None:
            found = {
                float(text[:LONGEST].replace(" ", "")) for text in _GROUPED.findall(self._text)
            }
            for text, word in set(_SCALED.findall(self._text)):
                number = plain_number(text[:LONGEST]) if word in _SCALES else None
                if number is not None:
                    found.add(round(number * _SCALES[word], 6))
            self._large_numbers = frozenset(found)
        return self._large_numbers


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
