"""Reads a document with the reader for its file extension."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kg.base.errors import DocumentError, MissingFileError
from kg.base.files import require_file
from kg.text.documents.asciidoc import read_asciidoc
from kg.text.documents.document import Block, Document, DocumentContent, Paragraph
from kg.text.documents.docx import read_docx
from kg.text.documents.html_reader import read_html
from kg.text.documents.language import detect_language
from kg.text.documents.markdown import read_markdown, read_mdx
from kg.text.documents.names import SourceFile, make_document_name
from kg.text.documents.notebook import read_notebook
from kg.text.documents.pdf import read_pdf
from kg.text.documents.plain_text import read_plain_text
from kg.words.normaliser import split_words

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Maximum size of a text file: some 3,000 pages."""
MAX_BINARY_BYTES = 128 * 1024 * 1024
"""Maximum size of a file that may contain images: PDF, Word and notebooks."""

MAX_CODE_SHARE = 0.9
"""Share of a document's characters in code above which the code is taken for text: specifications
and letters are published between <pre> and </pre>, too."""

# The start of a directive or target, which plain text does not have.
_RST_MARKUP = re.compile(rb"^\.\. (?:[\w:.+-]+::|_[^:\n]+:)[ \t\r]*$", re.MULTILINE)


def _read_restructured_text(data: bytes, where: str) -> DocumentContent:
    # Imported here, because docutils takes longer to import than all other readers.
    from kg.text.documents.restructured_text import read_restructured_text

    return read_restructured_text(data, where)


def _read_text(data: bytes, where: str) -> DocumentContent:
    """Reads a text file, which may be reStructuredText, as in the documentation of Django."""
    is_markup = _RST_MARKUP.search(data) is not None
    return (_read_restructured_text if is_markup else read_plain_text)(data, where)


_READERS: dict[str, Callable[[bytes, str], DocumentContent]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": _read_text,
    ".text": _read_text,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".rst": _read_restructured_text,
    ".qmd": read_markdown,
    ".mdx": read_mdx,
    ".ipynb": read_notebook,
    ".docx": read_docx,
    ".adoc": read_asciidoc,
    ".asciidoc": read_asciidoc,
}
SUFFIXES = tuple(_READERS)
"""Supported file extensions, in lower case."""


_WITH_IMAGES = (read_pdf, read_docx, read_notebook)


def read_document(path: Path | str, root: Path | None = None) -> Document:
    """Reads a document.

    Args:
        path: the file.
        root: the folder that its name and filename are relative to; by default that of the file.

    Raises:
        MissingFileError: the file does not exist or cannot be read.
        MissingExtraError: a library of the extra ``docs`` is not installed.
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
        _read_bytes(path, MAX_BINARY_BYTES if read_format in _WITH_IMAGES else MAX_TEXT_BYTES),
        where,
    )
    if not any(split_words(block.text) for block in content.blocks):
        raise DocumentError(
            "the document is empty: it contains no word",
            where=where,
            hint="Leave it out, or check that it is the right file.",
        )
    source = SourceFile(path, root)
    blocks = _unmark_code_of_text(content.blocks)
    return Document(
        name=make_document_name(source.relative_path),
        filename=source.filename,
        blocks=tuple(blocks),
        # Generators declare their default language for pages in any other.
        language=detect_language(block.text for block in content.blocks) or content.language,
        notes=content.notes,
    )


def _unmark_code_of_text(blocks: Sequence[Block]) -> Sequence[Block]:
    """Returns blocks without code if nearly all of it is: a text that was only typeset so."""
    lengths = Counter({True: 0, False: 0})
    for block in blocks:
        if isinstance(block, Paragraph):
            lengths[block.is_code] += len(block.text)
    if lengths[True] <= MAX_CODE_SHARE * lengths.total():
        return blocks
    return [
        replace(block, is_code=False) if isinstance(block, Paragraph) else block for block in blocks
    ]


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
