"""Reads a document with the reader for its file extension."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kg.base.errors import DocumentError, MissingFileError
from kg.base.files import require_file
from kg.text.documents.document import Document, DocumentContent, clean_filename, make_document_name
from kg.text.documents.html_reader import read_html
from kg.text.documents.markdown import read_markdown
from kg.text.documents.pdf import read_pdf
from kg.text.documents.plain_text import read_plain_text
from kg.words.normaliser import split_words

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Maximum size of a text file: some 3,000 pages."""
MAX_PDF_BYTES = 128 * 1024 * 1024
"""Maximum size of a PDF file: most of it may be images."""

_READERS: dict[str, Callable[[bytes, str], DocumentContent]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_plain_text,
    ".text": read_plain_text,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
}
SUFFIXES = tuple(_READERS)
"""Supported file extensions, in lower case."""


def read_document(path: Path | str) -> Document:
    """Reads a document.

    Raises:
        MissingFileError: the file does not exist or cannot be read.
        DocumentError: its extension is not in ``SUFFIXES``, it is larger than the limits, it cannot
            be decoded, or it contains no word.
    """
    path = require_file(path, "the document")
    where = str(path)
    read_format = _READERS.get(path.suffix.lower())
    if read_format is None:
        raise DocumentError(
            f"no reader for {path.suffix or 'a file without an extension'}",
            where=where,
            hint=f"Supported are {', '.join(SUFFIXES)}, and prepared chunks as .jsonl.",
        )
    content = read_format(
        _read_bytes(path, MAX_PDF_BYTES if read_format is read_pdf else MAX_TEXT_BYTES), where
    )
    if not any(split_words(block.text) for block in content.blocks):
        raise DocumentError(
            "the document is empty: it contains no word",
            where=where,
            hint="Leave it out, or check that it is the right file.",
        )
    return Document(
        name=make_document_name(path),
        filename=clean_filename(path),
        blocks=tuple(content.blocks),
        language=content.language,
        notes=content.notes,
    )


def _read_bytes(path: Path, limit: int) -> bytes:
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
