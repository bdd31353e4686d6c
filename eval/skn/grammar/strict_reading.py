"""Reads SKN exactly as the grammar has it, line by line; every problem gets its line and column."""

from __future__ import annotations

from typing import get_args

from eval.skn.grammar.document import Section
from eval.skn.grammar.draft import Draft
from eval.skn.grammar.lines import ITEM_LINES, Line, UnfitError, risk_line, source_line
from eval.skn.grammar.parsed import Findings, Parsed

ORDER = ("src", "facts", *get_args(Section))
"""The sections in the order they stand in."""
_UNKNOWN = "unknown"
"""A section whose own line is wrong already, so that its items are not held against it as well."""


def read_strictly(text: str) -> Parsed:
    """Reads ``text``, going on after a bad line so that all problems are found at once.

    Args:
        text: at most ``lexical.MAX_CHARACTERS`` characters. Time is linear in them.
    """
    reader = _Reader(text)
    reader.read()
    problems = reader.findings.problems()
    document = None if problems else reader.draft.document()
    return Parsed(document, problems, lossless=document is not None)


class _Reader:
    """The state between lines: which sections have been seen, and which one takes the items."""

    def __init__(self, text: str) -> None:
        *ended, last = text.split("\n")
        self.lines = [*(line.removesuffix("\r") for line in ended), last]
        self.findings = Findings()
        self.draft = Draft()
        self.seen: list[str] = []
        self.section = ""

    def read(self) -> None:
        """Reads all lines; what is missing at the end is a problem too."""
        start = self._start()
        if start is None:
            return
        last = len(self.lines) - 1
        for number in range(start, len(self.lines)):
            if self.lines[number] == "[/SKN]":
                last = number
                if self.lines[number + 1 :] not in ([], [""]):
                    self._problem(number + 1, 0, "something after [/SKN]")
                break
            try:
                self._line(Line(self.lines[number]))
            except UnfitError as error:
                self._problem(number, error.at, error.what)
        else:
            self._problem(last, len(self.lines[last]), "the block is torn: no [/SKN]")
        for name in ("src", "facts"):
            if name not in self.seen:
                self._problem(last, 0, f"no @{name} before the end")

    def _start(self) -> int | None:
        """The line after [SKN], or the first if only [SKN] is missing; ``None`` without a block."""
        if self.lines[0] == "[SKN]":
            return 1
        marked = self.lines[0].startswith("\ufeff")
        self._problem(0, 0, "a byte order mark" if marked else "the first line must be [SKN]")
        if self.lines[0].strip("\ufeff \t") == "[SKN]":
            return 1
        if "[SKN]" in self.lines:
            return self.lines.index("[SKN]") + 1
        return 0 if self.lines[0].startswith("@") else None

    def _line(self, line: Line) -> None:
        if line.text.startswith("@"):
            self._open(line)
        elif line.text.startswith(" "):
            if not self.section:
                line.fail("an item that does not stand right below its section")
            if self.section in ITEM_LINES:
                self.draft.add(ITEM_LINES[self.section](line))
        elif line.text:
            line.fail("expected a section, an indented item or [/SKN]")
        elif not self.seen:
            line.fail("a blank line before @src")
        else:
            self.section = ""

    def _open(self, line: Line) -> None:
        name = line.text[1:].split(" ", 1)[0]
        self.section = _UNKNOWN
        if name not in ORDER:
            line.fail(f"expected one of {', '.join('@' + known for known in ORDER)}")
        again = name in self.seen
        later = [other for other in self.seen if ORDER.index(other) > ORDER.index(name)]
        first = name == "src" or "src" in self.seen
        if not again:
            self.seen.append(name)
        if name in ("src", "risk"):
            self.section = ""
        if name == "src":
            self.draft.source = source_line(line)
        elif name == "risk":
            self.draft.risk = risk_line(line)
        else:
            line.expect(f"@{name}")
            line.end()
            self.section = name
            self.draft.open(name)
        if again:
            raise UnfitError(0, f"a second @{name}")
        if later:
            raise UnfitError(0, f"@{name} must stand before @{later[0]}")
        if not first:
            raise UnfitError(0, "@src must come first")

    def _problem(self, number: int, at: int, what: str) -> None:
        self.findings.add(number + 1, at + 1, what)
