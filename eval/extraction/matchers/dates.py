"""Parses dates and times in common human and machine notations, and compares them by part."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import NamedTuple

from eval.extraction.matchers.match_result import (
    EQUAL,
    MatchResult,
    accept_within,
    cap_below_exact,
)
from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.strings import match_exact_text, match_partial_text
from eval.extraction.settings import Matching

MAX_DATE_LENGTH = 64
"""Maximum length of a text that is parsed as a date."""

_MONTH_NAMES = (
    "january januar jänner janvier enero gennaio janeiro januari stycznia styczeń января январь",
    "february februar février fevrier febrero febbraio fevereiro februari "
    "lutego luty февраля февраль",
    "march märz maerz mars marzo março maart marca marzec марта март",
    "april avril abril aprile kwietnia kwiecień апреля апрель",
    "may mai mayo maggio maio mei maja maj мая май",
    "june juni juin junio giugno junho czerwca czerwiec июня июнь",
    "july juli juillet julio luglio julho lipca lipiec июля июль",
    "august août aout agosto augustus sierpnia sierpień августа август",
    "september septembre septiembre sept settembre setembro września wrzesień сентября сентябрь",
    "october oktober octobre octubre ottobre outubro października październik октября октябрь",
    "november novembre noviembre novembro listopada listopad ноября ноябрь",
    "december dezember décembre decembre diciembre dicembre dezembro "
    "grudnia grudzień декабря декабрь",
)
MONTHS = {name: month for month, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
"""Names of months in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and
Russian."""
_MONTH_ABBREVIATIONS = {
    "jan": 1, "feb": 2, "febr": 2, "mar": 3, "mär": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12, "ene": 1, "abr": 4, "ago": 8,
    "dic": 12, "janv": 1, "févr": 2, "avr": 4, "juil": 7, "déc": 12, "jän": 1, "mrz": 3, "gen": 1,
    "mag": 5, "giu": 6, "lug": 7, "set": 9, "ott": 10, "fev": 2, "fév": 2, "out": 10, "mrt": 3,
}  # fmt: skip

# Matches a time at the end of a text: hour, minute, second, fraction, AM or PM, time zone.
_TIME = re.compile(
    r"(?:^|[\sTt,]+)(?:at |um |à |a las |alle |às |om )?(\d{1,2}):(\d{2})"
    r"(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r" ?([AaPp]\.?[Mm]\.?)? ?(Z|z|UTC|GMT|[EMP][SD]T|CES?T|MES?Z|[+-]\d{2}:?\d{2})?$"
)
# Other notations of a time: "14.30 Uhr", "14 Uhr", "14h30", "10 PM".
_WORDED_TIME = re.compile(
    r"(?<![\d:.,])(\d{1,2})(?:(?:[:.](\d{2}))? ?(?:uhr|uur|hrs)\b\.?| ?h ?(\d{2})\b(?! ?:)"
    r"| ?(?=[ap]\.?m\b))",
    re.IGNORECASE,
)
_CJK_TIME = re.compile(r" ?(\d{1,2}) ?[時时시] ?(\d{1,2}) ?[分분](?: ?(\d{1,2}) ?[秒초])?")
_NOON = re.compile(r"\b12(?::00)? noon\b", re.IGNORECASE)
_ZONES = {
    **{"EST": -5, "EDT": -4, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7},
    **{"CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2},
}
"""Time zones by their names; CST, BST and IST are several."""
_ERA = re.compile(r"(令和|平成|昭和)(元|\d{1,2})(?=年)")
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
"""The year before the first one of a Japanese era."""
_JOINED_DATE = re.compile(r"(\d{1,2})([^\W\d_]{3,4})(\d{4}|\d{2})")
_SHORT_YEAR = re.compile(r"(?<=\s)['’](\d{2})$")
_POINTED_YEAR_FIRST = re.compile(r"(\d{4})\. ?(\d{1,2})\. ?(\d{1,2})\.")
_YEAR_FIRST = re.compile(r"(\d{4})(?:[-/](\d{1,2})|[-/.](\d{1,2})[-/.](\d{1,2}))?")
_CJK_DATE = re.compile(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월](?: ?(\d{1,2}) ?[日일])?")
_COMPACT_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})")
_MONTH_FIRST = re.compile(r"(\d{1,2})[-/](\d{4})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})")
_WORD_SEPARATORS = re.compile(r"[\s,./-]+")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|°)?")
_WEEKDAYS = (
    "monday mon montag mo lundi lun lunes lunedì lunedi segunda seg maandag ma",
    "tuesday tue tues dienstag mardi martes martedì martedi terça terca ter dinsdag ma",
    "wednesday wed mittwoch mi mercredi mer miércoles miercoles mié mie mercoledì mercoledi quarta "
    "qua woensdag wo",
    "thursday thu thur thurs donnerstag jeudi jeu jueves jue giovedì giovedi gio quinta qui "
    "donderdag",
    "friday fri freitag fr vendredi ven viernes vie venerdì venerdi sexta sex vrijdag vr",
    "saturday sat samstag sonnabend sa samedi sam sábado sabado sáb sab sabato zaterdag za",
    "sunday sun sonntag so dimanche dim domingo dom domenica zondag zo",
)
_WEEKDAY_NUMBERS = {
    name: {day for day, names in enumerate(_WEEKDAYS) if name in names.split()}
    for name in " ".join(_WEEKDAYS).split()
}
"""Name of a day of the week → its number; "ma" is Monday in Dutch and Tuesday in French."""
_OTHER_WEEKDAYS = ("mar", "do", "di", "lu", "me", "je", "ve", "ju", "vi")
"""Abbreviations that mean something else in a date."""
# Words that a date may contain and that do not change it.
_FILLERS = frozenset(
    [
        *("of", "the", "de", "del", "den", "der", "le", "el", "di", "г", "года", "r", "roku"),
        *("do", "feira", *_WEEKDAY_NUMBERS),
    ]
)
_TUESDAY_OR_MARCH = "mar"
"""Abbreviation of martes, mardi and martedì as well as of marzo: a weekday before another month."""


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
    readings = [parse_readings(text, matching.date_order) for text in (expected, predicted)]
    if len(readings[0]) != 1 or len(readings[1]) != 1:
        return match_partial_text(expected, predicted, matching)
    first, second = readings[0][0], readings[1][0]
    if first == second or _is_same_instant(first, second):
        return EQUAL
    if tolerance is not None and _count_days_between(first, second) <= tolerance:
        return accept_within(1.0)
    pairs = [pair for pair in zip(first, second, strict=True) if pair != (None, None)]
    n_equal = sum(part == other_part for part, other_part in pairs)
    return False, round(cap_below_exact(n_equal / len(pairs), matching), 12), None, ""


def match_time(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches times of day: score 1 if equal, else 0; compared as texts if one is not a time."""
    first, second = parse_moment(expected), parse_moment(predicted)
    if first is not None and first == second:
        return EQUAL
    return match_exact_text(expected, predicted, matching)


def parse_moment(text: str) -> Moment | None:
    """Parses a date or time; returns ``None`` if the text is neither, or is ambiguous."""
    readings = parse_readings(text)
    return readings[0] if len(readings) == 1 else None


@lru_cache(16_384)
def parse_readings(text: str, order: str = "") -> tuple[Moment, ...]:
    """Parses a date or time; returns every moment that the text may stand for.

    Recognises ISO 8601, other notations with the year first, month and year (06/2013), day first
    with points (5.6.2024), 2024年6月5日, and month names in nine languages. Notations with slashes
    or hyphens and the year last have two readings (05/06/2024), day first and month first, unless
    ``order`` decides (``day_first`` or ``month_first``), day and month are equal, or one is above
    12. Years of two digits are 1969 to 2068.
    """
    if len(text) > MAX_DATE_LENGTH:
        return ()
    text = _WORDED_TIME.sub(_write_clock, _NOON.sub("12:00", text.strip()))
    if not text.isascii():
        text = _CJK_TIME.sub(_write_cjk_time, _ERA.sub(_write_year, text))
    clock: datetime.time | None = None
    match = _TIME.search(text)
    if match is not None:
        clock = _parse_clock(match)
        if clock is None:
            return ()
        text = text[: match.start()].rstrip(" ,")
        if not text:
            return (Moment(clock=clock),)
    dates = _parse_numeric_date(text, order)
    if not dates:
        worded = _parse_worded_date(text)
        dates = () if worded is None else (worded,)
    return tuple(Moment(*date, clock) for date in dates if _exists(date))


def has_same_date(first: tuple[Moment, ...], second: tuple[Moment, ...]) -> bool | None:
    """Returns whether the readings of two texts are the same; ``None`` if one is no date or time.

    An ambiguous date equals only one in the same notation: 05/06/2024 and 5-6-2024. A date
    without a time equals midnight of that date.
    """
    if not first or not second or not _is_precise(first[0]) or not _is_precise(second[0]):
        return None
    if first == second:
        return True
    if len(first) == len(second) == 1 and _is_same_instant(first[0], second[0]):
        return True
    if (first[0].clock is None) == (second[0].clock is None):
        return False
    return [*map(_drop_midnight, first)] == [*map(_drop_midnight, second)]


def differ_in_weekday(
    texts: tuple[str, str], readings: tuple[tuple[Moment, ...], tuple[Moment, ...]]
) -> bool:
    """Returns whether two texts name days of the week that are not as far apart as their dates.

    In two time zones, Saturday at 23:00 and Sunday at 1:00 may be the same moment.
    """
    days = [*map(_list_weekdays, texts)]
    if not all(days):
        return False
    dates = [datetime.date(*map(_or_one, moment[:3])).toordinal() for moment, *_ in readings]
    return not any((day + dates[1] - dates[0]) % 7 in days[1] for day in days[0])


def _or_one(part: int | None) -> int:
    return part or 1


def _list_weekdays(text: str) -> set[int]:
    """Lists the days of the week that a date may name, in whatever language."""
    words = [word for word in _WORD_SEPARATORS.split(fold_case(text)) if word]
    if _has_tuesday([word for word in words if word not in _FILLERS]):
        return {1}
    return set().union(*(_WEEKDAY_NUMBERS.get(word, ()) for word in words))


def _has_tuesday(words: list[str]) -> bool:
    """Returns whether "mar" before a day and another month is a day of the week."""
    months = [word for word in words if word in MONTHS or word in _MONTH_ABBREVIATIONS]
    has_day = any(map(_ORDINAL.fullmatch, words))
    return len(months) > 1 and words[0] == _TUESDAY_OR_MARCH and has_day


def list_calendar_kinds(word: str) -> set[str]:
    """Lists whether a word in lower case names a "day" of the week, a "month" or both."""
    is_day = word in _WEEKDAY_NUMBERS or word in _OTHER_WEEKDAYS
    is_month = word in MONTHS or word in _MONTH_ABBREVIATIONS
    return {kind for kind, is_so in (("day", is_day), ("month", is_month)) if is_so}


def is_ambiguous_date(first: tuple[Moment, ...], second: tuple[Moment, ...]) -> bool:
    """Returns whether one text has two readings as a date, and the other is one of these."""
    readings = sorted((first, second), key=len)
    if [len(found) for found in readings] != [1, 2]:
        return False
    return _drop_midnight(readings[0][0]) in map(_drop_midnight, readings[1])


def _is_precise(moment: Moment) -> bool:
    """Returns False for a bare year, which may as well be a number."""
    return moment.month is not None or moment.clock is not None


def _drop_midnight(moment: Moment) -> Moment:
    is_midnight = moment.clock is not None and moment.clock.replace(tzinfo=None) == _MIDNIGHT
    return moment._replace(clock=None) if is_midnight and moment.day is not None else moment


_MIDNIGHT = datetime.time()
_LEAP_YEAR = 2000
_Date = tuple[int | None, int | None, int | None]


def _exists(date: _Date) -> bool:
    try:
        datetime.date(_LEAP_YEAR if date[0] is None else date[0], date[1] or 1, date[2] or 1)
    except ValueError:
        return False
    return True


def _parse_numeric_date(text: str, order: str) -> tuple[_Date, ...]:
    """Returns the readings of a date without words."""
    match = _YEAR_FIRST.fullmatch(text)
    if match is not None:
        month = match[2] or match[3]
        return (
            (int(match[1]), int(month) if month else None, int(match[4]) if match[4] else None),
        )
    match = _POINTED_YEAR_FIRST.fullmatch(text)
    if match is not None:
        return ((int(match[1]), int(match[2]), int(match[3])),)
    match = _COMPACT_DATE.fullmatch(text) or _CJK_DATE.fullmatch(text)
    if match is not None:
        return ((int(match[1]), int(match[2]), int(match[3]) if match[3] else None),)
    match = _MONTH_FIRST.fullmatch(text)
    if match is not None:
        return ((int(match[2]), int(match[1]), None),)
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        return ()
    first, separator, second, year = int(match[1]), match[2], int(match[3]), _read_year(match[4])
    day_first, month_first = (year, second, first), (year, first, second)
    if separator == "." or first > 12 or order == "day_first":
        return (day_first,)
    if second > 12 or first == second or order == "month_first":
        return (month_first,)
    return day_first, month_first


def _read_year(digits: str) -> int:
    """Reads a year; one of two digits as POSIX does."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year > 68 else 2000)


def _parse_worded_date(text: str) -> _Date | None:
    text = _SHORT_YEAR.sub(lambda match: str(_read_year(match[1])), text)
    joined = _JOINED_DATE.fullmatch(text)
    if joined is not None:
        text = " ".join(joined.groups())
    words = [
        word for word in _WORD_SEPARATORS.split(fold_case(text)) if word and word not in _FILLERS
    ]
    year: int | None = None
    month: int | None = None
    day: int | None = None
    if _has_tuesday(words):  # "Jan-Mar" are two months
        del words[0]
    for word in words:
        month_number = MONTHS.get(word) or _MONTH_ABBREVIATIONS.get(word)
        ordinal = _ORDINAL.fullmatch(word)
        if month_number and month is None:
            month = month_number
        elif len(word) == 4 and word.isdecimal() and year is None:
            year = int(word)
        elif ordinal is not None and day is None:
            day = int(ordinal[1])
        elif len(word) == 2 and word.isdecimal() and month is not None and year is None:
            year = _read_year(word)
        else:
            return None
    if month is None or (year is None and not _is_day_first(words, day)):
        return None
    return year, month, day


def _is_day_first(words: list[str], day: int | None) -> bool:
    """Returns whether two words are a day and a month for sure; "Mar 24" may be March 2024."""
    if day is None or len(words) != 2:
        return False
    return words[0][0].isdecimal() or not words[1].isdecimal()


def _write_clock(match: re.Match[str]) -> str:
    """Returns a time in digits, for one in words."""
    return f"{match[1]}:{match[2] or match[3] or '00'}{'' if match[3] else ' '}"


def _write_cjk_time(match: re.Match[str]) -> str:
    second = f":{match[3].zfill(2)}" if match[3] else ""
    return f" {match[1]}:{match[2].zfill(2)}{second}"


def _write_year(match: re.Match[str]) -> str:
    return str(_ERAS[match[1]] + (1 if match[2] == "元" else int(match[2])))


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
    elif offset_text in _ZONES:
        zone = datetime.timezone(datetime.timedelta(hours=_ZONES[offset_text]))
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
