"""Compares ranges and periods by their two ends: "5-10 mg" is "5 mg to 10 mg".

The end of a range is a date or time, an amount, or a word such as "present". What is written once
counts for both ends: the unit, the month and year, "Uhr".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from eval.extraction.matchers.amounts import Amount, find_amount_rule, parse_amount
from eval.extraction.matchers.dates import (
    Moment,
    has_same_date,
    list_calendar_kinds,
    parse_readings,
)
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.spellings import drop_accents
from eval.extraction.settings import Matching
from kg.base.plain_text import list_words
from kg.words.number_words import NUMBER_WORDS

MAX_RANGE_LENGTH: Final = 100
"""Longer texts are no ranges."""

_FROM: Final = re.compile(r"(?:from|von|vom|de|du|del|dal|desde) ", re.I)
_SEPARATORS: Final = (
    re.compile(r" (?:to|until|till|through|bis|bis zum|au|al|hasta|fino al|tot) ", re.I),
    re.compile(r"(?<=\d{4}-\d\d-\d\d)/(?=\d{4}-\d\d-\d\d$)"),
    re.compile(r" -+ "),
    # Of two hyphens, the second is a sign: "-10--5".
    re.compile(r"(?<=[^\s-])-(?=\S)"),
)
_HALF_DAY: Final = re.compile(r"(?<![^\W\d_])(?:[ap]\.?m|noon)\b", re.I)
_OPEN_ENDS: Final = frozenset(
    [
        *("present", "the present", "now", "today", "current", "currently", "ongoing", "date"),
        *("heute", "jetzt", "laufend", "aujourd'hui", "présent", "ce jour", "maintenant"),
        *("presente", "hoy", "actualidad", "la actualidad", "oggi", "in corso", "hoje", "heden"),
    ]
)
"""Words for a period that goes on; in other words, "10 bis rue Hugo" is an address."""
_VERSION: Final = re.compile(r"\d+\.\d*0")
"""A number that may be a version, in which a zero at the end counts."""

_LETTER: Final = r"[^\W\d_]"
_JOINED: Final = re.compile(rf"(?<![\w-]){_LETTER}+\.?(?: ?-+ ?{_LETTER}+\.?)+(?![\w-])")
"""Words with hyphens between them, as in "Mon - Fri"."""
_LISTED: Final = re.compile(rf"(?<![\w-])({_LETTER}+)\.? ?[,;] ?(?=({_LETTER}+)(?![\w-]))")
_NUMBERS: Final = frozenset(
    (
        *list_words("i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"),
        *(*NUMBER_WORDS, *list_words("thirty forty fifty sixty seventy eighty ninety hundred")),
    )
)
"""Roman numbers, and words for numbers."""


class _End(NamedTuple):
    """What the end of a range may stand for."""

    text: str
    readings: tuple[Moment, ...]
    amount: Amount | None


def is_same_range(first: str, second: str, matching: Matching) -> bool:
    """Returns whether two folded texts are ranges with the same ends."""
    if max(len(first), len(second)) > MAX_RANGE_LENGTH:
        return False
    one, other = _read_range(first, matching), _read_range(second, matching)
    if one is None or other is None:
        return False
    return all(_is_same_end(*ends, matching) for ends in zip(one, other, strict=True))


def is_range_and_list(first: str, second: str) -> bool:
    """Returns whether one of two folded texts has a range, and the other its ends in a list.

    "Mon-Fri" and "A - C" say what is between, "Mon, Fri" names two. That is so of days of the week,
    months, letters and numbers; "Austin - TX" is "Austin, TX".
    """
    return _has_range_of(first, second) or _has_range_of(second, first)


def _has_range_of(text: str, other: str) -> bool:
    if "-" not in text or not _LISTED.search(other):
        return False
    listed = {tuple(map(_fold_word, words)) for words in _LISTED.findall(other)}
    for match in _JOINED.finditer(text):
        ends = tuple(part.strip(" .") for part in fold_case(match[0]).split("-") if part)
        # "A-B-C" are three.
        is_listed = len(ends) == 2 and tuple(map(_fold_word, ends)) in listed
        if is_listed and _list_kinds(ends[0]) & _list_kinds(ends[1]):
            return True
    return False


def _fold_word(word: str) -> str:
    return drop_accents(fold_case(word))


def _list_kinds(word: str) -> set[str]:
    """Lists of what a word may be the first or last in a range."""
    kinds = list_calendar_kinds(word)
    if len(word) == 1:
        kinds.add("letter")
    return kinds | {"number"} if word in _NUMBERS else kinds


def _read_range(text: str, matching: Matching) -> tuple[_End, _End] | None:
    """Reads a range; ``None`` if it is none, as a score or code whose second part is less."""
    text = _FROM.sub("", text, count=1) if _FROM.match(text) else text
    for separator in _SEPARATORS:
        parts = separator.split(text)
        if len(parts) > 1:
            break
    if len(parts) != 2:
        return None
    first, second = (_read_end(part.strip(), matching) for part in parts)
    if second.readings:
        if not first.readings or first.readings[0].year is None:
            first = _read_with_rest(first, second, matching)
        # A number before a date is neither a date nor an amount, and "9:00-5:00 PM" says not when
        # it begins.
        has_same_clock = bool(_HALF_DAY.search(first.text)) == bool(_HALF_DAY.search(second.text))
        return (first, second) if first.readings and has_same_clock else None
    if first.amount is None or second.amount is None:
        is_open = fold_case(second.text) in _OPEN_ENDS and (first.readings or first.amount)
        return (first, second) if is_open else None
    low, high = first.amount, second.amount
    if low.has_scale != high.has_scale:
        return None  # of "$1-2 million", the first may be a million or a dollar
    if not (low.unit or low.percent or low.currency):
        low = low._replace(
            unit=high.unit, percent=high.percent, currency=high.currency, symbol=high.symbol
        )
    elif not high.unit and not high.percent and not high.currency:
        high = high._replace(currency=low.currency, symbol=low.symbol)
    if low.unit == high.unit and low.number >= high.number:
        return None
    return first._replace(amount=low), second._replace(amount=high)


def _read_end(text: str, matching: Matching) -> _End:
    readings = parse_readings(text, matching.date_order)
    is_date = bool(readings) and (readings[0].month or readings[0].clock) is not None
    return _End(text, readings if is_date else (), parse_amount(text, matching.decimal_mark))


def _read_with_rest(first: _End, second: _End, matching: Matching) -> _End:
    """Reads "15" before "20 March 2024", or "15 March", with what is written once."""
    words = second.text.split()
    for n in range(1, len(words)):
        found = _read_end(f"{first.text} {' '.join(words[-n:])}", matching)
        if found.readings and _has_parts(found.readings[0]) == _has_parts(second.readings[0]):
            # Of "9:00-5:00 PM", the first is in the other half of the day, or on the day before.
            clocks = str(found.readings[0].clock), str(second.readings[0].clock)
            is_other_half = _HALF_DAY.search(second.text) and clocks[0] >= clocks[1]
            return first if is_other_half else found
    return first


def _has_parts(moment: Moment) -> tuple[bool, ...]:
    return tuple(part is not None for part in moment)


def _is_same_end(first: _End, second: _End, matching: Matching) -> bool:
    if first.readings or second.readings:
        return "dates" in matching.rules and bool(has_same_date(first.readings, second.readings))
    if first.amount is None or second.amount is None:
        has_digits = any(map(str.isdigit, first.text))
        return not has_digits and fold_case(first.text) == fold_case(second.text)
    if first.text != second.text and any(map(_VERSION.fullmatch, (first.text, second.text))):
        return False
    rule = find_amount_rule(first.amount, second.amount)
    return rule == "numbers" or rule in matching.rules
