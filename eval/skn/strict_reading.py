"""Reads SKN exactly as the grammar has it, line by line; every problem gets its line and column."""

from __future__ import annotations

import re
from typing import NoReturn, cast, get_args

from eval.skn.document import CausalLink, Document, Fact, Level, Priority, Risk, Section, Source
from eval.skn.lexical import FORBIDDEN, STRING, UNIT, unquoted
from eval.skn.parsed import Findings, Parsed
from kg.words.plain_text import plain

_LEVEL = re.compile("high|medium|low")
_PRIORITY = re.compile("[!.~]")
_QUOTE_LIMIT = 40
ORDER = ("src", "facts", *get_args(Section))
"""The sections in the order they stand in."""


class _UnfitError(Exception):
    """A line is not as the grammar has it from ``at`` on, counted from 0."""

    def __init__(self, at: int, what: str) -> None:
        self.at = at
        self.what = what
        super().__init__(what)


class _Line:
    """One line and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def expect(self, literal: str) -> None:
        if not self.text.startswith(literal, self.at):
            self.fail(f"expected {literal!r}")
        self.at += len(literal)

    def take(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(f"expected {what}")
        self.at = found.end()
        return found[0]

    def level(self) -> Level:
        return cast(Level, self.take(_LEVEL, "high, medium or low"))

    def unit(self) -> float:
        return float(self.take(UNIT, "a number from 0.0 to 1.0"))

    def string(self) -> str:
        start = self.at
        found = STRING.match(self.text, start)
        if found is None:
            opened = self.text.startswith('"', start)
            self.fail("a quotation that does not end" if opened else "expected a quoted text")
        text = unquoted(found[0])
        if text is None:
            self.fail("a quotation with a control character or an escape that JSON does not know")
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
        unfit = FORBIDDEN.search(text)
        if unfit:
            raise _UnfitError(self.at + unfit.start(), "a control character; quote and escape it")
        if text != text.strip(" "):
            self.fail("spaces around a text that is not quoted")
        if never and never in text:
            at = self.at + text.index(never)
            raise _UnfitError(at, f"{never!r} in a text that is not quoted")
        self.at = end
        return text

    def end(self) -> None:
        if self.at < len(self.text):
            self.fail("expected the end of the line")

    def fail(self, what: str) -> NoReturn:
        rest = self.text[self.at : self.at + 4 * _QUOTE_LIMIT]
        found = repr(plain(rest, _QUOTE_LIMIT)) if rest else "the end of the line"
        raise _UnfitError(self.at, f"{what}, found {found}")

    def _must_say(self, text: str) -> None:
        if not text.strip():
            self.fail("expected a text that says something")


def read_strictly(text: str) -> Parsed:
    """Reads ``text``, going on after a bad line so that all problems are found at once.

    Args:
        text: at most ``lexical.MAX_CHARACTERS`` characters. Time is linear in them.
    """
    reader = _Reader(text)
    reader.read()
    problems = reader.findings.problems()
    if problems or reader.source is None or reader.facts is None:
        return Parsed(None, problems, lossless=False)
    document = Document(
        reader.source,
        tuple(reader.facts),
        None if reader.causal is None else tuple(reader.causal),
        None if reader.gaps is None else tuple(reader.gaps),
        reader.risk,
    )
    return Parsed(document, (), lossless=True)


class _Reader:
    """The state between lines: which sections have been seen, and which one takes the items."""

    def __init__(self, text: str) -> None:
        self.lines = [line.removesuffix("\r") for line in text.split("\n")]
        self.findings = Findings()
        self.source: Source | None = None
        self.facts: list[Fact] | None = None
        self.causal: list[CausalLink] | None = None
        self.gaps: list[str] | None = None
        self.risk: Risk | None = None
        self.seen: list[str] = []
        self.section = ""

    def read(self) -> None:
        """Reads all lines; what is missing at the end is a problem too."""
        first = self.lines[0]
        if first != "[SKN]":
            bom = first.startswith("\ufeff")
            self._problem(0, 0, "a byte order mark" if bom else "the first line must be [SKN]")
        start = 1 if first.strip("\ufeff \t").startswith("[SKN]") else 0
        for number in range(start, len(self.lines)):
            line = self.lines[number]
            if line == "[/SKN]":
                self._after(number + 1)
                break
            try:
                self._line(_Line(line))
            except _UnfitError as error:
                self._problem(number, error.at, error.what)
        else:
            last = len(self.lines) - 1
            self._problem(last, len(self.lines[last]), "the block is torn: no [/SKN]")
        for name in ("src", "facts"):
            if name not in self.seen:
                self._problem(min(number, len(self.lines) - 1), 0, f"no @{name} before the end")

    def _line(self, line: _Line) -> None:
        text = line.text
        if text.startswith("@"):
            self._open(line)
        elif text.startswith(" ") and self.section:
            line.expect("  ")
            self._item(line)
        elif text:
            line.fail("expected a section, an indented item or [/SKN]")
        elif not self.seen:
            line.fail("a blank line before @src")
        else:
            self.section = ""

    def _open(self, line: _Line) -> None:
        name = re.match("@([a-z]*)", line.text)[1]  # type: ignore[index]
        self.section = ""
        if name not in ORDER:
            line.fail(f"expected one of {', '.join('@' + known for known in ORDER)}")
        late = [other for other in self.seen if ORDER.index(other) > ORDER.index(name)]
        again = name in self.seen
        self.seen.append(name)
        if name == "src":
            self.source = self._src(line)
        elif name == "risk":
            self.risk = self._risk(line)
        else:
            line.expect(f"@{name}")
            line.end()
            self.section = name
            if getattr(self, name) is None:
                setattr(self, name, [])
        if again:
            raise _UnfitError(0, f"a second @{name}")
        if late:
            raise _UnfitError(0, f"@{name} must stand before @{late[0]}")
        if name != "src" and "src" not in self.seen:
            raise _UnfitError(0, "@src must come first")

    def _src(self, line: _Line) -> Source:
        line.expect("@src ")
        domain = line.words(line.text.find(" | ", line.at), never="|")
        line.expect(" | fresh:")
        fresh = line.level()
        line.expect(" | reliability:")
        reliability = line.unit()
        line.end()
        return Source(domain, fresh, reliability)

    def _risk(self, line: _Line) -> Risk:
        line.expect("@risk misdirection:")
        misdirection = line.level()
        line.expect(" | missing_context:")
        missing_context = line.level()
        line.end()
        return Risk(misdirection, missing_context)

    def _item(self, line: _Line) -> None:
        if self.section == "facts" and self.facts is not None:
            priority = cast(Priority, line.take(_PRIORITY, "a priority: ! or . or ~"))
            line.expect(" ")
            self.facts.append(Fact(priority, line.string(), self._score(line)))
        elif self.section == "causal" and self.causal is not None:
            arrow = line.text.find(" -> ", line.at)
            cause = line.words(arrow, never="->")
            line.expect(" -> ")
            effect = line.words(line.text.rfind(" ["), never="->")
            self.causal.append(CausalLink(cause, effect, self._score(line)))
        elif self.gaps is not None:
            line.expect("- ")
            gap = line.words(len(line.text))
            line.end()
            self.gaps.append(gap)

    def _score(self, line: _Line) -> float:
        line.expect(" [")
        number = line.unit()
        line.expect("]")
        line.end()
        return number

    def _after(self, number: int) -> None:
        """After [/SKN] there may be one line break and nothing else."""
        rest = self.lines[number:]
        if rest and rest != [""]:
            self._problem(number, 0, "something after [/SKN]")

    def _problem(self, number: int, at: int, what: str) -> None:
        self.findings.add(number + 1, at + 1, what)
