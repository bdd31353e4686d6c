"""Finds the SKN block in a model's reply; accepts prose and code fences around it.

Text outside the block is reported. It is recorded as a loss only if it looks like part of a block.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eval.skn.grammar.lexical import SURROGATE
from eval.skn.grammar.parse_result import Findings

# [SKN] and [/SKN], also with spaces, in other case, escaped or formatted in Markdown.
_OPENING = re.compile(r"[\s*#>`_]*\\?\[\s*SKN\s*\\?\][\s*`_:]*", re.IGNORECASE)
_CLOSING = re.compile(r"[*`_]*\\?\[\s*/\s*SKN\s*\\?\][\s*`_.]*$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)[\w \t-]*$")
_HEADING = re.compile(r"[\s*#`_]*@\s?([A-Za-z][\w-]{0,40})[\s*`_:]*")
# "## Facts" alone on its line, "source: …" before "fresh", or "risk" before "misdirection:".
_HEADING_WITHOUT_AT = re.compile(
    r"(?:#+\s*)?(?:\*\*)?(facts?|caus(?:al|es?)|gaps?)[*:]*\s*$"
    r"|(src|source)\b[\s:]*(?=.{0,300}\bfresh)"
    r"|(risks?)\b[\s:]*(?=misdirection\s*[:=])",
    re.IGNORECASE,
)
_SECTION_NAME = re.compile(
    r"(?:src|sources?|facts?|caus(?:al|es?|ality)(?:[_-]?(?:links?|chains?))?|gaps?|risks?)",
    re.IGNORECASE,
)
# A damaged [SKN], with the name of a section inside its brackets: "[@src a | …", "[@srcSKN]".
_TORN_OPENING = re.compile(
    r"[\s*#>`_]*\\?\[\W{0,9}@\s?(?:src|source|fact|caus|gap|risk)", re.IGNORECASE
)
_SECTION_BY_INITIAL = {"s": "src", "f": "facts", "c": "causal", "g": "gaps", "r": "risk"}


class Piece(NamedTuple):
    """A line of the block, without its marker if it had one.

    Attributes:
        number: the line's number in the whole text, from 0.
        offset: position in that line at which the piece begins, from 0.
        text: the piece.
    """

    number: int
    offset: int
    text: str


class Heading(NamedTuple):
    """The start of a section.

    Attributes:
        section: name of the section in the grammar; empty if the grammar has no such section.
        end: position in the piece at which the text after the name begins, from 0.
    """

    section: str
    end: int


class Block(NamedTuple):
    """The lines between the markers, and whether an end marker or a closing fence was found."""

    pieces: tuple[Piece, ...]
    closed: bool


def match_heading(text: str) -> Heading | None:
    """Returns the heading at the start of a line, in any accepted spelling; None without one."""
    found = _HEADING.match(text)
    if found:
        section_name = _SECTION_NAME.fullmatch(found[1])
        return Heading(
            _SECTION_BY_INITIAL[found[1][0].lower()] if section_name else "", found.end()
        )
    found = _HEADING_WITHOUT_AT.match(text)
    if found:
        name = found[1] or found[2] or found[3]
        return Heading(_SECTION_BY_INITIAL[name[0].lower()], found.end())
    return None


def is_fence(text: str) -> bool:
    """Returns whether a line is only the start or end of a code block in Markdown."""
    return _FENCE.match(text) is not None


def find_block(text: str, findings: Findings) -> Block | None:
    """Finds the last complete block, or else the last incomplete one.

    Without ``[SKN]`` the block starts at the first section.

    Args:
        text: the model's reply.
        findings: collects the deviations from the grammar.

    Returns:
        ``None`` if there is neither ``[SKN]`` nor a section.
    """
    lines = _split_lines(text, findings)
    spans = _find_spans(lines)
    if not spans:
        findings.add_problem(1, 1, "no SKN: neither [SKN] nor a section", loses_content=True)
        return None
    span = next((span for span in reversed(spans) if span.closed), spans[-1])
    _report_outside_text(lines, span, findings)
    pieces = _extract_pieces(lines, span, findings)
    return Block(pieces, span.closed)


class _Span(NamedTuple):
    """A block from line ``first`` to line ``last``, both inclusive and from 0."""

    first: int
    last: int
    closed: bool


def _split_lines(text: str, findings: Findings) -> list[str]:
    surrogate = SURROGATE.search(text)
    if surrogate:
        line = text.count("\n", 0, surrogate.start()) + 1
        column = surrogate.start() - text.rfind("\n", 0, surrogate.start())
        findings.add_problem(
            line, column, "half a character (a lone surrogate)", loses_content=True
        )
        text = SURROGATE.sub("\ufffd", text)
    if text.startswith("\ufeff"):
        findings.add_problem(1, 1, "a byte order mark")
        text = " " + text[1:]  # a space in its place, so that columns stay the same
    if "\n" not in text and "\r" in text:
        findings.add_problem(1, text.index("\r") + 1, "lines that end in CR alone")
        return text.split("\r")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _find_spans(lines: list[str]) -> list[_Span]:
    """Finds all blocks.

    [SKN] opens a block if it is alone on its line or if a section follows it on the line.
    """
    spans: list[_Span] = []
    start: int | None = None
    first_section = _find_first_section(lines)
    for line_number, line in enumerate(lines):
        opening = _OPENING.match(line)
        if opening and (opening.end() == len(line) or line.startswith("@", opening.end())):
            if start is not None:
                spans.append(_Span(start, line_number - 1, closed=False))
            start = line_number
        if "/" in line and _CLOSING.search(line):
            if (
                start is None
                and not spans
                and first_section is not None
                and first_section <= line_number
            ):
                start = first_section
            if start is not None:
                spans.append(_Span(start, line_number, closed=True))
            start = None
    if start is None and not spans:
        start = first_section
    if start is not None:
        spans.append(_find_unmarked_end(lines, start))
    return spans


def _find_first_section(lines: list[str]) -> int | None:
    for number, line in enumerate(lines):
        heading = match_heading(line) if "@" in line else None
        if heading and heading.section:
            return number
    return None


def _find_unmarked_end(lines: list[str], start: int) -> _Span:
    """Ends a block without [/SKN] at the next code fence; without a fence it is not closed."""
    for number in range(start + 1, len(lines)):
        if is_fence(lines[number]):
            return _Span(start, number, closed=True)
    return _Span(start, len(lines) - 1, closed=False)


def _report_outside_text(lines: list[str], span: _Span, findings: Findings) -> None:
    parts = (("before", range(span.first)), ("after", range(span.last + 1, len(lines))))
    for side, line_numbers in parts:
        filled_lines = [number for number in line_numbers if lines[number].strip()]
        if not filled_lines:
            continue
        section_lines = (number for number in filled_lines if "@" in lines[number])
        section_line = next(
            (number for number in section_lines if _looks_like_section(lines[number])), None
        )
        if section_line is None:
            findings.add_problem(filled_lines[0] + 1, 1, f"text {side} the block")
        else:
            what = f"a section {side} the block is left out"
            findings.add_problem(section_line + 1, 1, what, loses_content=True)


def _looks_like_section(line: str) -> bool:
    return match_heading(line) is not None or _TORN_OPENING.match(line) is not None


def _extract_pieces(lines: list[str], span: _Span, findings: Findings) -> tuple[Piece, ...]:
    """Returns the lines of a block without its markers; reports markers in another spelling."""
    pieces: list[Piece] = []
    opening = _OPENING.match(lines[span.first])
    if opening is None:
        findings.add_problem(span.first + 1, 1, "no [SKN] before the first section")
    elif lines[span.first] != "[SKN]":
        findings.add_problem(span.first + 1, 1, "[SKN] does not stand alone on its line")
    for number in range(span.first, span.last + 1):
        line = lines[number]
        start = opening.end() if opening and number == span.first else 0
        end = len(line)
        if number == span.last and span.closed:
            closing = _CLOSING.search(line, start)
            end = closing.start() if closing else 0
            if closing is None:
                findings.add_problem(number + 1, 1, "a code fence where [/SKN] should stand")
            elif line != "[/SKN]":
                findings.add_problem(number + 1, end + 1, "[/SKN] does not stand alone on its line")
        pieces.append(Piece(number, start, line[start:end]))
    if not span.closed:
        findings.add_problem(
            span.last + 1, len(lines[span.last]) + 1, "no [/SKN]: torn", loses_content=True
        )
    return tuple(pieces)
