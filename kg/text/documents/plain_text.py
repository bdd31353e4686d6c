"""Reads plain text: paragraphs are separated by blank lines; single numbered lines are headings."""

from __future__ import annotations

import re

from kg.text.documents.document import Block, DocumentContent, decode_text, make_paragraph
from kg.text.documents.numbered_headings import NumberedHeadings

_BLANK = re.compile(r"\n[ \t]*\n|\f")


def read_plain_text(data: bytes, where: str) -> DocumentContent:
    """Reads a plain text file.

    Raises:
        DocumentError: as ``decode_text``.
    """
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for piece in _BLANK.split(decode_text(data, where)):
        alone = piece.strip()
        heading = headings.detect_heading(alone) if alone and "\n" not in alone else None
        blocks += [heading] if heading else make_paragraph(piece)
    return DocumentContent(blocks)
