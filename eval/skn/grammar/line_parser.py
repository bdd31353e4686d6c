"""Parses single lines of an SKN block, exactly according to the grammar."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, cast

from eval.skn.grammar.document import CausalLink, Fact, Level, Priority, Risk, Source
from eval.skn.grammar.lexical import FORBIDDEN, STRING, UNIT, unquote_string
from kg.base.plain_text import clean_text

_LEVEL = re.compile("high|medium|low")
_PRIORITY = re.compile("[!.~]")
_MAX_QUOTED_CHARS = 40


class LineSyntaxError(Exception):
    """A line violates the grammar at ``offset``, counted from 0."""

    def __init__(self, offset: int, what: str) -> None:
        self.offset = offset
        self.what = what
        super().__init__(what)


class Line:
    """One line and how far it has been parsed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0

    def expect_literal(self, literal: str) -> None:
        """Consumes ``literal``."""
        if not self.text.startswith(literal, self.offset):
            self.raise_error(f"expected {literal!r}")
        self.offset += len(literal)

    def take_match(self, pattern: re.Pattern[str], what: str) -> str:
        """Consumes what ``pattern`` matches here, and returns it."""
        found = pattern.match(self.text, self.offset)
        if found is None:
            self.raise_error(f"expected {what}")
        self.offset = found.end()
        return found[0]

    def take_level(self) -> Level:
        """Consumes a level."""
        return cast(Level, self.take_match(_LEVEL, "high, medium or low"))

    def take_unit(self) -> float:
        """Consumes a number from 0 to 1."""
        start = self.offset
        what = "a number from 0.0 to 1.0"
        number = self.take_match(UNIT, what)
        # If one of these characters follows, the number goes on: "0.9%", "1e-3". They are in a
        # tuple because at the end of the line the next character is "", which is in every string.
        if self.text[self.offset : self.offset + 1] in tuple("0123456789.,%eE"):
            self.offset = start
            self.raise_error(f"expected {what}")
        return float(number)

    def take_string(self) -> str:
        """Consumes a quotation and returns its text.

        Raises:
            LineSyntaxError: there is none, it does not end, or it contains a forbidden character.
        """
        start = self.offset
        found = STRING.match(self.text, start)
        if found is None:
            starts_with_quote = self.text.startswith('"', start)
            self.raise_error(
                "a quotation that does not end" if starts_with_quote else "expected a quoted text"
            )
        self._reject_forbidden(found[0])
        text = unquote_string(found[0])
        if text is None:
            self.raise_error("a quotation with an escape that JSON does not know")
        self._check_not_blank(text)
        self.offset = found.end()
        return text

    def take_text(self, end: int, *, forbidden: str = "") -> str:
        """Consumes a quotation or the unquoted text up to ``end``.

        Args:
            end: position at which unquoted text ends; negative means the end of the line.
            forbidden: must not occur in unquoted text.
        """
        if self.text.startswith('"', self.offset):
            return self.take_string()
        if end < 0:
            end = len(self.text)
        text = self.text[self.offset : end]
        self._check_not_blank(text)
        self._reject_forbidden(text)
        if text != text.strip(" "):
            self.raise_error("spaces around a text that is not quoted")
        if forbidden and forbidden in text:
            index = self.offset + text.index(forbidden)
            raise LineSyntaxError(index, f"{forbidden!r} in a text that is not quoted")
        self.offset = end
        return text

    def take_score(self) -> float:
        """Consumes `` [UNIT]`` and the end of the line."""
        self.expect_literal(" [")
        number = self.take_unit()
        self.expect_literal("]")
        self.expect_end()
        return number

    def expect_end(self) -> None:
        """Raises ``LineSyntaxError`` unless the whole line has been consumed."""
        if self.offset < len(self.text):
            self.raise_error("expected the end of the line")

    def raise_error(self, what: str) -> NoReturn:
        """Raises ``LineSyntaxError`` with ``what`` and the text that was found instead."""
        # To return n characters, clean_text reads at most 4 * n.
        remainder = self.text[self.offset : self.offset + 4 * _MAX_QUOTED_CHARS]
        description = (
            repr(clean_text(remainder, _MAX_QUOTED_CHARS)) if remainder else "the end of the line"
        )
        raise LineSyntaxError(self.offset, f"{what}, found {description}")

    def _reject_forbidden(self, text: str) -> None:
        """Raises ``LineSyntaxError`` if a character can only be written as an escape."""
        forbidden = FORBIDDEN.search(text)
        if forbidden:
            code = f"U+{ord(forbidden[0]):04X}"
            what = f"the character {code}, which only an escape in a quotation can say"
            raise LineSyntaxError(self.offset + forbidden.start(), what)

    def _check_not_blank(self, text: str) -> None:
        if not text.strip():
            self.raise_error("expected a text that says something")


def parse_source_line(line: Line) -> Source:
    """Parses ``@src DOMAIN | fresh:LEVEL | reliability:UNIT``.

    This and the functions below raise ``LineSyntaxError`` if the line violates the grammar.
    """
    line.expect_literal("@src ")
    domain = line.take_text(line.text.find(" | ", line.offset), forbidden="|")
    line.expect_literal(" | fresh:")
    fresh = line.take_level()
    line.expect_literal(" | reliability:")
    reliability = line.take_unit()
    line.expect_end()
    return Source(domain, fresh, reliability)


def parse_risk_line(line: Line) -> Risk:
    """Parses ``@risk misdirection:LEVEL | missing_context:LEVEL``."""
    line.expect_literal("@risk misdirection:")
    misdirection = line.take_level()
    line.expect_literal(" | missing_context:")
    missing_context = line.take_level()
    line.expect_end()
    return Risk(misdirection, missing_context)


def parse_fact_line(line: Line) -> Fact:
    """Parses ``  PRIORITY STRING [UNIT]``."""
    line.expect_literal("  ")
    priority = cast(Priority, line.take_match(_PRIORITY, "a priority: ! or . or ~"))
    line.expect_literal(" ")
    return Fact(priority, line.take_string(), line.take_score())


def parse_link_line(line: Line) -> CausalLink:
    """Parses ``  TERM -> TERM [UNIT]``; the strength is in the last brackets."""
    line.expect_literal("  ")
    arrow = line.text.find(" -> ", line.offset)
    if arrow < 0:
        line.raise_error("expected a cause, ' -> ' and an effect")
    cause = line.take_text(arrow, forbidden="->")
    line.expect_literal(" -> ")
    effect = line.take_text(line.text.rfind(" ["), forbidden="->")
    return CausalLink(cause, effect, line.take_score())


def parse_gap_line(line: Line) -> str:
    """Parses ``  - TEXT``."""
    line.expect_literal("  - ")
    gap = line.take_text(len(line.text))
    line.expect_end()
    return gap


ITEM_PARSERS: dict[str, Callable[[Line], Fact | CausalLink | str]] = {
    "facts": parse_fact_line,
    "causal": parse_link_line,
    "gaps": parse_gap_line,
}
"""The parser for the item lines of each section."""
