"""The lines of an SKN block, each read exactly as the grammar has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, cast

from eval.skn.grammar.document import CausalLink, Fact, Level, Priority, Risk, Source
from eval.skn.grammar.lexical import FORBIDDEN, STRING, UNIT, unquoted
from kg.words.plain_text import plain

_LEVEL = re.compile("high|medium|low")
_PRIORITY = re.compile("[!.~]")
_QUOTE_LIMIT = 40


class UnfitError(Exception):
    """A line is not as the grammar has it from ``at`` on, counted from 0."""

    def __init__(self, at: int, what: str) -> None:
        self.at = at
        self.what = what
        super().__init__(what)


class Line:
    """One line and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def expect(self, literal: str) -> None:
        """Goes past ``literal``."""
        if not self.text.startswith(literal, self.at):
            self.fail(f"expected {literal!r}")
        self.at += len(literal)

    def take(self, pattern: re.Pattern[str], what: str) -> str:
        """Goes past what ``pattern`` matches here, and returns it."""
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(f"expected {what}")
        self.at = found.end()
        return found[0]

    def level(self) -> Level:
        """A level."""
        return cast(Level, self.take(_LEVEL, "high, medium or low"))

    def unit(self) -> float:
        """A number from 0 to 1."""
        start = self.at
        number = self.take(UNIT, what := "a number from 0.0 to 1.0")
        if self.text[self.at : self.at + 1] in tuple("0123456789.,%eE"):
            self.at = start
            self.fail(f"expected {what}")
        return float(number)

    def string(self) -> str:
        """A quotation.

        Raises:
            UnfitError: here is none, it does not end, or it holds what it must not.
        """
        start = self.at
        found = STRING.match(self.text, start)
        if found is None:
            opened = self.text.startswith('"', start)
            self.fail("a quotation that does not end" if opened else "expected a quoted text")
        self._must_be_writable(found[0])
        text = unquoted(found[0])
        if text is None:
            self.fail("a quotation with an escape that JSON does not know")
        self._must_say(text)
        self.at = found.end()
        return text

    def words(self, end: int, *, never: str = "") -> str:
        """A quotation, or the bare text from here to ``end``, which must not hold ``never``."""
        if self.text.startswith('"', self.at):
            return self.string()
        if end < 0:
            end = len(self.text)
        text = self.text[self.at : end]
        self._must_say(text)
        self._must_be_writable(text)
        if text != text.strip(" "):
            self.fail("spaces around a text that is not quoted")
        if never and never in text:
            at = self.at + text.index(never)
            raise UnfitError(at, f"{never!r} in a text that is not quoted")
        self.at = end
        return text

    def score(self) -> float:
        """`` [UNIT]`` and the end of the line."""
        self.expect(" [")
        number = self.unit()
        self.expect("]")
        self.end()
        return number

    def end(self) -> None:
        """Fails unless all has been read."""
        if self.at < len(self.text):
            self.fail("expected the end of the line")

    def fail(self, what: str) -> NoReturn:
        """Raises ``UnfitError``: ``what`` is wrong from here on, where something else stands."""
        rest = self.text[self.at : self.at + 4 * _QUOTE_LIMIT]
        found = repr(plain(rest, _QUOTE_LIMIT)) if rest else "the end of the line"
        raise UnfitError(self.at, f"{what}, found {found}")

    def _must_be_writable(self, text: str) -> None:
        unfit = FORBIDDEN.search(text)
        if unfit:
            code = f"U+{ord(unfit[0]):04X}"
            what = f"the character {code}, which only an escape in a quotation can say"
            raise UnfitError(self.at + unfit.start(), what)

    def _must_say(self, text: str) -> None:
        if not text.strip():
            self.fail("expected a text that says something")


def source_line(line: Line) -> Source:
    """``@src DOMAIN | fresh:LEVEL | reliability:UNIT``; all these raise ``UnfitError``."""
    line.expect("@src ")
    domain = line.words(line.text.find(" | ", line.at), never="|")
    line.expect(" | fresh:")
    fresh = line.level()
    line.expect(" | reliability:")
    reliability = line.unit()
    line.end()
    return Source(domain, fresh, reliability)


def risk_line(line: Line) -> Risk:
    """``@risk misdirection:LEVEL | missing_context:LEVEL``."""
    line.expect("@risk misdirection:")
    misdirection = line.level()
    line.expect(" | missing_context:")
    missing_context = line.level()
    line.end()
    return Risk(misdirection, missing_context)


def fact_line(line: Line) -> Fact:
    """``  PRIORITY STRING [UNIT]``."""
    line.expect("  ")
    priority = cast(Priority, line.take(_PRIORITY, "a priority: ! or . or ~"))
    line.expect(" ")
    return Fact(priority, line.string(), line.score())


def link_line(line: Line) -> CausalLink:
    """``  TERM -> TERM [UNIT]``; the strength is what the last bracket holds."""
    line.expect("  ")
    arrow = line.text.find(" -> ", line.at)
    if arrow < 0:
        line.fail("expected a cause, ' -> ' and an effect")
    cause = line.words(arrow, never="->")
    line.expect(" -> ")
    effect = line.words(line.text.rfind(" ["), never="->")
    return CausalLink(cause, effect, line.score())


def gap_line(line: Line) -> str:
    """``  - TEXT``."""
    line.expect("  - ")
    gap = line.words(len(line.text))
    line.end()
    return gap


ITEM_LINES: dict[str, Callable[[Line], Fact | CausalLink | str]] = {
    "facts": fact_line,
    "causal": link_line,
    "gaps": gap_line,
}
"""How the items of a section are read."""
