"""Dates and times: read from what people and machines write, compared part by part."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from eval.extraction.matchers.compared import EQUAL, Compared, below_exact
from eval.extraction.matchers.normalising import folded
from eval.extraction.matchers.strings import exact_text, partial_text
from eval.extraction.settings import Matching

LONGEST = 64
"""Characters of a text that is read as a date."""

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
_SHORT = {
    "jan": 1, "feb": 2, "febr": 2, "mar": 3, "mär": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12, "ene": 1, "abr": 4, "ago": 8,
    "dic": 12, "janv": 1, "févr": 2, "avr": 4, "juil": 7, "déc": 12,
}  # fmt: skip

_TIME = re.compile(
    r"(?:^|[\sTt,]+)(?:at |um |à )?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r" ?([AaPp]\.?[Mm]\.?)? ?(Z|z|UTC|GMT|[+-]\d{2}:?\d{2})?$"
)
_YEAR_FIRST = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_NOT_WORDS = re.compile(r"[\s,.]+")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|°)?")
_FILLERS = frozenset(
    [
        *("of", "the", "de", "del", "den", "der", "le", "el"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ]
)


class Moment(NamedTuple):
    """A date, a time, or both; parts that were not said are null."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock: datetime.time | None = None
    """With its zone, if one was said."""


def same_date(expected: str, came: str, matching: Matching, tolerance: float | None) -> Compared:
    """Dates and times by what they say, not how.

    Equal moments score 1, and so do dates within ``tolerance`` days. Otherwise the share of the
    parts that either states (year, month, day, time) on which both agree. Where one cannot be read
    as a date, both are compared as texts.
    """
    if expected == came:
        return EQUAL
    first, second = moment(expected), moment(came)
    if first is None or second is None:
        return partial_text(expected, came, matching)
    if first == second or _same_instant(first, second):
        return EQUAL
    if tolerance is not None and _days_apart(first, second) <= tolerance:
        return False, 1.0, None
    pairs = [pair for pair in zip(first, second, strict=True) if pair != (None, None)]
    agreed = sum(one == other for one, other in pairs)
    return False, round(below_exact(agreed / len(pairs), matching), 12), None


def same_time(expected: str, came: str, matching: Matching, _: float | None = None) -> Compared:
    """Times of day by what they say, or nothing; as texts where one is no time."""
    first, second = moment(expected), moment(came)
    if first is not None and first == second:
        return EQUAL
    return exact_text(expected, came, matching)


def moment(text: str) -> Moment | None:
    """What a text says of date and time; null if it is none, or says several things at once.

    ISO 8601, year first, day first with points, names of months in four languages. With slashes
    or hyphens and the year last, only where one number is above 12: 05/06/2024 is two dates.
    """
    if len(text) > LONGEST:
        return None
    text = text.strip()
    clock: datetime.time | None = None
    found = _TIME.search(text)
    if found is not None:
        clock = _clock(found)
        if clock is None:
            return None
        text = text[: found.start()].rstrip(" ,")
        if not text:
            return Moment(clock=clock)
    date = _numeric_date(text) or _worded_date(text)
    if date is None:
        return None
    try:
        datetime.date(date[0], date[1] or 1, date[2] or 1)
    except ValueError:
        return None
    return Moment(*date, clock)


_Date = tuple[int, int | None, int | None]


def _numeric_date(text: str) -> _Date | None:
    found = _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text)
    if found is not None:
        year, month, day = found.groups()
        return int(year), int(month) if month else None, int(day) if day else None
    found = _DAY_FIRST.fullmatch(text)
    if found is None:
        return None
    first, mark, second, year = int(found[1]), found[2], int(found[3]), int(found[4])
    if mark == "." or first > 12:
        return year, second, first
    if second > 12 or first == second:
        return year, first, second
    return None


def _worded_date(text: str) -> _Date | None:
    words = [word for word in _NOT_WORDS.split(folded(text)) if word and word not in _FILLERS]
    year: int | None = None
    month: int | None = None
    day: int | None = None
    for word in words:
        named = MONTHS.get(word) or _SHORT.get(word)
        ordinal = _ORDINAL.fullmatch(word)
        if named and month is None:
            month = named
        elif len(word) == 4 and word.isdecimal() and year is None:
            year = int(word)
        elif ordinal is not None and day is None:
            day = int(ordinal[1])
        else:
            return None
    if year is None or month is None:
        return None
    return year, month, day


def _clock(found: re.Match[str]) -> datetime.time | None:
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    half = (found[5] or "").lower().replace(".", "")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    zone: datetime.tzinfo | None = None
    said = found[6]
    if said in {"Z", "z", "UTC", "GMT"}:
        zone = datetime.UTC
    elif said:
        digits = said[1:].replace(":", "")
        offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        if offset >= datetime.timedelta(days=1):
            return None
        zone = datetime.timezone(-offset if said[0] == "-" else offset)
    try:
        return datetime.time(hour, minute, second, int((found[4] or "0").ljust(6, "0")[:6]), zone)
    except ValueError:
        return None


def _same_instant(first: Moment, second: Moment) -> bool:
    """Whether two full date-times with zones are the same point in time."""
    instants = [_instant(one) for one in (first, second)]
    return None not in instants and instants[0] == instants[1]


def _instant(one: Moment) -> datetime.datetime | None:
    if one.clock is None or one.clock.tzinfo is None or not (one.year and one.month and one.day):
        return None
    return datetime.datetime.combine(datetime.date(one.year, one.month, one.day), one.clock)


def _days_apart(first: Moment, second: Moment) -> float:
    """Days between two whole dates; infinite where a part is missing or their times differ."""
    if first.clock != second.clock:
        return float("inf")
    days = []
    for one in (first, second):
        if not (one.year and one.month and one.day):
            return float("inf")
        days.append(datetime.date(one.year, one.month, one.day).toordinal())
    return abs(days[0] - days[1])
