"""Cuts documents into chunks along their sections."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kg.base.errors import DuplicateIdError, SettingError
from kg.text.chunks import Chunk
from kg.text.documents.document import Document, Heading, Paragraph
from kg.text.sections.headings import START_KEY, make_section_key

DEFAULT_SIZE = 2_000
"""Maximum number of characters in a chunk."""
DEFAULT_OVERLAP = 300
"""Maximum number of characters shared by neighbouring chunks of a section."""
MIN_SIZE = 50
"""Smallest accepted maximum size of a chunk, in characters."""

_PARAGRAPH_SEPARATOR = "\n\n"
"""Separates the paragraphs of a chunk."""
_PARAGRAPH_BOUNDARY = re.compile(r"\n\n+")
_SENTENCE_BOUNDARY = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+|(?<=[。！？])")
_WORD_BOUNDARY = re.compile(r"\s+")


@dataclass
class _Section:
    """A section of one document: its text and its pages."""

    key: str
    path: tuple[str, ...]
    pieces: list[str] = field(default_factory=list)
    """The heading and the paragraphs."""
    starts: list[int] = field(default_factory=list)
    """Offset of each piece in the section's text, ascending."""
    pages: list[int | None] = field(default_factory=list)
    """The page of each piece."""
    code: list[int] = field(default_factory=list)
    """The numbers of the pieces that are code, or tasks that are not done."""
    is_heading_only: bool = True
    """Whether the section has no paragraph."""

    def add_piece(self, text: str, page: int | None) -> None:
        start = (
            self.starts[-1] + len(self.pieces[-1]) + len(_PARAGRAPH_SEPARATOR) if self.pieces else 0
        )
        self.pieces.append(text)
        self.starts.append(start)
        self.pages.append(page)


def chunk_documents(
    documents: Iterable[Document], size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP
) -> list[Chunk]:
    """Cuts documents into chunks.

    A chunk never spans two sections. A section's text begins with its heading. If it is longer
    than ``size``, it is cut in the second half of the first ``size`` characters: at the last
    paragraph boundary there, else at the last sentence boundary, else between words, else inside
    a word. The next chunk begins up to ``overlap`` characters before the cut, at the start of a
    sentence or else of a word. A heading followed only by subsections does not get a chunk; it is
    part of the ``section_path`` of the subsections' chunks.

    Args:
        documents: the documents.
        size: maximum number of characters in a chunk, at least 50.
        overlap: maximum number of shared characters, 0 to half of ``size``.

    Raises:
        SettingError: ``size`` or ``overlap`` is out of range.
        DuplicateIdError: two documents have the same name.
    """
    if size < MIN_SIZE or not 0 <= overlap <= size // 2:
        raise SettingError(
            f"invalid chunk size {size} or overlap {overlap}",
            where="chunk size and overlap",
            hint=f"Use a size of at least {MIN_SIZE} and an overlap of at most half the size.",
        )
    chunks: list[Chunk] = []
    path_of_name: dict[str, str] = {}
    for document in documents:
        if document.name in path_of_name:
            raise DuplicateIdError(
                f"two documents have the name {document.name!r}: {path_of_name[document.name]} and "
                f"{document.filename}",
                where="the documents",
                hint="Rename one: their chunks would have the same ids.",
            )
        path_of_name[document.name] = document.filename
        for section in _split_sections(document):
            chunks += _cut_section(document, section, size, overlap)
    return chunks


def _split_sections(document: Document) -> Iterator[_Section]:
    """Yields the sections in order, except those with only a heading and subsections."""
    key_counts = Counter([START_KEY])
    open_headings: list[Heading] = []
    section = _Section(START_KEY, ())
    for block in document.blocks:
        if isinstance(block, Paragraph):
            if block.is_code or block.is_task:
                section.code.append(len(section.pieces))
            section.add_piece(block.text, block.page)
            section.is_heading_only = False
            continue
        # A list of one heading, that of the section before ``block``; empty before the first.
        previous_heading = open_headings[-1:]
        while open_headings and open_headings[-1].level >= block.level:
            open_headings.pop()
        is_subsection = bool(previous_heading) and open_headings[-1:] == previous_heading
        if section.pieces and not (section.is_heading_only and is_subsection):
            yield section
        open_headings.append(block)
        path = tuple(heading.text for heading in open_headings)
        section = _Section(_make_unique_key(make_section_key(block.text), key_counts), path)
        section.add_piece(block.text, block.page)
    if section.pieces:
        yield section


def _make_unique_key(key: str, key_counts: Counter[str]) -> str:
    """Returns ``key``, with ``~2``, ``~3`` … appended if earlier sections already use it."""
    key_counts[key] += 1
    # Cannot clash with another key: section keys contain no tilde.
    return key if key_counts[key] == 1 else f"{key}~{key_counts[key]}"


def _cut_section(document: Document, section: _Section, size: int, overlap: int) -> Iterator[Chunk]:
    section_id = f"{document.name}#{section.key}"
    metadata: dict[str, Any] = {
        "document": document.name,
        "filename": document.filename,
        "section": section.path[-1] if section.path else "",
        "section_path": list(section.path),
        "section_id": section_id,
    }
    if document.language:
        metadata["language"] = document.language
    text = _PARAGRAPH_SEPARATOR.join(section.pieces)
    for number, (start, end) in enumerate(find_cuts(text, size, overlap), 1):
        first_piece = bisect_right(section.starts, start) - 1
        end_piece = bisect_right(section.starts, end - 1)
        pages = sorted({page for page in section.pages[first_piece:end_piece] if page is not None})
        code = [
            [max(begin, start) - start, min(begin + len(section.pieces[piece]), end) - start]
            for piece in section.code
            if (begin := section.starts[piece]) < end and begin + len(section.pieces[piece]) > start
        ]
        yield Chunk(
            section_id if number == 1 else f"{section_id}/{number}",
            text[start:end],
            metadata
            | ({"page_numbers": pages} if pages else {})
            | ({"code": code} if code else {}),
        )


def find_cuts(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each chunk of a text, without white space at its ends.

    Every character except such white space is in at least one chunk.

    Args:
        text: without white space at its ends.
        size: maximum number of characters from start to end.
        overlap: maximum distance from the next start back to the last cut, at most half of
            ``size``.
    """
    start = 0
    while len(text) - start > size:
        end = _find_last_boundary(text, start + size // 2, start + size)
        cut = end
        while text[end - 1].isspace():
            end -= 1
        yield start, end
        next_start = _find_first_boundary(text, cut - overlap, cut)
        # Without this a text without boundaries would advance too slowly, or not at all.
        start = next_start if next_start > start else cut
        while text[start].isspace():
            start += 1
    yield start, len(text)


def _find_last_boundary(text: str, lower: int, upper: int) -> int:
    """Returns the last start of a paragraph, else sentence, else word in (``lower``, ``upper``]."""
    for pattern in (_PARAGRAPH_BOUNDARY, _SENTENCE_BOUNDARY, _WORD_BOUNDARY):
        boundaries = [
            boundary
            for match in pattern.finditer(text, lower, upper)
            if (boundary := match.end()) > lower
        ]
        if boundaries:
            return boundaries[-1]
    while upper > lower and unicodedata.combining(text[upper]):
        upper -= 1  # do not separate a combining accent from its letter
    return upper


def _find_first_boundary(text: str, lower: int, upper: int) -> int:
    """Returns the first start of a sentence, else a word, from ``lower`` on, else ``lower``."""
    if lower >= upper:
        return upper
    for pattern in (_SENTENCE_BOUNDARY, _WORD_BOUNDARY):
        match = pattern.search(text, max(0, lower - 1), upper)
        if match is not None and match.end() < upper:
            return max(lower, match.end())
    return lower
