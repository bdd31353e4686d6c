"""Literals in words: numbers with thousands separators, dates, booleans; nothing is rounded."""

from __future__ import annotations

import re
from datetime import date, datetime

from kg.terms import XSD, parse_literal
from kg.words.plain_text import plain, words_of

_INTEGERS = frozenset(
    XSD + name
    for name in words_of(
        "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
        "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
    )
)
NUMERIC = _INTEGERS | {XSD + "decimal", XSD + "double", XSD + "float"}
# Not strftime: its names change with the process's locale.
_MONTHS = words_of(
    "January February March April May June July August September October November December"
)
_NUMBER = re.compile(r"([+-]?)(\d+)((?:\.\d+)?)((?:[eE][+-]?\d+)?)")


def number(term: str) -> float | None:
    """The value of a numeric literal, or None for anything else."""
    if not term.startswith('"'):
        return None
    lexical, datatype, _ = parse_literal(term)
    if datatype not in NUMERIC:
        return None
    try:
        return float(lexical)
    except ValueError:
        return None


def format_literal(lexical: str, datatype: str, *, thousands: bool = True) -> str:
    """A literal as plain text in English; ill-formed ones as they are written."""
    text = plain(lexical)
    if datatype in NUMERIC:
        return format_number(text) if thousands else text
    kind = datatype.removeprefix(XSD)
    try:
        if kind == "date":
            return _day(date.fromisoformat(text))
        if kind in ("dateTime", "dateTimeStamp"):
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
            seconds = f":{moment.second:02}" if moment.second else ""
            clock = f"{moment.hour:02}:{moment.minute:02}{seconds}"
            zone = text[19:].lstrip(".0123456789")
            return f"{_day(moment.date())}, {clock}{' UTC' if zone == 'Z' else ' ' + zone}".rstrip()
        if kind == "gYearMonth":
            first = date.fromisoformat(text + "-01")
            return f"{_MONTHS[first.month - 1]} {first.year}"
    except ValueError:
        return text
    if kind == "boolean":
        return {"1": "true", "0": "false"}.get(text, text)
    return text


def format_number(text: str) -> str:
    """``"1233"`` → ``"1,233"``; the digits after the point and the exponent stay as written."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, whole, fraction, exponent = match.groups()
    if exponent:
        return text
    minus = "-" if sign == "-" else ""
    # By slices rather than int(): a label may claim to be a number of a million digits.
    whole = whole.lstrip("0") or "0"
    head = len(whole) % 3
    groups = [whole[:head]] if head else []
    groups += [whole[i : i + 3] for i in range(head, len(whole), 3)]
    return minus + ",".join(groups) + fraction


def _day(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
