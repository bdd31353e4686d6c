"""Pages with addresses, as a corpus: what a system may search and read, and claims are held to.

One page a line of JSON: ``url``, ``title`` and ``text``, whose paragraphs stand apart by a blank
line. A paragraph is a passage, so that every retriever over passages searches pages too.
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
from kg.base.provenance import encodable
from kg.words.plain_text import plain
from retrieval.protocol import Passage

SHIPPED: Final = Path(__file__).parent / "corpora" / "synthlink" / "pages.jsonl"
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_PAGES: Final = 100_000
MOST_URL: Final = 2_000
"""Characters an address may have."""
MOST_TITLE: Final = 500
MOST_TEXT: Final = 200_000
MOST_PARAGRAPHS: Final = 2_000
_ADDRESS: Final = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_WHAT: Final = "corpus page"
_HINT: Final = 'A line is {"url": …, "title": …, "text": …}; see docs/synthlink.md.'


class CorpusPage(msgspec.Struct, frozen=True):
    """A page."""

    url: str
    """Its address, by which it is known: http or https, unique in its corpus."""
    title: str
    text: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Its text as passages, in order; none blank."""
        parts = (part.strip() for part in _BLANK_LINE.split(self.text))
        return tuple(part for part in parts if part)


class Corpus:
    """Pages by their address and by their passages.

    Args:
        pages: in order; addresses unique.
        name: what to call the corpus; not a path.

    Raises:
        DuplicateIdError: two pages have one address.
    """

    def __init__(self, pages: tuple[CorpusPage, ...], name: str) -> None:
        self.pages = pages
        self.name = name
        self._by_url: dict[str, CorpusPage] = {}
        for page in pages:
            if page.url in self._by_url:
                raise DuplicateIdError(
                    f"page {plain(page.url, 200)} stands twice",
                    where=name,
                    hint="Addresses must be unique.",
                )
            self._by_url[page.url] = page

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of what the pages say, whatever the file's spacing or further keys."""
        return sha256_bytes(to_json_bytes(self.pages))

    def passages(self) -> list[Passage]:
        """A paragraph a passage, in order; its id is the page's address, ``#`` and its number.

        Paragraphs are numbered from 1 within their page.
        """
        return [
            Passage(f"{page.url}#{number}", text)
            for page in self.pages
            for number, text in enumerate(page.paragraphs, start=1)
        ]

    def page(self, url: str) -> CorpusPage | None:
        """The page at an address, which must be the same to the letter."""
        return self._by_url.get(url)

    def page_of(self, passage_id: str) -> CorpusPage:
        """The page that a passage is of.

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
        At least one page; its ``name`` is the file's.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large, has no page, or has a line that is none.
        DuplicateIdError: two pages have one address; the second is named.
    """
    path = Path(path) if path is not None else SHIPPED
    require_file(path, "corpus file")
    if path.stat().st_size > MOST_BYTES:
        raise RecordError(f"larger than {MOST_BYTES:,} bytes", where=str(path), hint=_HINT)
    first_line: dict[str, int] = {}
    pages: list[CorpusPage] = []
    for number, page in _checked(path):
        if page.url in first_line:
            raise DuplicateIdError(
                f"page {plain(page.url, 200)} stands twice, first in line {first_line[page.url]}",
                where=f"{path}:{number}",
                hint="Addresses must be unique.",
            )
        first_line[page.url] = number
        pages.append(page)
    if not pages:
        raise RecordError("no pages", where=str(path), hint=_HINT)
    return Corpus(tuple(pages), encodable(path.name))


def _checked(path: Path) -> Iterator[tuple[int, CorpusPage]]:
    decoder = msgspec.json.Decoder(CorpusPage)
    for count, (number, page) in enumerate(iter_decoded_lines(path, _WHAT, decoder.decode)):
        place = f"{path}:{number}"
        if count == MOST_PAGES:
            raise RecordError(f"more than {MOST_PAGES:,} pages", where=place, hint=_HINT)
        why = _fault(page)
        if why:
            raise RecordError(f"not a valid {_WHAT}: {why}", where=place, hint=_HINT)
        yield number, page


def _fault(page: CorpusPage) -> str:
    """What keeps a line from being a page, in one clause; empty if nothing does."""
    limits = {"url": MOST_URL, "title": MOST_TITLE, "text": MOST_TEXT}
    for key, most in limits.items():
        value: str = getattr(page, key)
        if len(value) > most:
            return f"its {key} has more than {most:,} characters"
        if not value.strip():
            return f"its {key} is empty"
    if not (_ADDRESS.fullmatch(page.url) and page.url.isprintable()):
        return f"{plain(page.url, 100)!r} is no address of the web"
    if len(page.paragraphs) > MOST_PARAGRAPHS:
        return f"its text has more than {MOST_PARAGRAPHS:,} paragraphs"
    return ""
