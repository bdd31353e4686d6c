"""Parses SKN as models write it, and reports each deviation with its position and what was lost.

Accepted without loss: prose and code fences around the block, a missing ``[SKN]``, other
indentation, bullets and blank lines, sections in another order or in two parts, headings in other
words, texts without quotes or in typographic quotes, ``→`` for ``->``, ``90%`` for 0.9. Every other
accepted deviation makes the parser drop or guess something; its problem is marked as a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eval.skn.grammar.block_finder import Block, Heading, Piece, find_block, is_fence, match_heading
from eval.skn.grammar.document import Document
from eval.skn.grammar.draft import Draft
from eval.skn.grammar.line_parser import (
    ITEM_PARSERS,
    Line,
    LineSyntaxError,
    parse_risk_line,
    parse_source_line,
)
from eval.skn.grammar.parse_result import Findings, ParseResult
from eval.skn.grammar.strict_parser import SECTION_ORDER
from eval.skn.grammar.tolerant_items import (
    GUESSED_SOURCE,
    ParsedItems,
    is_open_quotation,
    looks_like_fact,
    parse_fact,
    parse_gap,
    parse_links,
    parse_risk,
    parse_source,
)

_MAX_QUOTATION_LINES = 8
"""Lines that one quotation may extend over."""
_TOLERANT_ITEM_PARSERS: dict[str, Callable[[str], ParsedItems]] = {
    "facts": parse_fact,
    "causal": parse_links,
    "gaps": parse_gap,
}
_FIELD_SECTIONS = ("src", "risk")


def parse_tolerantly(text: str) -> ParseResult:
    """Parses as much of ``text`` as possible.

    The result has no document if no section except ``@src`` is found. Time is linear in the length
    of the text.

    Args:
        text: text to parse, at most ``lexical.MAX_CHARACTERS`` characters.
    """
    findings = Findings()
    block = find_block(text, findings)
    document = _TolerantParser(block, findings).parse_document() if block else None
    if document is None and block:
        findings.add_problem(
            block.pieces[0].number + 1, 1, "no section with anything in it", loses_content=True
        )
    lossless = document is not None and findings.loss is None
    return ParseResult(document, findings.list_problems(), lossless, findings.loss)


class _FieldLines(NamedTuple):
    """The lines of ``@src`` or ``@risk`` found so far; its fields may be on several lines.

    Attributes:
        start: the first line, for positions.
        error: why the first line does not follow the grammar; None if it does.
        parts: the text after the section's name, then the further lines.
    """

    start: Piece
    error: LineSyntaxError | None
    parts: list[str]


class _TolerantParser:
    """The state between the lines of a block.

    ``section`` is None before the first section, and empty in a section that the grammar does not
    have. ``blank_line`` is the first blank line since the last item; it is reported if another item
    of the section follows.
    """

    def __init__(self, block: Block, findings: Findings) -> None:
        self.pieces = block.pieces
        self.findings = findings
        self.draft = Draft()
        self.opened_sections: list[str] = []
        self.section: str | None = None
        self.fields: _FieldLines | None = None
        self.blank_line: Piece | None = None

    def parse_document(self) -> Document | None:
        """Parses all lines, and guesses the source if it is missing.

        None if no section except ``@src`` was found.
        """
        index = 0
        while index < len(self.pieces):
            index += self._parse_piece(index)
        self._close_fields()
        draft = self.draft
        if draft.facts is None and draft.causal is None and draft.gaps is None and not draft.risk:
            return None
        if draft.source is None:
            self._add_problem(self.pieces[-1], "no @src: the source is a guess", lost=True)
            draft.source = GUESSED_SOURCE
        if draft.facts is None:
            self._add_problem(self.pieces[-1], "no @facts", lost=True)
            draft.open_section("facts")
        return draft.build_document()

    def _parse_piece(self, index: int) -> int:
        """Parses the piece at ``index``; returns how many pieces were consumed."""
        piece = self.pieces[index]
        if not piece.text.strip():
            self.blank_line = self.blank_line or piece
            return 1
        error = self._add_exact_item(piece)
        if error is None:
            return 1
        heading = match_heading(piece.text)
        if heading is not None:
            self._open_section(piece, heading)
        elif is_fence(piece.text):
            self._add_problem(piece, "a code fence")
        elif self.section == "":
            return 1  # an item of an unknown section, whose heading has been reported already
        elif self.section in (None, *_FIELD_SECTIONS) and looks_like_fact(piece.text):
            self._add_problem(piece, "a fact outside @facts")
            self._enter_section("facts")
            return self._parse_item(index, self._add_exact_item(piece))
        elif self.fields is not None:
            self._add_problem(piece, f"a line of its own for a part of @{self.section}")
            self.fields.parts.append(piece.text)
        elif self.section in _TOLERANT_ITEM_PARSERS:
            return self._parse_item(index, error)
        else:
            self._add_problem(piece, "a line outside a section is left out", lost=True)
        self.blank_line = None
        return 1

    def _open_section(self, piece: Piece, heading: Heading) -> None:
        """Opens a section; the text after its name is treated as its first line."""
        self._close_fields()
        name, remainder = heading.section, piece.text[heading.end :]
        if not name:
            self.section = ""
            self._add_problem(piece, "an unknown section is left out", lost=True)
            return
        if name in self.opened_sections:
            self._add_problem(piece, f"a second @{name}")
        elif any(
            SECTION_ORDER.index(other) > SECTION_ORDER.index(name) for other in self.opened_sections
        ):
            self._add_problem(piece, f"@{name} stands too late")
        elif not self.opened_sections and name != "src":
            self._add_problem(piece, "@src must come first")
        self._enter_section(name)
        if name in _FIELD_SECTIONS:
            self.fields = _FieldLines(piece, self._find_field_error(name, piece), [remainder])
            return
        if piece.offset or piece.text != f"@{name}":
            self._add_problem(piece, f"expected @{name} and nothing else on its line")
        if remainder.strip():
            first_line = Piece(piece.number, piece.offset + heading.end, remainder)
            self._add_items(first_line, _TOLERANT_ITEM_PARSERS[name](remainder))

    def _enter_section(self, name: str) -> None:
        self._close_fields()
        self.blank_line = None
        self.section = name
        if name not in self.opened_sections:
            self.opened_sections.append(name)
        if name in _TOLERANT_ITEM_PARSERS:
            self.draft.open_section(name)

    def _find_field_error(self, name: str, piece: Piece) -> LineSyntaxError | None:
        """Returns the error of a line of fields that violates the grammar; None if it is valid."""
        try:
            (parse_source_line if name == "src" else parse_risk_line)(Line(piece.text))
        except LineSyntaxError as error:
            return error
        return None

    def _close_fields(self) -> None:
        """Parses the fields of ``@src`` or ``@risk`` once all their lines have been collected."""
        if self.fields is None:
            return
        fields, self.fields = self.fields, None
        if fields.error is not None:
            self._add_problem(fields.start, fields.error.what, offset=fields.error.offset)
        text = " | ".join(fields.parts)
        if self.section == "src":
            source, losses = parse_source(text)
            former_source = self.draft.source
            self.draft.source = former_source or source
            is_consistent = former_source in (None, source)
        else:
            risk, losses = parse_risk(text)
            former_risk = self.draft.risk
            self.draft.risk = former_risk or risk
            is_consistent = former_risk in (None, risk)
        for loss in losses:
            self._add_problem(fields.start, loss, lost=True)
        if not is_consistent:
            self._add_problem(fields.start, f"another @{self.section}: the first counts", lost=True)

    def _add_exact_item(self, piece: Piece) -> LineSyntaxError | None:
        """Adds an item that follows the grammar; returns the error if it does not."""
        if self.section not in ITEM_PARSERS:
            return LineSyntaxError(0, "an item outside a section")
        try:
            self.draft.add_item(ITEM_PARSERS[self.section](Line(piece.text)))
        except LineSyntaxError as error:
            return error
        self._report_blank_line()
        return None

    def _parse_item(self, index: int, error: LineSyntaxError | None) -> int:
        """Consumes an item, and parses it tolerantly if it violates the grammar.

        Args:
            index: index of the item's first line.
            error: how it violates the grammar; None if it does not and has been added already.

        Returns:
            The number of lines consumed.
        """
        if error is None:
            return 1
        section, piece = str(self.section), self.pieces[index]
        self._report_blank_line()
        self._add_problem(piece, error.what, offset=error.offset)
        text, count = self._join_quotation(index) if section == "facts" else (piece.text, 1)
        self._add_items(piece, _TOLERANT_ITEM_PARSERS[section](text))
        return count

    def _report_blank_line(self) -> None:
        if self.blank_line is not None:
            self._add_problem(self.blank_line, f"a blank line inside @{self.section}", offset=0)
            self.blank_line = None

    def _add_items(self, piece: Piece, parsed: ParsedItems) -> None:
        for item in parsed.items:
            self.draft.add_item(item)
        for loss in parsed.losses:
            self._add_problem(piece, loss, lost=True)

    def _join_quotation(self, index: int) -> tuple[str, int]:
        """Joins a fact whose quotation extends over several lines.

        Returns:
            The text, and the number of lines that it extends over.
        """
        parts = [self.pieces[index].text]
        if not is_open_quotation(parts[0]):
            return parts[0], 1
        for piece in self.pieces[index + 1 : index + _MAX_QUOTATION_LINES]:
            if looks_like_fact(piece.text) or match_heading(piece.text) or not piece.text.strip():
                break
            parts.append(piece.text.strip())
            if '"' in piece.text:
                return " ".join(parts), len(parts)
        return parts[0], 1

    def _add_problem(
        self, piece: Piece, what: str, *, offset: int | None = None, lost: bool = False
    ) -> None:
        """Adds a problem of a piece, at ``offset`` or, without one, its first character."""
        if offset is None:
            offset = len(piece.text) - len(piece.text.lstrip())
        self.findings.add_problem(
            piece.number + 1, piece.offset + offset + 1, what, loses_content=lost
        )
