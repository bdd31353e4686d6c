"""Reads the numbers of claims and evidence: digits, words, decades, and what bounds them.

A number without a unique reading ("the 50s", "4m", "19th") has no value: it is never the same as
another number, and never differs from one for certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, log10
from typing import Final, NamedTuple

from kg.base.plain_text import list_words
from kg.words.number_words import NUMBER_WORDS

_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL: Final = {word: value for value, word in enumerate(NUMBER_WORDS) if 0 < value < 20}
_BY_TEN: Final = {word: 10 * value for value, word in enumerate(_TENS, 2)}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD = "|".join((*_SMALL, *_BY_TEN, "hundred", *_SCALES))
NUMBER_WORD_PATTERN: Final = rf"\b(?:{_WORD})(?:(?:[\s-]|\sand\s)(?:{_WORD}))+\b"
"""Several English words of a number, in lower case: "fifty-eight", "one hundred and forty-six"."""
DIGIT_PATTERN: Final = (
    r"(?:(?<![\w.,])\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?!\d)|\d[\d.,]*\d|\d)"
    r"(?:(?:['’]?s|st|nd|rd|th|ers?|k|m|bn|mn)(?![^\W\d_]))?"
)
"""A number in digits, with groups of three digits and what is written on to it."""
_GROUPED: Final = re.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
_DECADE: Final = re.compile(r"(?P<year>\d{3}0)(?:(?P<english>['’]?)s|ers?)")
# In "les années 1950" the years are a decade.
_DECADE_NOUNS: Final = frozenset(list_words("années annees años anos anni decada década decennio"))
_FIRST_YEAR, _LAST_YEAR = 1000, 2100
_MIN_WORDS_OF_YEAR: Final = 2
_YEARS_ABOUT: Final = 50
_TIMES_ABOUT: Final = 3.0
"""About how many years, or how many times as much, a number may be that is called approximate."""

_BOUNDS: Final[dict[str, str]] = {
    word: bound
    for bound, words in (
        ("about", "about around roughly approximately some circa ca etwa rund ungefähr environ "
                  "unos unas early late mid between zwischen entre"),
        ("above", "over above more least mehr über mindestens plus más"),
        ("below", "under below less fewer almost nearly most up fast beinahe knapp unter weniger "
                  "höchstens presque casi moins menos"),
        ("from", "from since ab seit depuis desde"),
        ("after", "after nach après tras"),
        ("by", "by"),
        ("until", "until till to bis through jusque hasta"),
        ("before", "before vor avant antes"),
    )
    for word in list_words(words)
}  # fmt: skip
"""Word before a number → how it bounds it."""
_THAN: Final = frozenset(list_words("than als que at a the in well just only de den"))
"""Words that may stand between such a word and its number."""
_BETWEEN: Final = frozenset(list_words("between zwischen entre"))
_MAX_BEFORE: Final = 4


class NumberReading(NamedTuple):
    """What a number says."""

    value: float | None
    """Its value; None if it is a decade or has no unique reading."""
    decade: int | None = None
    """First year of a decade."""
    is_year: bool = False
    """Whether it is written as a year: four digits, or "nineteen fifty-six"."""
    is_sure: bool = True
    """Whether another number is surely not meant: "1.500" is less or more than a thousand."""

    @property
    def key(self) -> str:
        """The number as text; empty without a unique reading."""
        if self.decade is not None:
            return f"{self.decade}s"
        return "" if self.value is None else f"{self.value:.15g}"


_OPEN: Final = NumberReading(None)


def read_digits(written: str, before: str) -> NumberReading:
    """Reads a number in digits.

    Args:
        written: the number, as ``DIGIT_PATTERN`` finds it.
        before: the word before it, in lower case.
    """
    decade = _DECADE.fullmatch(written)
    if decade is not None:
        # "1950's drought" may be of one year.
        is_sure = not decade["english"] or before in ("the", "early", "late", "mid")
        return NumberReading(None, int(decade["year"])) if is_sure else _OPEN
    if before in _DECADE_NOUNS and re.fullmatch(r"\d{3}0", written):
        return NumberReading(None, int(written))
    # "the 1815's" is no number of its own; "1815's eruption" is of 1815.
    possessive = re.fullmatch(r"(\d+)['’]s", written)
    token = re.sub(r"[\s\u00a0\u2009\u202f'’](?=\d)", "", possessive[1] if possessive else written)
    if not token[-1].isdigit() or (possessive and len(token) < len("1000")):
        return _OPEN
    if grouped := _GROUPED.fullmatch(token):
        is_sure = grouped[1] == "," or token.count(".") > 1
        return NumberReading(float(re.sub(r"[.,]", "", token)), is_sure=is_sure)
    is_year = token == written.rstrip("'’s") and token.isdigit() and len(token) == len("1000")
    try:
        value = float(token.replace(",", "."))
        return NumberReading(value, is_year=is_year and _FIRST_YEAR <= value <= _LAST_YEAR)
    except ValueError:
        return _OPEN


def read_words(written: str) -> NumberReading:
    """Reads several English words of a number; without a value if they are not one number.

    "nineteen fifty-six" is a year, and "one hundred and forty-six" a sum.
    """
    words = [word for word in re.split(r"[\s-]+", written) if word != "and"]
    if len(words) >= _MIN_WORDS_OF_YEAR and not set(words) & {"hundred", *_SCALES}:
        century, rest = _SMALL.get(words[0], 0), _read_below_hundred(words[1:])
        if words[0] == "twenty" and words[1] not in _SMALL:
            century = 20
        if 10 <= century <= 20 and rest is not None and rest >= 10:
            return NumberReading(float(100 * century + rest), is_year=True)
    total = 0
    limit = float("inf")
    rest_words = words
    for scale in ("billion", "million", "thousand"):
        if scale in rest_words:
            place = rest_words.index(scale)
            head = _read_below_thousand(rest_words[:place]) if place else 1
            if head is None or _SCALES[scale] >= limit:
                return _OPEN
            total += head * _SCALES[scale]
            limit = _SCALES[scale]
            rest_words = rest_words[place + 1 :]
    if rest_words:
        tail = _read_below_thousand(rest_words)
        if tail is None:
            return _OPEN
        total += tail
    return NumberReading(float(total))


def _read_below_thousand(words: Sequence[str]) -> int | None:
    if "hundred" not in words:
        return _read_below_hundred(words)
    place = words.index("hundred")
    head = _read_below_hundred(words[:place]) if place else 1
    tail = _read_below_hundred(words[place + 1 :]) if words[place + 1 :] else 0
    return None if head is None or tail is None else 100 * head + tail


def _read_below_hundred(words: Sequence[str]) -> int | None:
    match words:
        case [word] if word in _SMALL:
            return _SMALL[word]
        case [word] if word in _BY_TEN:
            return _BY_TEN[word]
        case [ten, one] if ten in _BY_TEN and _SMALL.get(one, 10) < 10:
            return _BY_TEN[ten] + _SMALL[one]
    return None


def find_bound(keys: Sequence[str]) -> str:
    """Returns how the words before a number bound it: ``about``, ``by``, …; empty for not at all.

    Args:
        keys: the words before it, in lower case.
    """
    before = list(keys[-_MAX_BEFORE:])
    if _BETWEEN & set(before):
        return "about"
    while before:
        word = before.pop()
        if word in _BOUNDS:
            return _BOUNDS[word]
        if word not in _THAN:
            return ""
    return ""


def is_same_number(
    first: NumberReading, first_bound: str, second: NumberReading, second_bound: str
) -> bool:
    """Returns whether a claim has the number of the evidence, bounded in the same way.

    "About 1956" follows from 1956, but not 1956 from "about 1956".
    """
    if not first.key or first.key != second.key:
        return False
    return first_bound == second_bound or (first_bound == "about" and not second_bound)


def is_other_number(
    first: NumberReading, first_bound: str, second: NumberReading, second_bound: str
) -> bool:
    """Returns whether two numbers cannot both be right of the same thing.

    "1954" may be more exact than "the 1950s", 150 a rounded 146, and 3.95 million "almost four
    million".
    """
    if not ({first_bound, second_bound} <= {"", "about"} and first.key and second.key):
        return False
    if not (first.is_sure and second.is_sure):
        return False
    if "about" in (first_bound, second_bound):
        return _is_far(first, second)
    if first.decade is not None or second.decade is not None:
        decades = {_get_decade(first), _get_decade(second)}
        return None not in decades and len(decades) > 1
    if first.is_year or second.is_year:
        return first.is_year and second.is_year and first.value != second.value
    return not (_is_rounded(first.value, second.value) or _is_rounded(second.value, first.value))


def _is_far(first: NumberReading, second: NumberReading) -> bool:
    """Returns whether numbers of which one is "about" cannot mean the same."""
    if not first.value or not second.value or first.is_year != second.is_year:
        return False
    if first.is_year:
        return abs(first.value - second.value) > _YEARS_ABOUT
    ratio = first.value / second.value
    return max(ratio, 1 / ratio) > _TIMES_ABOUT


def _get_decade(number: NumberReading) -> int | None:
    if number.decade is not None:
        return number.decade
    return int(number.value or 0) // 10 * 10 if number.is_year else None


def _is_rounded(number: float | None, exact: float | None) -> bool:
    """Returns whether a number is another one that was rounded."""
    if not number or not exact:
        return number == exact
    digits = len(f"{number:.0f}".rstrip("0")) if number.is_integer() else len(f"{number:.15g}")
    return round(exact, digits - 1 - floor(log10(abs(exact)))) == number
