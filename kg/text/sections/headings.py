"""Parses section numbers of headings: ``3.2 Title``, ``Chapter IV``, ``Appendix A.1``, ``§ 4``.

A number counts only at the very start of a heading, alone or after a word such as *Chapter*, and
separated from what follows. ``SQL-92``, ``2PL protocols``, ``3NF``, ``1999`` and
``3.1.2 - 2024-05-01`` have no section number.
"""

from __future__ import annotations

import re

import msgspec

from kg.words.normaliser import split_words
from kg.words.number_words import NUMBER_WORDS

MAX_NUMBER_PARTS = 12
"""Maximum number of parts of a section number; limits the work on hostile files."""

_CHAPTERS = "chapter|unit|lecture|lesson|module|kapitel|chapitre|cap[ií]tulo|capitolo"
_SECTIONS = "section|sect?\\.|abschnitt|secci[oó]n|sezione|se[cç][cç][aã]o"
_APPENDICES = "appendix|annex|anhang|annexe|appendice|ap[eé]ndice"
_PARTS = "part|teil|partie|parte"

_ROMAN = "(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})"
"""Up to 39: larger ones are rarer than letters and words that look like one (``C``, ``mix``)."""
_DOTTED_NUMBER = rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,{MAX_NUMBER_PARTS - 1}}}"
_LETTERED_NUMBER = rf"[a-z](?:\.\d{{1,3}}){{1,{MAX_NUMBER_PARTS - 1}}}"
_WORD_NUMBERS = NUMBER_WORDS[1:]

_NUMBER_END = r"(?:[.:)]?(?=\s|$)|\s*[–—:-](?=\s|$))"
"""What must follow a number: space, or a punctuation mark and space. It does not match in ``2PL``,
``3-way``, ``4,000`` and ``1/2``."""

_NAMED_NUMBER = re.compile(
    rf"(?P<word>(?P<chapter>{_CHAPTERS})|(?P<section>{_SECTIONS})|(?P<appendix>{_APPENDICES})"
    rf"|(?P<part>{_PARTS}))(?:\s+|(?=\d)|(?<=\.))"
    rf"(?P<number>{_DOTTED_NUMBER}|{_LETTERED_NUMBER}|[a-z](?=\W|$)|{_ROMAN}"
    rf"|{'|'.join(_WORD_NUMBERS)})" + _NUMBER_END,
    re.IGNORECASE,
)
_SECTION_SIGN = re.compile(
    rf"§{{1,2}}\s*(?P<number>{_DOTTED_NUMBER}|{_LETTERED_NUMBER})" + _NUMBER_END, re.IGNORECASE
)
_UNNAMED_NUMBER = re.compile(
    rf"(?P<number>{_DOTTED_NUMBER}|[A-Z](?:\.\d{{1,3}}){{1,{MAX_NUMBER_PARTS - 1}}})" + _NUMBER_END
)
_UNNAMED_ROMAN = re.compile(r"(?P<number>[IVX]+)[.)](?=\s+[^\W\d_a-z]|\s*$)")
_DATE = re.compile(r"\W*\d{4}[-./]\d{1,2}[-./]\d{1,2}\W*")
"""If the title is only a date, the number is the version number of a changelog entry."""

START_KEY = "start"
"""The key of the text before any heading."""
MAX_KEY_LENGTH = 80
"""Maximum number of characters in a key."""

_MARKDOWN_CHARS = " \t#*_`"
"""Markdown characters around a heading."""

_MAX_HEADING_LENGTH = 1_000
"""Maximum number of characters in a heading; a longer text is a paragraph and has no label."""


class SectionLabel(msgspec.Struct, frozen=True):
    """The section number and the title of a heading."""

    parts: tuple[str, ...]
    """``("3", "2")``, ``("A", "1")``; roman numerals and words as digits, letters as capitals.
    Parts and appendices are counted separately, so they have a first part of their own:
    ``("part", "2")``, ``("appendix", "1")``.
    """
    number: str
    """The number as written: ``3.2``, ``IV``."""
    title: str
    """The rest of the heading; empty if there is only a number."""


def parse_heading(text: str) -> SectionLabel | None:
    """Returns the section number and title of a heading, or None if it has no number.

    Args:
        text: one heading, with or without Markdown marks.
    """
    if len(text) > _MAX_HEADING_LENGTH:
        return None
    heading = re.sub(r"\*\*|__", "", text).strip(_MARKDOWN_CHARS)
    named_match = _NAMED_NUMBER.match(heading)
    if named_match is not None:
        return _parse_named_number(named_match, heading)
    match = _SECTION_SIGN.match(heading) or _UNNAMED_NUMBER.match(heading)
    if match is not None:
        title = _extract_title(heading, match.end())
        if _DATE.fullmatch(title):
            return None
        number = match["number"]
        return SectionLabel(_split_number(number), number, title)
    roman = _UNNAMED_ROMAN.match(heading)
    value = _parse_roman(roman["number"]) if roman is not None else 0
    if roman is None or not value:  # such as "IIX."
        return None
    return SectionLabel((str(value),), roman["number"], _extract_title(heading, roman.end()))


def remove_number(heading: str) -> str:
    """Returns the title of a heading, without a section number and without marks around it."""
    label = parse_heading(heading)
    return label.title if label is not None else heading.strip("#* \t")


def make_section_key(heading: str) -> str:
    """Returns the key of a section's id: its number as written, else its heading as a slug.

    Args:
        heading: the cleaned heading; empty for the text before any heading.
    """
    if not heading:
        return START_KEY
    label = parse_heading(heading)
    if label is not None:
        return label.number
    slug = "-".join(split_words(heading)).replace("#", "-sharp")
    return slug[:MAX_KEY_LENGTH].rstrip("-") or "section"


def _parse_named_number(match: re.Match[str], heading: str) -> SectionLabel | None:
    number = match["number"]
    title = _extract_title(heading, match.end())
    if number[0].isdigit() or "." in number:
        parts = _split_number(number)
    elif number.casefold() in _WORD_NUMBERS:
        parts = (str(_WORD_NUMBERS.index(number.casefold()) + 1),)
    elif match["appendix"] is not None and len(number) == 1:
        # "Appendix C" is the third appendix, not the hundredth: a single letter is not read as a
        # roman numeral.
        return SectionLabel((number.upper(),), number, title)
    else:
        value = _parse_roman(number)
        if not value:
            return None
        parts = (str(value),)
    if match["part"] is not None:
        return SectionLabel(("part", *parts), number, title)
    if match["appendix"] is not None and parts[0].isdigit():
        return SectionLabel(("appendix", *parts), number, title)
    return SectionLabel(parts, number, title)


def _split_number(number: str) -> tuple[str, ...]:
    return tuple(str(int(part)) if part.isdigit() else part.upper() for part in number.split("."))


def _extract_title(heading: str, start: int) -> str:
    return heading[start:].strip(_MARKDOWN_CHARS + ".:–—-")


_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}


def _parse_roman(numeral: str) -> int:
    """Returns the value of a roman numeral; 0 if the letters are not one."""
    if not re.fullmatch(_ROMAN, numeral, re.IGNORECASE):
        return 0
    values = [_ROMAN_VALUES[letter] for letter in numeral.upper()]
    return sum(
        -value if value < max(values[i + 1 :], default=0) else value
        for i, value in enumerate(values)
    )
