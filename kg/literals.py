"""Literals in words: numbers with thousands separators, dates, booleans; nothing is rounded."""

from __future__ import annotations

import re
from datetime import date, datetime

from kg.plain_text import plain, words_of

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_INTEGERS = frozenset(
    XSD + name
    for name in words_of(
        "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger "
        "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
    )
)
NUMERIC = _INTEGERS | {XSD + "decimal", XSD + "double", XSD + "float"}
_ESCAPE = re.compile(r"\\(?:([tbnrf\"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PLAIN_ESCAPES = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))
# Not strftime: its names change with the process's locale.
_MONTHS = words_of(
    "January February March April May June July August September October November December"
)
_NUMBER = re.compile(r"([+-]?)(\d+)((?:\.\d+)?)((?:[eE][+-]?\d+)?)")


def parse_literal(term: str) -> tuple[str, str, str]:
    """Takes literal term text apart.

    Returns:
        ``(lexical form, datatype IRI, language)``; the language is empty where there is none.

    Raises:
        ValueError: ``term`` is not a literal in N-Triples form.
    """
    end = term.rfind('"')
    if not term.startswith('"') or end == 0:
        raise ValueError(f"not a literal: {term[:80]!r}")
    lexical, tail = term[1:end], term[end + 1 :]
    if "\\" in lexical:
        lexical = _ESCAPE.sub(_unescape, lexical)
    if tail.startswith("@"):
        return lexical, LANG_STRING, tail[1:]
    if tail.startswith("^^<") and tail.endswith(">"):
        return lexical, tail[3:-1], ""
    return lexical, XSD + "string", ""


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


def _unescape(match: re.Match[str]) -> str:
    simple, short, long = match.groups()
    if simple:
        return _PLAIN_ESCAPES[simple]
    code = int(short or long, 16)
    return chr(code) if code < 0x110000 else "\ufffd"
