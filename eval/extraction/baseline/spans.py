"""Finds numbers, dates, times, addresses, names and similar spans in a text by their form."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

import msgspec

from eval.extraction.matchers.dates import MONTHS, parse_moment
from kg.words.number_words import NUMBER_WORDS

Kind = Literal["number", "date", "time", "email", "url", "uuid", "phone", "name", "quoted", "code"]

MAX_SPANS: Final = 5_000
"""Maximum number of spans per text, and of number words in addition."""

_MONTH_PATTERN = "|".join(sorted(map(re.escape, MONTHS), key=lambda name: (-len(name), name)))
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
            rf"\b\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?:{_MONTH_PATTERN})\.?,?"
            r"(?:\s+(?:de\s+)?\d{4})?(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "date",
        re.compile(
            rf"\b(?:{_MONTH_PATTERN})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?(?!\w)",
            re.IGNORECASE,
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
"""Applied in this order; a span of a later kind may not overlap an earlier one, except for names
and quotations, which may contain anything."""

_NUMBER_WORDS = {word: number for number, word in enumerate(NUMBER_WORDS[:13])}
_NUMBER_WORD_PATTERN = re.compile(
    r"\b(?:" + "|".join(_NUMBER_WORDS) + r"|once|twice)\b", re.IGNORECASE
)
_TITLES = re.compile(r"^(?:Dear|Mr|Mrs|Ms|Dr|Prof|The|A|An|In|On|At|It|He|She|We|I)\b\.?\s*")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


class Span(msgspec.Struct, frozen=True):
    """A recognised stretch of text."""

    kind: Kind
    start: int
    end: int
    text: str
    value: str | float | int
    """A number, a date as ISO 8601, or the text itself."""


def find_spans(text: str) -> list[Span]:
    """Finds the spans of a text, sorted by start, up to the limit ``MAX_SPANS``."""
    taken: list[tuple[int, int]] = []
    spans: list[Span] = []
    year = _most_frequent_year(text)
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            if kind not in {"name", "quoted"} and _overlaps_any(taken, start, end):
                continue
            span = _build_span(kind, start, end, text[start:end], year)
            if span is None:
                continue
            spans.append(span)
            if kind not in {"name", "quoted", "code"}:
                taken.insert(bisect_left(taken, (start, end)), (start, end))
            if len(spans) >= MAX_SPANS:
                break
    spans += islice(_iter_number_words(text), MAX_SPANS)
    return sorted(spans, key=lambda span: (span.start, span.end, span.kind))


def parse_number(text: str) -> float | int | None:
    """Parses a number such as ``1,234.5`` or ``1.234,5``; returns ``None`` if it is none."""
    plain = re.sub(r"[\u00a0 '\u2019]", "", text.replace("\u2212", "-")).lstrip("+")
    comma, dot = plain.rfind(","), plain.rfind(".")
    if comma >= 0 and dot >= 0:
        plain = plain.replace("," if comma < dot else ".", "").replace(",", ".")
    elif comma >= 0:
        # Three digits after every comma: thousands separators; otherwise a decimal comma.
        parts = plain.split(",")
        thousands = all(len(part) == 3 for part in parts[1:]) and parts[0] not in {"0", "-0"}
        plain = plain.replace(",", "" if thousands else ".")
    try:
        number = float(plain)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "." not in plain else number


def _build_span(kind: Kind, start: int, end: int, text: str, default_year: str) -> Span | None:
    value: str | float | int | None = text
    if kind == "number":
        value = parse_number(text)
    elif kind == "date":
        value = _to_iso_date(text, default_year)
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


def _to_iso_date(text: str, default_year: str) -> str | None:
    """Converts a date to ISO 8601; a date without a year gets the text's most frequent year."""
    moment = parse_moment(text)
    if (moment is None or not _YEAR.search(text)) and default_year:
        moment = parse_moment(f"{text} {default_year}")
    if moment is None or moment.year is None or moment.month is None or moment.day is None:
        return None
    return f"{moment.year:04}-{moment.month:02}-{moment.day:02}"


def _most_frequent_year(text: str) -> str:
    years = _YEAR.findall(text)
    return max(years, key=lambda year: (years.count(year), -years.index(year))) if years else ""


def _iter_number_words(text: str) -> Iterator[Span]:
    for match in _NUMBER_WORD_PATTERN.finditer(text):
        word = match.group().lower()
        value = {"once": 1, "twice": 2}.get(word, _NUMBER_WORDS.get(word, 0))
        yield Span("number", match.start(), match.end(), match.group(), value)


def _overlaps_any(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    """Returns whether a span overlaps one of ``taken``, which are disjoint and sorted."""
    index = bisect_left(taken, (start, end))
    return any(
        taken_start < end and start < taken_end
        for taken_start, taken_end in taken[max(index - 1, 0) : index + 1]
    )
