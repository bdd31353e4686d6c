"""Parses dates and times in common human and machine notations, and compares them by part."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from eval.extraction.matchers.match_result import EQUAL, MatchResult, cap_below_exact
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.strings import match_exact_text, match_partial_text
from eval.extraction.settings import Matching

MAX_DATE_LENGTH = 64
"""Maximum length of a text that is parsed as a date."""

_MONTH_NAMES = (
    "january januar janvier enero",
    "february februar février fevrier febrero",
    "march märz maerz mars marzo",
    "april avril abril",
    "may mai mayo",
    "june juni juin junio",
    "july juli juillet julio",
    "august août aout agosto",
    "september septembre septiembre sept",
    "october oktober octobre octubre",
    "november novembre noviembre",
    "december dezember décembre decembre diciembre",
)
MONTHS = {name: month for month, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
"""Names of months in English, German, French and Spanish."""
_MONTH_ABBREVIATIONS = {
    "jan": 1, "feb": 2, "febr": 2, "mar": 3, "mär": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12, "ene": 1, "abr": 4, "ago": 8,
    "dic": 12, "janv": 1, "févr": 2, "avr": 4, "juil": 7, "déc": 12,
}  # fmt: skip

# Matches a time at the end of a text: hour, minute, second, fraction, AM or PM, time zone.
_TIME = re.compile(
    r"(?:^|[\sTt,]+)(?:at |um |à )?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r" ?([AaPp]\.?[Mm]\.?)? ?(Z|z|UTC|GMT|[+-]\d{2}:?\d{2})?$"
)
_YEAR_FIRST = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_COMPACT_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_WORD_SEPARATORS = re.compile(r"[\s,.]+")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|°)?")
# Words that a date may contain and that do not change it.
_FILLERS = frozenset(
    [
        *("of", "the", "de", "del", "den", "der", "le", "el"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ]
)


class Moment(NamedTuple):
    """A date, a time, or both; parts that are not given are ``None``."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock: datetime.time | None = None
    """The time of day, with its time zone if one is given."""


def match_date(
    expected: str, predicted: str, matching: Matching, tolerance: float | None
) -> MatchResult:
    """Matches dates and times by meaning, independently of their notation.

    Equal moments score 1, and so do dates within ``tolerance`` days. Otherwise the score is the
    share of equal parts (year, month, day, time) among the parts that at least one side has. If one
    side cannot be parsed as a date, both are compared as texts.
    """
    if expected == predicted:
        return EQUAL
    first, second = parse_moment(expected), parse_moment(predicted)
    if first is None or second is None:
        return match_partial_text(expected, predicted, matching)
    if first == second or _is_same_instant(first, second):
        return EQUAL
    if tolerance is not None and _count_days_between(first, second) <= tolerance:
        return False, 1.0, None
    pairs = [pair for pair in zip(first, second, strict=True) if pair != (None, None)]
    n_equal = sum(part == other_part for part, other_part in pairs)
    return False, round(cap_below_exact(n_equal / len(pairs), matching), 12), None


def match_time(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches times of day: score 1 if equal, else 0; compared as texts if one is not a time."""
    first, second = parse_moment(expected), parse_moment(predicted)
    if first is not None and first == second:
        return EQUAL
    return match_exact_text(expected, predicted, matching)


def parse_moment(text: str) -> Moment | None:
    """Parses a date or time; returns ``None`` if the text is neither, or is ambiguous.

    Recognises ISO 8601, other notations with the year first, day first with points (5.6.2024), and
    month names in four languages. Notations with slashes or hyphens and the year last are ambiguous
    (05/06/2024), unless day and month are equal or one of them is above 12.
    """
    if len(text) > MAX_DATE_LENGTH:
        return None
    text = text.strip()
    clock: datetime.time | None = None
    match = _TIME.search(text)
    if match is not None:
        clock = _parse_clock(match)
        if clock is None:
            return None
        text = text[: match.start()].rstrip(" ,")
        if not text:
            return Moment(clock=clock)
    date = _parse_numeric_date(text) or _parse_worded_date(text)
    if date is None:
        return None
    try:
        datetime.date(date[0], date[1] or 1, date[2] or 1)
    except ValueError:
        return None
    return Moment(*date, clock)


_Date = tuple[int, int | None, int | None]


def _parse_numeric_date(text: str) -> _Date | None:
    match = _YEAR_FIRST.fullmatch(text) or _COMPACT_DATE.fullmatch(text)
    if match is not None:
        year, month, day = match.groups()
        return int(year), int(month) if month else None, int(day) if day else None
    match = _DAY_FIRST.fullmatch(text)
    if match is None:
        return None
    first, separator, second, year = int(match[1]), match[2], int(match[3]), int(match[4])
    if separator == "." or first > 12:
        return year, second, first
    if second > 12 or first == second:
        return year, first, second
    return None


def _parse_worded_date(text: str) -> _Date | None:
    words = [
        word for word in _WORD_SEPARATORS.split(fold_case(text)) if word and word not in _FILLERS
    ]
    year: int | None = None
    month: int | None = None
    day: int | None = None
    for word in words:
        month_number = MONTHS.get(word) or _MONTH_ABBREVIATIONS.get(word)
        ordinal = _ORDINAL.fullmatch(word)
        if month_number and month is None:
            month = month_number
        elif len(word) == 4 and word.isdecimal() and year is None:
            year = int(word)
        elif ordinal is not None and day is None:
            day = int(ordinal[1])
        else:
            return None
    if year is None or month is None:
        return None
    return year, month, day


def _parse_clock(match: re.Match[str]) -> datetime.time | None:
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    am_or_pm = (match[5] or "").lower().replace(".", "")
    if am_or_pm:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if am_or_pm == "pm" else 0)
    zone: datetime.tzinfo | None = None
    offset_text = match[6]
    if offset_text in {"Z", "z", "UTC", "GMT"}:
        zone = datetime.UTC
    elif offset_text:
        digits = offset_text[1:].replace(":", "")
        offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        if offset >= datetime.timedelta(days=1):
            return None
        zone = datetime.timezone(-offset if offset_text[0] == "-" else offset)
    try:
        return datetime.time(hour, minute, second, int((match[4] or "0").ljust(6, "0")[:6]), zone)
    except ValueError:
        return None


def _is_same_instant(first: Moment, second: Moment) -> bool:
    """Returns whether two full date-times with time zones are the same point in time."""
    instants = [_convert_to_instant(moment) for moment in (first, second)]
    return None not in instants and instants[0] == instants[1]


def _convert_to_instant(moment: Moment) -> datetime.datetime | None:
    if (
        moment.clock is None
        or moment.clock.tzinfo is None
        or not (moment.year and moment.month and moment.day)
    ):
        return None
    return datetime.datetime.combine(
        datetime.date(moment.year, moment.month, moment.day), moment.clock
    )


def _count_days_between(first: Moment, second: Moment) -> float:
    """Returns the days between two full dates; infinite if a part is missing or times differ."""
    if first.clock != second.clock:
        return float("inf")
    days = []
    for moment in (first, second):
        if not (moment.year and moment.month and moment.day):
            return float("inf")
        days.append(datetime.date(moment.year, moment.month, moment.day).toordinal())
    return abs(days[0] - days[1])
