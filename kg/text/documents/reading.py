"""Reads one document, by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kg.base.errors import DocumentError, MissingFileError
from kg.base.files import require_file
from kg.text.documents.document import Content, Document, document_name, printable_filename
from kg.text.documents.hypertext import read_html
from kg.text.documents.markdown import read_markdown
from kg.text.documents.pdf import read_pdf
from kg.text.documents.plain import read_plain
from kg.text.normaliser import words

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Of a text file: some 3,000 pages."""
MAX_PDF_BYTES = 128 * 1024 * 1024
"""Most of a PDF is pictures."""

_READERS: dict[str, Callable[[bytes, str], Content]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_plain,
    ".text": read_plain,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
}
SUFFIXES = tuple(_READERS)
"""Endings of file names that can be read, small letters."""


def read_document(path: Path | str) -> Document:
    """Reads a document.

    Raises:
        MissingFileError: it is not there.
        DocumentError: its name has none of ``SUFFIXES``; it is larger than the limits; it cannot
            be decoded; it holds no word.
    """
    path = require_file(path, "the document")
    where = str(path)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise DocumentError(
            f"no reader for {path.suffix or 'a file without an extension'}",
            where=where,
            hint=f"Readable are {', '.join(SUFFIXES)}, and ready chunks as .jsonl.",
        )
    content = read(_bytes(path, MAX_PDF_BYTES if read is read_pdf else MAX_TEXT_BYTES), where)
    if not any(words(block.text) for block in content.blocks):
        raise DocumentError(
            "the document is empty: there is no word in it",
            where=where,
            hint="Leave it out, or check that it is the file you meant.",
        )
    return Document(
        name=document_name(path),
        filename=printable_filename(path),
        blocks=tuple(content.blocks),
        language=content.language,
        notes=content.notes,
    )


def _bytes(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise MissingFileError(
            f"the document cannot be read: {error.strerror}", where=str(path), hint="Try again."
        ) from error
    if len(data) > limit:
        raise DocumentError(
            f"the document is larger than {limit // 1024**2} MiB", where=str(path), hint="Split it."
        )
    return data
