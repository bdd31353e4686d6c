"""Finds the SKN block in what a model wrote: prose and code fences around it, markers in any dress.

What stands outside the block is noted. It counts as lost only where it looks like a part of one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eval.skn.grammar.lexical import SURROGATE
from eval.skn.grammar.parsed import Findings

_OPENING = re.compile(r"[\s*#>`_]*\\?\[\s*SKN\s*\\?\][\s*`_:]*", re.IGNORECASE)
_CLOSING = re.compile(r"[*`_]*\\?\[\s*/\s*SKN\s*\\?\][\s*`_.]*$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)[\w \t-]*$")
_HEADING = re.compile(r"[\s*#`_]*@\s?([A-Za-z][\w-]{0,40})[\s*`_:]*")
_BARE_HEADING = re.compile(
    r"(?:#+\s*)?(?:\*\*)?(facts?|caus(?:al|es?)|gaps?)[*:]*\s*$"
    r"|(src|source)\b[\s:]*(?=.{0,300}\bfresh)"
    r"|(risks?)\b[\s:]*(?=misdirection\s*[:=])",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"(?:src|sources?|facts?|caus(?:al|es?|ality)(?:[_-]?(?:links?|chains?))?|gaps?|risks?)",
    re.IGNORECASE,
)
# What is left of [SKN] where a section's name runs into it: "[@src a | …", "[@srcSKN]".
_TORN_OPENING = re.compile(
    r"[\s*#>`_]*\\?\[\W{0,9}@\s?(?:src|source|fact|caus|gap|risk)", re.IGNORECASE
)
_OF_INITIAL = {"s": "src", "f": "facts", "c": "causal", "g": "gaps", "r": "risk"}


class Piece(NamedTuple):
    """A line of the block, or what is left of it without a marker.

    Attributes:
        number: the line's number in the whole text, from 0.
        at: where in that line the piece begins, from 0.
        text: the piece.
    """

    number: int
    at: int
    text: str


class Heading(NamedTuple):
    """The start of a section.

    Attributes:
        section: its name as the grammar has it; empty for one the grammar does not know.
        end: where in the piece that which follows the name begins.
    """

    section: str
    end: int


class Block(NamedTuple):
    """The lines between the markers, and whether the end was seen."""

    pieces: tuple[Piece, ...]
    closed: bool


def heading_of(text: str) -> Heading | None:
    """The section that a line opens, in some spelling."""
    found = _HEADING.match(text)
    if found:
        known = _NAMES.fullmatch(found[1])
        return Heading(_OF_INITIAL[found[1][0].lower()] if known else "", found.end())
    found = _BARE_HEADING.match(text)
    if found:
        name = found[1] or found[2] or found[3]
        return Heading(_OF_INITIAL[name[0].lower()], found.end())
    return None


def is_fence(text: str) -> bool:
    """Whether a line is nothing but the start or end of a code block in Markdown."""
    return _FENCE.match(text) is not None


def find_block(text: str, findings: Findings) -> Block | None:
    """The last whole block of a text, else the last torn one, else all from a section on.

    Args:
        text: what a model wrote.
        findings: is told what deviates.

    Returns:
        ``None`` where there is neither ``[SKN]`` nor a section.
    """
    lines = _lines(text, findings)
    spans = _spans(lines)
    if not spans:
        findings.add(1, 1, "no SKN: neither [SKN] nor a section", lost=True)
        return None
    span = next((span for span in reversed(spans) if span.closed), spans[-1])
    _note_outside(lines, span, findings)
    pieces = _pieces(lines, span, findings)
    return Block(pieces, span.closed)


class _Span(NamedTuple):
    """A block from line ``first`` to line ``last``, both inclusive and from 0."""

    first: int
    last: int
    closed: bool


def _lines(text: str, findings: Findings) -> list[str]:
    half = SURROGATE.search(text)
    if half:
        line = text.count("\n", 0, half.start()) + 1
        column = half.start() - text.rfind("\n", 0, half.start())
        findings.add(line, column, "half a character (a lone surrogate)", lost=True)
        text = SURROGATE.sub("\ufffd", text)
    if text.startswith("\ufeff"):
        findings.add(1, 1, "a byte order mark")
        text = " " + text[1:]  # columns stay what they are
    if "\n" not in text and "\r" in text:
        findings.add(1, text.index("\r") + 1, "lines that end in CR alone")
        return text.split("\r")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _spans(lines: list[str]) -> list[_Span]:
    """All blocks; [SKN] opens one where it stands alone or a section follows in its line."""
    spans: list[_Span] = []
    start: int | None = None
    section = _first_section(lines)
    for number, line in enumerate(lines):
        opening = _OPENING.match(line)
        if opening and (opening.end() == len(line) or line.startswith("@", opening.end())):
            if start is not None:
                spans.append(_Span(start, number - 1, closed=False))
            start = number
        if "/" in line and _CLOSING.search(line):
            if start is None and not spans and section is not None and section <= number:
                start = section
            if start is not None:
                spans.append(_Span(start, number, closed=True))
            start = None
    if start is None and not spans:
        start = section
    if start is not None:
        spans.append(_unmarked_end(lines, start))
    return spans


def _first_section(lines: list[str]) -> int | None:
    for number, line in enumerate(lines):
        heading = heading_of(line) if "@" in line else None
        if heading and heading.section:
            return number
    return None


def _unmarked_end(lines: list[str], start: int) -> _Span:
    """A block without [/SKN]: a code fence closes it; else it is torn."""
    for number in range(start + 1, len(lines)):
        if is_fence(lines[number]):
            return _Span(start, number, closed=True)
    return _Span(start, len(lines) - 1, closed=False)


def _note_outside(lines: list[str], span: _Span, findings: Findings) -> None:
    parts = (("before", range(span.first)), ("after", range(span.last + 1, len(lines))))
    for where, part in parts:
        written = [number for number in part if lines[number].strip()]
        if not written:
            continue
        sections = (number for number in written if "@" in lines[number])
        section = next((number for number in sections if _looks_like_section(lines[number])), None)
        if section is None:
            findings.add(written[0] + 1, 1, f"text {where} the block")
        else:
            what = f"a section {where} the block is left out"
            findings.add(section + 1, 1, what, lost=True)


def _looks_like_section(line: str) -> bool:
    return heading_of(line) is not None or _TORN_OPENING.match(line) is not None


def _pieces(lines: list[str], span: _Span, findings: Findings) -> tuple[Piece, ...]:
    """The lines of a block without its markers; markers in another dress are noted."""
    pieces: list[Piece] = []
    opening = _OPENING.match(lines[span.first])
    if opening is None:
        findings.add(span.first + 1, 1, "no [SKN] before the first section")
    elif lines[span.first] != "[SKN]":
        findings.add(span.first + 1, 1, "[SKN] does not stand alone on its line")
    for number in range(span.first, span.last + 1):
        line = lines[number]
        at = opening.end() if opening and number == span.first else 0
        end = len(line)
        if number == span.last and span.closed:
            closing = _CLOSING.search(line, at)
            end = closing.start() if closing else 0
            if closing is None:
                findings.add(number + 1, 1, "a code fence where [/SKN] should stand")
            elif line != "[/SKN]":
                findings.add(number + 1, end + 1, "[/SKN] does not stand alone on its line")
        pieces.append(Piece(number, at, line[at:end]))
    if not span.closed:
        findings.add(span.last + 1, len(lines[span.last]) + 1, "no [/SKN]: torn", lost=True)
    return tuple(pieces)
