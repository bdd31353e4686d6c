"""Reads documents for tests of the readers."""

from __future__ import annotations

from pathlib import Path

from kg.text.documents import Heading, read_document


def read_blocks(path: Path, text: str | bytes) -> list[str]:
    """Returns the blocks as text; a heading begins with its level in number signs."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [
        f"{'#' * block.level} {block.text}" if isinstance(block, Heading) else block.text
        for block in read_document(path).blocks
    ]
