"""Plain text: paragraphs between blank lines, and numbered lines that stand alone as headings."""

from __future__ import annotations

import re

from kg.text.documents.document import Block, Content, decoded, paragraph
from kg.text.documents.numbered import NumberedHeadings

_BLANK = re.compile(r"\n[ \t]*\n|\f")


def read_plain(data: bytes, where: str) -> Content:
    """Reads a plain text file.

    Raises:
        DocumentError: as ``decoded``.
    """
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for piece in _BLANK.split(decoded(data, where)):
        alone = piece.strip()
        found = headings.take(alone) if alone and "\n" not in alone else None
        blocks += [found] if found else paragraph(piece)
    return Content(blocks)
