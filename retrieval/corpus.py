"""Reads a corpus of pages with URLs, which systems search and cited claims are checked against.

Each line is a JSON object with ``url``, ``title`` and ``text``; paragraphs of the text are
separated by blank lines. Each paragraph is a passage, so every retriever can search pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_decoded_lines, require_file, sha256_bytes, to_json_bytes
from kg.base.plain_text import clean_text
from kg.base.provenance import escape_file_name
from retrieval.protocol import Passage

SHIPPED_CORPUS: Final = Path(__file__).parent / "corpora" / "synthlink" / "pages.jsonl"
MAX_CORPUS_BYTES: Final = 256 * 1024 * 1024
MAX_PAGES: Final = 100_000
MAX_URL_LENGTH: Final = 2_000
MAX_TITLE_LENGTH: Final = 500
MAX_TEXT_LENGTH: Final = 200_000
"""The lengths are numbers of characters."""
MAX_PARAGRAPHS: Final = 2_000
_URL: Final = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_RECORD_NAME: Final = "corpus page"
_HINT: Final = 'A line is {"url": …, "title": …, "text": …}; see docs/reference/synthlink.md.'


class CorpusPage(msgspec.Struct, frozen=True):
    """A page of a corpus."""

    url: str
    """Identifies the page: an http or https URL, unique in the corpus."""
    title: str
    text: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The paragraphs of the text that are not blank, in order."""
        parts = (part.strip() for part in _BLANK_LINE.split(self.text))
        return tuple(part for part in parts if part)


class Corpus:
    """Pages that can be looked up by URL and by passage id.

    Args:
        pages: the pages in order, with unique URLs.
        name: name of the corpus for messages and manifests; not a path.

    Raises:
        DuplicateIdError: two pages have the same URL.
    """

    def __init__(self, pages: tuple[CorpusPage, ...], name: str) -> None:
        self.pages = pages
        self.name = name
        self._by_url: dict[str, CorpusPage] = {}
        for page in pages:
            if page.url in self._by_url:
                raise DuplicateIdError(
                    f"page {clean_text(page.url, 200)} occurs twice",
                    where=name,
                    hint="URLs must be unique.",
                )
            self._by_url[page.url] = page

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the pages' content, independent of the file's spacing and unknown keys."""
        return sha256_bytes(to_json_bytes(self.pages))

    def list_passages(self) -> list[Passage]:
        """Returns the paragraphs as passages, in order.

        The id of a passage is ``<url>#<number>``; paragraphs are numbered from 1 within a page.
        """
        return [
            Passage(f"{page.url}#{number}", text)
            for page in self.pages
            for number, text in enumerate(page.paragraphs, start=1)
        ]

    def get_page_of_passage(self, passage_id: str) -> CorpusPage:
        """Returns the page that contains a passage.

        Raises:
            KeyError: no page has such a passage.
        """
        url, _, number = passage_id.rpartition("#")
        page = self._by_url[url]
        if not (number.isdecimal() and 1 <= int(number) <= len(page.paragraphs)):
            raise KeyError(passage_id)
        return page


def read_corpus(path: str | Path | None = None) -> Corpus:
    """Reads a corpus.

    Args:
        path: a JSONL file; by default the shipped pages of SynthLink.

    Returns:
        A corpus of at least one page, named after the file.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large, has no page, or a line is not a valid page.
        DuplicateIdError: two pages have the same URL; the message names both lines.
    """
    path = Path(path) if path is not None else SHIPPED_CORPUS
    require_file(path, "corpus file")
    if path.stat().st_size > MAX_CORPUS_BYTES:
        raise RecordError(f"larger than {MAX_CORPUS_BYTES:,} bytes", where=str(path), hint=_HINT)
    line_by_url: dict[str, int] = {}
    pages: list[CorpusPage] = []
    for number, page in _iter_valid_pages(path):
        if page.url in line_by_url:
            raise DuplicateIdError(
                f"page {clean_text(page.url, 200)} occurs twice, first in line "
                f"{line_by_url[page.url]}",
                where=f"{path}:{number}",
                hint="URLs must be unique.",
            )
        line_by_url[page.url] = number
        pages.append(page)
    if not pages:
        raise RecordError("no pages", where=str(path), hint=_HINT)
    return Corpus(tuple(pages), escape_file_name(path.name))


def _iter_valid_pages(path: Path) -> Iterator[tuple[int, CorpusPage]]:
    decoder = msgspec.json.Decoder(CorpusPage)
    for count, (number, page) in enumerate(iter_decoded_lines(path, _RECORD_NAME, decoder.decode)):
        where = f"{path}:{number}"
        if count == MAX_PAGES:
            raise RecordError(f"more than {MAX_PAGES:,} pages", where=where, hint=_HINT)
        problem = _find_problem(page)
        if problem:
            raise RecordError(f"not a valid {_RECORD_NAME}: {problem}", where=where, hint=_HINT)
        yield number, page


def _find_problem(page: CorpusPage) -> str:
    """Returns what is wrong with a page, in one clause; empty if it is valid."""
    limits = {"url": MAX_URL_LENGTH, "title": MAX_TITLE_LENGTH, "text": MAX_TEXT_LENGTH}
    for key, limit in limits.items():
        value: str = getattr(page, key)
        if len(value) > limit:
            return f"its {key} has more than {limit:,} characters"
        if not value.strip():
            return f"its {key} is empty"
    if not (_URL.fullmatch(page.url) and page.url.isprintable()):
        return f"{clean_text(page.url, 100)!r} is not an http or https URL"
    if len(page.paragraphs) > MAX_PARAGRAPHS:
        return f"its text has more than {MAX_PARAGRAPHS:,} paragraphs"
    return ""
