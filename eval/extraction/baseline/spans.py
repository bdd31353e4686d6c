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
"""Maximum number of spans per text; the same number of number words may be added."""

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
"""Patterns in the order in which they are applied. A span must not overlap a span of an earlier
pattern; names, quotations and codes do not count as earlier spans, and names and quotations may
overlap all spans."""

_NUMBER_WORDS = {word: number for number, word in enumerate(NUMBER_WORDS[:13])}
_NUMBER_WORD_PATTERN = re.compile(
    r"\b(?:" + "|".join(_NUMBER_WORDS) + r"|once|twice)\b", re.IGNORECASE
)
# Matches capitalised words at the start of a span that are not part of the name.
_LEADING_WORDS = re.compile(r"^(?:Dear|Mr|Mrs|Ms|Dr|Prof|The|A|An|In|On|At|It|He|She|We|I)\b\.?\s*")
# Matches the years 1500 to 2099.
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


class Span(msgspec.Struct, frozen=True):
    """A part of a text that was recognised as a value of some kind."""

    kind: Kind
    start: int
    end: int
    text: str
    value: str | float | int
    """A number, a date as ISO 8601, or the text itself."""


def find_spans(text: str) -> list[Span]:
    """Finds the spans of a text, sorted by start, up to the limit ``MAX_SPANS``."""
    used_ranges: list[tuple[int, int]] = []
    spans: list[Span] = []
    year = _find_most_frequent_year(text)
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            if kind not in {"name", "quoted"} and _overlaps_any(used_ranges, start, end):
                continue
            span = _build_span(kind, start, end, text[start:end], year)
            if span is None:
                continue
            spans.append(span)
            if kind not in {"name", "quoted", "code"}:
                used_ranges.insert(bisect_left(used_ranges, (start, end)), (start, end))
            if len(spans) >= MAX_SPANS:
                break
    spans += islice(_iter_number_words(text), MAX_SPANS)
    return sorted(spans, key=lambda span: (span.start, span.end, span.kind))


def parse_number(text: str) -> float | int | None:
    """Parses a number such as ``1,234.5`` or ``1.234,5``; ``None`` if the text is not a number."""
    normalised = re.sub(r"[\u00a0 '\u2019]", "", text.replace("\u2212", "-")).lstrip("+")
    comma, dot = normalised.rfind(","), normalised.rfind(".")
    if comma >= 0 and dot >= 0:
        normalised = normalised.replace("," if comma < dot else ".", "").replace(",", ".")
    elif comma >= 0:
        # Commas that are all followed by three digits separate thousands; otherwise the comma is a
        # decimal comma.
        parts = normalised.split(",")
        is_thousands = all(len(part) == 3 for part in parts[1:]) and parts[0] not in {"0", "-0"}
        normalised = normalised.replace(",", "" if is_thousands else ".")
    try:
        number = float(normalised)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "." not in normalised else number


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
        name = _LEADING_WORDS.sub("", text)
        start += len(text) - len(name)
        value = text = name.rstrip(".,")
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


def _find_most_frequent_year(text: str) -> str:
    years = _YEAR.findall(text)
    return max(years, key=lambda year: (years.count(year), -years.index(year))) if years else ""


def _iter_number_words(text: str) -> Iterator[Span]:
    for match in _NUMBER_WORD_PATTERN.finditer(text):
        word = match.group().lower()
        value = {"once": 1, "twice": 2}.get(word, _NUMBER_WORDS.get(word, 0))
        yield Span("number", match.start(), match.end(), match.group(), value)


def _overlaps_any(ranges: list[tuple[int, int]], start: int, end: int) -> bool:
    """Returns whether a span overlaps one of ``ranges``, which are disjoint and sorted."""
    index = bisect_left(ranges, (start, end))
    return any(
        range_start < end and start < range_end
        for range_start, range_end in ranges[max(index - 1, 0) : index + 1]
    )
