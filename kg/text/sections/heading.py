"""Section numbers as headings bear them: ``3.2 Title``, ``Chapter IV``, ``Appendix A.1``, ``§ 4``.

A number counts only where a heading puts its label: at the very start, alone or after a word such
as *Chapter*, and cut off from what follows. ``SQL-92``, ``2PL protocols``, ``3NF``, ``1999`` and
``3.1.2 - 2024-05-01`` bear none.
"""

from __future__ import annotations

import re

import msgspec

from kg.text.normaliser import words
from kg.words.number_words import NUMBER_WORDS

MAX_PARTS = 12
"""A number of more parts is none: nobody nests so deep, and hostile files might."""

_CHAPTERS = "chapter|unit|lecture|lesson|module|kapitel|chapitre|cap[ií]tulo|capitolo"
_SECTIONS = "section|sect?\\.|abschnitt|secci[oó]n|sezione|se[cç][cç][aã]o"
_APPENDICES = "appendix|annex|anhang|annexe|appendice|ap[eé]ndice"
_PARTS = "part|teil|partie|parte"

_ROMAN = "(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})"
"""Up to 39: larger ones are rarer than letters and words that look like one (``C``, ``mix``)."""
_DOTTED = rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,{MAX_PARTS - 1}}}"
_LETTERED = rf"[a-z](?:\.\d{{1,3}}){{1,{MAX_PARTS - 1}}}"
_WORDS = NUMBER_WORDS[1:]

_END = r"(?:[.:)]?(?=\s|$)|\s*[–—:-](?=\s|$))"
"""What may end a number: nothing more, or a mark followed by space. ``2PL``, ``3-way``, ``4,000``
and ``1/2`` go on instead."""

_NAMED = re.compile(
    rf"(?P<word>(?P<chapter>{_CHAPTERS})|(?P<section>{_SECTIONS})|(?P<appendix>{_APPENDICES})"
    rf"|(?P<part>{_PARTS}))(?:\s+|(?=\d)|(?<=\.))(?P<number>{_DOTTED}|{_LETTERED}|[a-z](?=\W|$)|{_ROMAN}"
    rf"|{'|'.join(_WORDS)})" + _END,
    re.IGNORECASE,
)
_SIGN = re.compile(rf"§{{1,2}}\s*(?P<number>{_DOTTED}|{_LETTERED})" + _END, re.IGNORECASE)
_BARE = re.compile(rf"(?P<number>{_DOTTED}|[A-Z](?:\.\d{{1,3}}){{1,{MAX_PARTS - 1}}})" + _END)
_BARE_ROMAN = re.compile(r"(?P<number>[IVX]+)[.)](?=\s+[^\W\d_a-z]|\s*$)")
_DATE = re.compile(r"\W*\d{4}[-./]\d{1,2}[-./]\d{1,2}\W*")
"""Under a number, a mere date says that it is the version of a list of changes."""

START = "start"
"""The key of what stands before any heading."""
MAX_KEY = 80
"""Characters of a key."""

_DRESSING = " \t#*_`"
"""What Markdown puts around a heading."""

_MAX_LENGTH = 1_000
"""No longer heading is read for a number: it is a paragraph that bears the wrong name."""


class SectionLabel(msgspec.Struct, frozen=True):
    """The number a heading bears."""

    parts: tuple[str, ...]
    """``("3", "2")``, ``("A", "1")``; roman numerals and words as digits, letters as capitals, and
    what is numbered by itself under its own first part: ``("part", "2")``, ``("appendix", "1")``.
    """
    written: str
    """The number as it stands there: ``3.2``, ``IV``."""
    title: str
    """What is left of the heading; empty where it is all number."""


def parse_heading(text: str) -> SectionLabel | None:
    """The section number of a heading, or None where it bears none.

    Args:
        text: one heading, with or without Markdown's marks.
    """
    if len(text) > _MAX_LENGTH:
        return None
    plain = re.sub(r"\*\*|__", "", text).strip(_DRESSING)
    named = _NAMED.match(plain)
    if named is not None:
        return _named(named, plain)
    found = _SIGN.match(plain) or _BARE.match(plain)
    if found is not None:
        title = _title(plain, found.end())
        if _DATE.fullmatch(title):
            return None
        written = found["number"]
        return SectionLabel(_dotted(written), written, title)
    roman = _BARE_ROMAN.match(plain)
    value = _roman(roman["number"]) if roman is not None else 0
    if roman is None or not value:  # such as "IIX."
        return None
    return SectionLabel((str(value),), roman["number"], _title(plain, roman.end()))


def section_key(heading: str) -> str:
    """What a section's id is made of: its number as written, else its heading in small letters.

    Args:
        heading: mended; empty for what stands before any heading.
    """
    if not heading:
        return START
    label = parse_heading(heading)
    if label is not None:
        return label.written
    slug = "-".join(words(heading)).replace("#", "-sharp")
    return slug[:MAX_KEY].rstrip("-") or "section"


def _named(found: re.Match[str], plain: str) -> SectionLabel | None:
    written = found["number"]
    title = _title(plain, found.end())
    if written[0].isdigit() or "." in written:
        parts = _dotted(written)
    elif written.casefold() in _WORDS:
        parts = (str(_WORDS.index(written.casefold()) + 1),)
    elif found["appendix"] is not None and len(written) == 1:
        # "Appendix C" follows "Appendix B"; it is not the hundredth.
        return SectionLabel((written.upper(),), written, title)
    else:
        value = _roman(written)
        if not value:
            return None
        parts = (str(value),)
    if found["part"] is not None:
        return SectionLabel(("part", *parts), written, title)
    if found["appendix"] is not None and parts[0].isdigit():
        return SectionLabel(("appendix", *parts), written, title)
    return SectionLabel(parts, written, title)


def _dotted(written: str) -> tuple[str, ...]:
    return tuple(str(int(part)) if part.isdigit() else part.upper() for part in written.split("."))


def _title(plain: str, start: int) -> str:
    return plain[start:].strip(_DRESSING + ".:–—-")


_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}


def _roman(written: str) -> int:
    """The value of a roman numeral; 0 for letters that are none."""
    if not re.fullmatch(_ROMAN, written, re.IGNORECASE):
        return 0
    values = [_ROMAN_VALUES[letter] for letter in written.upper()]
    return sum(
        -value if value < max(values[i + 1 :], default=0) else value
        for i, value in enumerate(values)
    )
