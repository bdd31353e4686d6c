"""Reads plain text: paragraphs are separated by blank lines; single numbered lines are headings."""

from __future__ import annotations

import re

from kg.text.documents.document import Block, DocumentContent, decode_text, make_paragraphs
from kg.text.documents.numbered_headings import NumberedHeadings

# Blank lines and form feeds, which separate pages.
_PARAGRAPH_BOUNDARY = re.compile(r"\n[ \t]*\n|\f")


def read_plain_text(data: bytes, where: str) -> DocumentContent:
    """Reads a plain text file.

    Raises:
        DocumentError: the file cannot be decoded.
    """
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for piece in _PARAGRAPH_BOUNDARY.split(decode_text(data, where)):
        line = piece.strip()
        heading = headings.detect_heading(line) if line and "\n" not in line else None
        blocks += [heading] if heading else make_paragraphs(piece.split("\n"))
    return DocumentContent(blocks)
