"""Parses SKN exactly according to the grammar; every problem gets its line and column."""

from __future__ import annotations

from typing import get_args

from eval.skn.grammar.document import Section
from eval.skn.grammar.draft import Draft
from eval.skn.grammar.line_parser import (
    ITEM_PARSERS,
    Line,
    LineSyntaxError,
    parse_risk_line,
    parse_source_line,
)
from eval.skn.grammar.parse_result import Findings, ParseResult

SECTION_ORDER = ("src", "facts", *get_args(Section))
"""The sections in the order that the grammar requires."""
_UNKNOWN_SECTION = "unknown"
"""The current section after a malformed section line or one with an unknown name. Only that line is
reported; the items below it are skipped."""


def parse_strictly(text: str) -> ParseResult:
    """Parses ``text``, and continues after a bad line so that all problems are found at once.

    Takes time linear in the length of the text.

    Args:
        text: text to parse, at most ``lexical.MAX_CHARACTERS`` characters.
    """
    parser = _StrictParser(text)
    parser.parse_lines()
    problems = parser.findings.list_problems()
    document = None if problems else parser.draft.build_document()
    return ParseResult(document, problems, lossless=document is not None)


class _StrictParser:
    """The state between lines: the sections opened so far, and the one that takes the items."""

    def __init__(self, text: str) -> None:
        # The last line has no line break, so a CR at its end is part of the line.
        *complete_lines, last_line = text.split("\n")
        self.lines = [*(line.removesuffix("\r") for line in complete_lines), last_line]
        self.findings = Findings()
        self.draft = Draft()
        self.opened_sections: list[str] = []
        self.section = ""

    def parse_lines(self) -> None:
        """Parses all lines, and reports the sections that are missing at the end."""
        start = self._find_first_line()
        if start is None:
            return
        last_number = len(self.lines) - 1
        for number in range(start, len(self.lines)):
            if self.lines[number] == "[/SKN]":
                last_number = number
                if self.lines[number + 1 :] not in ([], [""]):
                    self._add_problem(number + 1, 0, "something after [/SKN]")
                break
            try:
                self._parse_line(Line(self.lines[number]))
            except LineSyntaxError as error:
                self._add_problem(number, error.offset, error.what)
        else:
            self._add_problem(
                last_number, len(self.lines[last_number]), "the block is torn: no [/SKN]"
            )
        for name in ("src", "facts"):
            if name not in self.opened_sections:
                self._add_problem(last_number, 0, f"no @{name} before the end")

    def _find_first_line(self) -> int | None:
        """Returns the line after [SKN], or 0 if only [SKN] is missing; None without a block."""
        if self.lines[0] == "[SKN]":
            return 1
        has_byte_order_mark = self.lines[0].startswith("\ufeff")
        self._add_problem(
            0, 0, "a byte order mark" if has_byte_order_mark else "the first line must be [SKN]"
        )
        if self.lines[0].strip("\ufeff \t") == "[SKN]":
            return 1
        if "[SKN]" in self.lines:
            return self.lines.index("[SKN]") + 1
        return 0 if self.lines[0].startswith("@") else None

    def _parse_line(self, line: Line) -> None:
        if line.text.startswith("@"):
            self._open_section(line)
        elif line.text.startswith(" "):
            if not self.section:
                line.raise_error("an item that does not stand right below its section")
            if self.section in ITEM_PARSERS:
                self.draft.add_item(ITEM_PARSERS[self.section](line))
        elif line.text:
            line.raise_error("expected a section, an indented item or [/SKN]")
        elif not self.opened_sections:
            line.raise_error("a blank line before @src")
        else:
            self.section = ""

    def _open_section(self, line: Line) -> None:
        name = line.text[1:].split(" ", 1)[0]
        self.section = _UNKNOWN_SECTION
        if name not in SECTION_ORDER:
            line.raise_error(
                f"expected one of {', '.join('@' + section for section in SECTION_ORDER)}"
            )
        is_repeated = name in self.opened_sections
        later_sections = [
            other
            for other in self.opened_sections
            if SECTION_ORDER.index(other) > SECTION_ORDER.index(name)
        ]
        follows_source = name == "src" or "src" in self.opened_sections
        if not is_repeated:
            self.opened_sections.append(name)
        if name in ("src", "risk"):
            self.section = ""
        if name == "src":
            self.draft.source = parse_source_line(line)
        elif name == "risk":
            self.draft.risk = parse_risk_line(line)
        else:
            line.expect_literal(f"@{name}")
            line.expect_end()
            self.section = name
            self.draft.open_section(name)
        # Errors of order are raised last, so that the items below the line are still checked.
        if is_repeated:
            raise LineSyntaxError(0, f"a second @{name}")
        if later_sections:
            raise LineSyntaxError(0, f"@{name} must stand before @{later_sections[0]}")
        if not follows_source:
            raise LineSyntaxError(0, "@src must come first")

    def _add_problem(self, number: int, offset: int, what: str) -> None:
        self.findings.add_problem(number + 1, offset + 1, what)
