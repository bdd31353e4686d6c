"""Documents cut into chunks along their sections."""

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
from kg.text.sections.heading import START, section_key

DEFAULT_SIZE = 2_000
"""Characters a chunk has at most."""
DEFAULT_OVERLAP = 300
"""Characters that neighbours in a section share at most."""
LEAST_SIZE = 50

_BETWEEN = "\n\n"
"""What stands between paragraphs in a chunk."""
_PARAGRAPH = re.compile(r"\n\n+")
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+|(?<=[。！？])")
_WORD = re.compile(r"\s+")


@dataclass
class _Section:
    """A section of one document: its text, and the pages it is on."""

    key: str
    path: tuple[str, ...]
    pieces: list[str] = field(default_factory=list)
    """The heading and the paragraphs, whose text is parted by blank lines."""
    starts: list[int] = field(default_factory=list)
    """Where in the section's text each piece begins, rising."""
    pages: list[int | None] = field(default_factory=list)
    """The page of each piece."""
    bare: bool = True
    """Whether the heading is all there is."""

    def add(self, text: str, page: int | None) -> None:
        at = self.starts[-1] + len(self.pieces[-1]) + len(_BETWEEN) if self.pieces else 0
        self.pieces.append(text)
        self.starts.append(at)
        self.pages.append(page)


def chunk_documents(
    documents: Iterable[Document], size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP
) -> list[Chunk]:
    """Cuts documents into chunks.

    A chunk lies in one section. A section's text begins with its heading; one that is longer than
    ``size`` is cut at the last border between paragraphs in the second half of what fits, else
    between sentences, else between words; only a word that fills that half is cut itself. The next
    chunk then begins up to ``overlap`` characters before the cut, where a sentence (else a word)
    begins. A heading with nothing but sections below it makes no chunk: it is in the
    ``section_path`` of theirs.

    Args:
        documents: what to cut.
        size: characters a chunk has at most, at least 50.
        overlap: 0 to half of ``size``.

    Raises:
        SettingError: ``size`` or ``overlap`` is out of its range.
        DuplicateIdError: two documents have one name.
    """
    if size < LEAST_SIZE or not 0 <= overlap <= size // 2:
        raise SettingError(
            f"chunks of {size} characters that share {overlap} cannot be cut",
            where="chunk size and overlap",
            hint=f"The size is at least {LEAST_SIZE}, the overlap at most half of the size.",
        )
    chunks: list[Chunk] = []
    named: dict[str, str] = {}
    for document in documents:
        if document.name in named:
            raise DuplicateIdError(
                f"two documents are both called {document.name!r}: {named[document.name]} and "
                f"{document.filename}",
                where="the documents",
                hint="Their chunks would share ids: rename one.",
            )
        named[document.name] = document.filename
        for section in _sections(document):
            chunks += _chunks(document, section, size, overlap)
    return chunks


def _sections(document: Document) -> Iterator[_Section]:
    """The sections that hold text of their own, or at least no other section."""
    taken = Counter([START])
    open_headings: list[Heading] = []
    section = _Section(START, ())
    for block in document.blocks:
        if isinstance(block, Paragraph):
            section.add(block.text, block.page)
            section.bare = False
            continue
        above = open_headings[-1:]
        while open_headings and open_headings[-1].level >= block.level:
            open_headings.pop()
        lies_in_it = bool(above) and open_headings[-1:] == above
        if section.pieces and not (section.bare and lies_in_it):
            yield section
        open_headings.append(block)
        path = tuple(heading.text for heading in open_headings)
        section = _Section(_fresh(section_key(block.text), taken), path)
        section.add(block.text, block.page)
    if section.pieces:
        yield section


def _fresh(key: str, taken: Counter[str]) -> str:
    """``key``, or with ``~2``, ``~3`` … behind it where earlier sections have it."""
    taken[key] += 1
    return key if taken[key] == 1 else f"{key}~{taken[key]}"  # no key holds a tilde itself


def _chunks(document: Document, section: _Section, size: int, overlap: int) -> Iterator[Chunk]:
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
    text = _BETWEEN.join(section.pieces)
    for number, (start, end) in enumerate(cuts(text, size, overlap), 1):
        first = bisect_right(section.starts, start) - 1
        last = bisect_right(section.starts, end - 1)
        pages = sorted({page for page in section.pages[first:last] if page is not None})
        yield Chunk(
            section_id if number == 1 else f"{section_id}/{number}",
            text[start:end],
            metadata | ({"page_numbers": pages} if pages else {}),
        )


def cuts(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """(start, end) of each chunk of a text, none of them with white space at its ends.

    All that is no white space lies in some chunk.

    Args:
        text: without white space at its ends.
        size: characters from start to end at most.
        overlap: how far before the last end the next start may lie, at most half of ``size``.
    """
    start = 0
    while len(text) - start > size:
        end = _last_border(text, start + size // 2, start + size)
        cut = end
        while text[end - 1].isspace():
            end -= 1
        yield start, end
        begin = _first_border(text, cut - overlap, cut)
        # It must not creep: without borders, what is shared must not swallow what is new.
        start = begin if begin > start else cut
        while text[start].isspace():
            start += 1
    yield start, len(text)


def _last_border(text: str, least: int, most: int) -> int:
    """The last place from ``least`` to ``most`` where a paragraph, sentence or word begins."""
    for border in (_PARAGRAPH, _SENTENCE, _WORD):
        places = [
            place for found in border.finditer(text, least, most) if (place := found.end()) > least
        ]
        if places:
            return places[-1]
    while most > least and unicodedata.combining(text[most]):
        most -= 1  # an accent stays with its letter
    return most


def _first_border(text: str, least: int, most: int) -> int:
    """The first place from ``least`` on where a sentence begins, else a word, else ``least``."""
    if least >= most:
        return most
    for border in (_SENTENCE, _WORD):
        found = border.search(text, max(0, least - 1), most)
        if found is not None and found.end() < most:
            return max(least, found.end())
    return least
