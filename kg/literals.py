"""Formats literals for readers: numbers, dates, durations and booleans, without rounding."""

from __future__ import annotations

import re
from datetime import date, datetime, time

from kg.base.plain_text import clean_text, list_words
from kg.quantities import split_duration
from kg.terms import RDF, RDFS, XSD, parse_literal

_INTEGERS = frozenset(
    XSD + name
    for name in list_words(
        "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
        "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
    )
)
DATATYPE_NOUNS = {
    **dict.fromkeys(_INTEGERS, "a whole number"),
    XSD + "nonNegativeInteger": "a whole number not below zero",
    XSD + "positiveInteger": "a whole number above zero",
    XSD + "nonPositiveInteger": "a whole number not above zero",
    XSD + "negativeInteger": "a whole number below zero",
    XSD + "decimal": "a decimal number",
    XSD + "double": "a number",
    XSD + "float": "a number",
    XSD + "string": "a text without a language",
    XSD + "normalizedString": "a text without a language",
    XSD + "token": "a text without a language",
    RDF + "langString": "a text in a stated language",
    RDFS + "Literal": "a value",
    XSD + "boolean": "either true or false",
    XSD + "date": "a date",
    XSD + "dateTime": "a date with a time",
    XSD + "dateTimeStamp": "a date with a time and a time zone",
    XSD + "time": "a time of day",
    XSD + "duration": "a duration",
    XSD + "dayTimeDuration": "a duration",
    XSD + "yearMonthDuration": "a duration",
    XSD + "gYear": "a year",
    XSD + "gYearMonth": "a month of a year",
    XSD + "gMonthDay": "a day of a month",
    XSD + "gMonth": "a month",
    XSD + "gDay": "a day",
    XSD + "anyURI": "a web address",
    XSD + "language": "a code of a language",
}
"""Datatype → what a literal of it is, with an article."""
_MOMENTS = frozenset(
    XSD + name for name in list_words("date dateTime dateTimeStamp gYear gYearMonth time")
)
NUMERIC = _INTEGERS | {XSD + "decimal", XSD + "double", XSD + "float"}
# Not strftime: its names change with the process's locale.
_MONTHS = list_words(
    "January February March April May June July August September October November December"
)
_DURATIONS = frozenset({XSD + "duration", XSD + "dayTimeDuration", XSD + "yearMonthDuration"}) | {
    f"{scheme}://schema.org/Duration" for scheme in ("http", "https")
}
_PERIODS = list_words("year month week day hour minute second")
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_NUMBER = re.compile(r"([+-]?)(\d+)((?:\.\d+)?)((?:[eE][+-]?\d+)?)")
"""Groups: sign, integer digits, fraction with its point, exponent; all but the digits optional."""


def parse_number(term: str) -> float | None:
    """Parses a numeric literal; returns None for any other term."""
    if not term.startswith('"'):
        return None
    lexical, datatype, _ = parse_literal(term)
    if datatype not in NUMERIC:
        return None
    try:
        return float(lexical)
    except ValueError:
        return None


def is_moment(term: str) -> bool:
    """Returns whether a term is a date or a time, which is before or after another one."""
    return term.startswith('"') and parse_literal(term).datatype in _MOMENTS


def format_literal(
    lexical: str, datatype: str, *, thousands: bool = True, midnights: bool = True
) -> str:
    """Formats a literal as English text; ill-formed literals keep their lexical form.

    Args:
        lexical: the lexical form.
        datatype: IRI of the datatype.
        thousands: whether numbers get thousands separators.
        midnights: whether midnight is written as a time; else it only says which day it is.
    """
    text = clean_text(lexical)
    if datatype in NUMERIC:
        if datatype not in _INTEGERS and text.endswith(".0"):
            text = text[:-2]  # as exporters write whole numbers
        return format_number(text) if thousands else text
    if datatype in _DURATIONS or (datatype == XSD + "string" and text.startswith("PT")):
        return _format_duration(text)
    datatype_name = datatype.removeprefix(XSD)
    try:
        if datatype_name == "date":
            return _format_day(date.fromisoformat(_ZONE.sub("", text)))
        if datatype_name in ("dateTime", "dateTimeStamp"):
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
            seconds = f":{moment.second:02}" if moment.second else ""
            time_text = f"{moment.hour:02}:{moment.minute:02}{seconds}"
            # The first 19 characters are YYYY-MM-DDThh:mm:ss; a fraction and the zone may follow.
            zone = text[19:].lstrip(".0123456789")
            zone = "UTC" if zone == "Z" else zone
            if not midnights and moment.time() == time():
                return _format_day(moment.date())
            return f"{_format_day(moment.date())}, {time_text} {zone}".rstrip()
        if datatype_name == "gYearMonth":
            month_start = date.fromisoformat(_ZONE.sub("", text) + "-01")
            return f"{_MONTHS[month_start.month - 1]} {month_start.year}"
    except ValueError:
        return text
    if datatype_name == "boolean":
        return {"1": "true", "0": "false"}.get(text, text)
    return text


def format_number(text: str) -> str:
    """Inserts thousands separators: ``"1233"`` → ``"1,233"``.

    The fraction is not changed; a number with an exponent is returned unchanged.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, integer_digits, fraction, exponent = match.groups()
    if exponent:
        return text
    minus = "-" if sign == "-" else ""
    # Slices rather than int(), which rejects very long numbers: a label may have a million digits.
    integer_digits = integer_digits.lstrip("0") or "0"
    first_group_size = len(integer_digits) % 3
    groups = [integer_digits[:first_group_size]] if first_group_size else []
    groups += [integer_digits[i : i + 3] for i in range(first_group_size, len(integer_digits), 3)]
    return minus + ",".join(groups) + fraction


def _format_day(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _format_duration(text: str) -> str:
    """Formats a duration, without converting its parts: ``PT90M`` → 90 minutes."""
    parts = split_duration(text)
    if parts is None:
        return text
    numbers = [part.lstrip("0") for part in parts]
    return (
        " ".join(
            f"{'0' if n.startswith('.') else ''}{n} {period}{'' if n == '1' else 's'}"
            for n, period in zip(numbers, _PERIODS, strict=True)
            if n
        )
        or "0 seconds"
    )
