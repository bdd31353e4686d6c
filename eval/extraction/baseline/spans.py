"""What stands in a text that has a form of its own: numbers, dates, times, addresses, names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

import msgspec

from eval.extraction.matchers.dates import MONTHS, moment
from kg.words.number_words import NUMBER_WORDS

Kind = Literal["number", "date", "time", "email", "url", "uuid", "phone", "name", "quoted", "code"]

MOST: Final = 5_000
"""Spans of one text that are looked at, and so many numbers in words."""

_MONTH = "|".join(sorted(map(re.escape, MONTHS), key=lambda name: (-len(name), name)))
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("url", re.compile(r"https?://[^\s<>\"')\]]{1,300}")),
    (
        "email",
        re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}"),
    ),
    ("uuid", re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    ("date", re.compile(r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b")),
    (
        "date",
        re.compile(
            rf"\b\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?:{_MONTH})\.?,?"
            r"(?:\s+(?:de\s+)?\d{4})?(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "date",
        re.compile(
            rf"\b(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?(?!\w)", re.IGNORECASE
        ),
    ),
    ("time", re.compile(r"\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\b")),
    ("phone", re.compile(r"(?<![\w.,-])(?:\+\d{1,3}|\(?0)[\d()\- /.]{6,20}\d(?![\w-])")),
    ("code", re.compile(r"\b(?=[\w./-]{0,30}\d)(?=[\w./-]{0,30}[A-Z-])[A-Z0-9][\w./-]{2,30}\b")),
    (
        "number",
        re.compile(
            r"(?<![\w.,/-])[-+\u2212]?(?:\d{1,3}(?:[,'\u2019\u00a0 ]\d{3})+|\d{1,15})"
            r"(?:[.,]\d{1,9})?(?![\d/]|[.,]\d)"
        ),
    ),
    (
        "quoted",
        re.compile(
            r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb\n]{1,120})[\"\u201d\u201c\u00bb]"
        ),
    ),
    (
        "name",
        re.compile(
            r"\b[A-Z\u00c0-\u00de][\w\u2019'&.-]{0,40}"
            r"(?:\s+(?:(?:of|de|la|van|von|der|&|and)\s+)?[A-Z\u00c0-\u00de][\w\u2019'&-]{0,40}){0,5}"
        ),
    ),
)
"""In this order: what one has taken no other takes, but for names, which may hold anything."""

_WORDED = {word: number for number, word in enumerate(NUMBER_WORDS[:13])}
_WORDED_PATTERN = re.compile(r"\b(?:" + "|".join(_WORDED) + r"|once|twice)\b", re.IGNORECASE)
_TITLES = re.compile(r"^(?:Dear|Mr|Mrs|Ms|Dr|Prof|The|A|An|In|On|At|It|He|She|We|I)\b\.?\s*")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


class Span(msgspec.Struct, frozen=True):
    """Something with a form."""

    kind: Kind
    start: int
    end: int
    text: str
    value: str | float | int
    """A number; a date as ISO 8601; else the text."""


def spans_of(text: str) -> list[Span]:
    """All spans of a text, by where they begin, at most ``MOST``."""
    taken: list[tuple[int, int]] = []
    found: list[Span] = []
    year = _usual_year(text)
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            if kind not in {"name", "quoted"} and _overlaps(taken, start, end):
                continue
            span = _span(kind, start, end, text[start:end], year)
            if span is None:
                continue
            found.append(span)
            if kind not in {"name", "quoted", "code"}:
                taken.insert(bisect_left(taken, (start, end)), (start, end))
            if len(found) >= MOST:
                break
    found += islice(_worded(text), MOST)
    return sorted(found, key=lambda span: (span.start, span.end, span.kind))


def number_in(text: str) -> float | int | None:
    """The number a text writes, ``1,234.5`` or ``1.234,5``; null if it is none."""
    plain = re.sub(r"[\u00a0 '\u2019]", "", text.replace("\u2212", "-")).lstrip("+")
    comma, dot = plain.rfind(","), plain.rfind(".")
    if comma >= 0 and dot >= 0:
        plain = plain.replace("," if comma < dot else ".", "").replace(",", ".")
    elif comma >= 0:
        # Three digits after every comma: thousands; otherwise it is the decimal mark.
        parts = plain.split(",")
        thousands = all(len(part) == 3 for part in parts[1:]) and parts[0] not in {"0", "-0"}
        plain = plain.replace(",", "" if thousands else ".")
    try:
        number = float(plain)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "." not in plain else number


def _span(kind: Kind, start: int, end: int, text: str, year: str) -> Span | None:
    value: str | float | int | None = text
    if kind == "number":
        value = number_in(text)
    elif kind == "date":
        value = _iso(text, year)
    elif kind in {"url", "email"}:
        value = text = text.rstrip(".,;:!?")
        end = start + len(text)
    elif kind == "name":
        bare = _TITLES.sub("", text)
        start += len(text) - len(bare)
        value = text = bare.rstrip(".,")
        end = start + len(text)
    elif kind == "phone":
        value = text = text.strip()
    return Span(kind, start, end, text, value) if value not in (None, "") else None


def _iso(text: str, year: str) -> str | None:
    """A date as ISO 8601; one without a year is of the year the text speaks of."""
    found = moment(text)
    if (found is None or not _YEAR.search(text)) and year:
        found = moment(f"{text} {year}")
    if found is None or found.year is None or found.month is None or found.day is None:
        return None
    return f"{found.year:04}-{found.month:02}-{found.day:02}"


def _usual_year(text: str) -> str:
    years = _YEAR.findall(text)
    return max(years, key=lambda year: (years.count(year), -years.index(year))) if years else ""


def _worded(text: str) -> Iterator[Span]:
    for match in _WORDED_PATTERN.finditer(text):
        word = match.group().lower()
        value = {"once": 1, "twice": 2}.get(word, _WORDED.get(word, 0))
        yield Span("number", match.start(), match.end(), match.group(), value)


def _overlaps(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a stretch meets one that is taken; those are disjoint and sorted."""
    at = bisect_left(taken, (start, end))
    return any(one < end and start < other for one, other in taken[max(at - 1, 0) : at + 1])
