"""Reads SKN as models write it, and says of every deviation where it is and what it cost.

Let pass at no loss: prose and code fences around the block, a missing ``[SKN]``, other indentation,
bullets and blank lines, sections in another order or in two parts, headings in other words, texts
without quotes or in typographic ones, ``→`` for ``->``, ``90%`` for 0.9. Everything else that is
let pass drops or guesses something, and is marked so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eval.skn.grammar.block_finding import Block, Heading, Piece, find_block, heading_of, is_fence
from eval.skn.grammar.document import Document
from eval.skn.grammar.draft import Draft
from eval.skn.grammar.lines import ITEM_LINES, Line, UnfitError, risk_line, source_line
from eval.skn.grammar.parsed import Findings, Parsed
from eval.skn.grammar.strict_reading import ORDER
from eval.skn.grammar.tolerant_items import (
    GUESSED_SOURCE,
    Read,
    fact_of,
    gap_of,
    goes_on,
    links_of,
    looks_like_fact,
    risk_of,
    source_of,
)

_MOST_LINES = 8
"""Lines one quotation may go over."""
_ITEMS: dict[str, Callable[[str], Read]] = {"facts": fact_of, "causal": links_of, "gaps": gap_of}
_FIELDS = ("src", "risk")


def read_tolerantly(text: str) -> Parsed:
    """Reads what can be read of ``text``.

    There is no document where no section but ``@src`` is found. Time is linear in the length.

    Args:
        text: at most ``lexical.MAX_CHARACTERS`` characters.
    """
    findings = Findings()
    block = find_block(text, findings)
    document = _Reader(block, findings).document() if block else None
    if document is None and block:
        findings.add(block.pieces[0].number + 1, 1, "no section with anything in it", lost=True)
    lossless = document is not None and findings.loss is None
    return Parsed(document, findings.problems(), lossless, findings.loss)


class _Fields(NamedTuple):
    """What has been read of ``@src`` or ``@risk``, which may go over several lines."""

    start: Piece
    exact: UnfitError | None
    parts: list[str]


class _Reader:
    """The state between the lines of a block."""

    def __init__(self, block: Block, findings: Findings) -> None:
        self.pieces = block.pieces
        self.findings = findings
        self.draft = Draft()
        self.seen: list[str] = []
        self.section: str | None = None
        self.fields: _Fields | None = None
        self.blank: Piece | None = None

    def document(self) -> Document | None:
        """Reads all lines; what is missing then is guessed, if there is anything at all."""
        index = 0
        while index < len(self.pieces):
            index += self._read(index)
        self._close_fields()
        draft = self.draft
        if draft.facts is None and draft.causal is None and draft.gaps is None and not draft.risk:
            return None
        if draft.source is None:
            self._add(self.pieces[-1], "no @src: the source is a guess", lost=True)
            draft.source = GUESSED_SOURCE
        if draft.facts is None:
            self._add(self.pieces[-1], "no @facts", lost=True)
            draft.open("facts")
        return draft.document()

    def _read(self, index: int) -> int:
        """Reads the piece at ``index``; returns how many pieces that took."""
        piece = self.pieces[index]
        if not piece.text.strip():
            self.blank = self.blank or piece
            return 1
        unfit = self._exact_item(piece)
        if unfit is None:
            return 1
        heading = heading_of(piece.text)
        if heading is not None:
            self._open(piece, heading)
        elif is_fence(piece.text):
            self._add(piece, "a code fence")
        elif self.section == "":
            return 1  # an item of an unknown section, whose heading was said to be left out
        elif self.section in (None, *_FIELDS) and looks_like_fact(piece.text):
            self._add(piece, "a fact outside @facts")
            self._enter("facts")
            return self._item(index, self._exact_item(piece))
        elif self.fields is not None:
            self._add(piece, f"a line of its own for a part of @{self.section}")
            self.fields.parts.append(piece.text)
        elif self.section in _ITEMS:
            return self._item(index, unfit)
        else:
            self._add(piece, "a line outside a section is left out", lost=True)
        self.blank = None
        return 1

    def _open(self, piece: Piece, heading: Heading) -> None:
        """Opens a section; what stands behind its name is its first line."""
        self._close_fields()
        name, rest = heading.section, piece.text[heading.end :]
        if not name:
            self.section = ""
            self._add(piece, "an unknown section is left out", lost=True)
            return
        if name in self.seen:
            self._add(piece, f"a second @{name}")
        elif any(ORDER.index(other) > ORDER.index(name) for other in self.seen):
            self._add(piece, f"@{name} stands too late")
        elif not self.seen and name != "src":
            self._add(piece, "@src must come first")
        self._enter(name)
        if name in _FIELDS:
            self.fields = _Fields(piece, self._exact_fields(name, piece), [rest])
            return
        if piece.at or piece.text != f"@{name}":
            self._add(piece, f"expected @{name} and nothing else on its line")
        if rest.strip():
            shift = Piece(piece.number, piece.at + heading.end, rest)
            self._take(shift, _ITEMS[name](rest))

    def _enter(self, name: str) -> None:
        self._close_fields()
        self.blank = None
        self.section = name
        if name not in self.seen:
            self.seen.append(name)
        if name in _ITEMS:
            self.draft.open(name)

    def _exact_fields(self, name: str, piece: Piece) -> UnfitError | None:
        """Where a line of fields leaves the grammar; ``None`` if it does not."""
        try:
            (source_line if name == "src" else risk_line)(Line(piece.text))
        except UnfitError as error:
            return error
        return None

    def _close_fields(self) -> None:
        """Reads the fields of ``@src`` or ``@risk`` once all their lines are there."""
        if self.fields is None:
            return
        fields, self.fields = self.fields, None
        if fields.exact is not None:
            self._add(fields.start, fields.exact.what, at=fields.exact.at)
        text = " | ".join(fields.parts)
        if self.section == "src":
            source, losses = source_of(text)
            known = self.draft.source
            self.draft.source = known or source
            same = known in (None, source)
        else:
            risk, losses = risk_of(text)
            former = self.draft.risk
            self.draft.risk = former or risk
            same = former in (None, risk)
        for loss in losses:
            self._add(fields.start, loss, lost=True)
        if not same:
            self._add(fields.start, f"another @{self.section}: the first counts", lost=True)

    def _exact_item(self, piece: Piece) -> UnfitError | None:
        """Takes an item that is as the grammar has it; else says where it is not."""
        if self.section not in ITEM_LINES:
            return UnfitError(0, "an item outside a section")
        try:
            self.draft.add(ITEM_LINES[self.section](Line(piece.text)))
        except UnfitError as error:
            return error
        self._note_blank()
        return None

    def _item(self, index: int, unfit: UnfitError | None) -> int:
        """Reads an item that leaves the grammar, if it does; returns how many lines it took."""
        if unfit is None:
            return 1
        section, piece = str(self.section), self.pieces[index]
        self._note_blank()
        self._add(piece, unfit.what, at=unfit.at)
        text, count = self._whole(index) if section == "facts" else (piece.text, 1)
        self._take(piece, _ITEMS[section](text))
        return count

    def _note_blank(self) -> None:
        if self.blank is not None:
            self._add(self.blank, f"a blank line inside @{self.section}", at=0)
            self.blank = None

    def _take(self, piece: Piece, read: Read) -> None:
        for item in read.items:
            self.draft.add(item)
        for loss in read.losses:
            self._add(piece, loss, lost=True)

    def _whole(self, index: int) -> tuple[str, int]:
        """A fact whose quotation goes on over the next lines, joined, and how many lines it has."""
        parts = [self.pieces[index].text]
        if not goes_on(parts[0]):
            return parts[0], 1
        for piece in self.pieces[index + 1 : index + _MOST_LINES]:
            if looks_like_fact(piece.text) or heading_of(piece.text) or not piece.text.strip():
                break
            parts.append(piece.text.strip())
            if '"' in piece.text:
                return " ".join(parts), len(parts)
        return parts[0], 1

    def _add(self, piece: Piece, what: str, *, at: int | None = None, lost: bool = False) -> None:
        """Notes a problem of a piece: at its first character, unless it is known better."""
        if at is None:
            at = len(piece.text) - len(piece.text.lstrip())
        self.findings.add(piece.number + 1, piece.at + at + 1, what, lost=lost)
