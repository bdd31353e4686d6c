"""A document as its readers give it: headings and paragraphs in order."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePath

from kg.base.errors import DocumentError
from kg.text.normaliser import mend, words
from kg.words.plain_text import for_terminal, one_line

MAX_HEADING = 300
"""Characters a heading may have; a longer one is a paragraph that bears the wrong name."""
MAX_NAME = 80
"""Characters a document's name may have: it begins every id of the document's chunks."""

_SPACES = re.compile(r"[ \t]+")
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class Heading:
    """A heading on one line.

    Attributes:
        level: 1 for the uppermost.
        text: as written, mended.
        page: where it stands, from 1; None where there are no pages.
    """

    level: int
    text: str
    page: int | None = None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, a list, a table (a row a line) or a piece of code.

    Attributes:
        text: never empty.
        page: as in ``Heading``.
    """

    text: str
    page: int | None = None


Block = Heading | Paragraph


@dataclass(frozen=True)
class Document:
    """A document as it was read.

    Attributes:
        name: a slug of the file's name; two documents of one collection may not share it.
        filename: the file's base name, fit to print.
        blocks: what it says, in order.
        language: the language it declares, as ``en``; empty where it declares none.
        notes: what the reader could not read or had to mend, for the user; lines of text.
    """

    name: str
    filename: str
    blocks: tuple[Block, ...]
    language: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """What a reader makes of a file's bytes; the attributes are those of ``Document``."""

    blocks: list[Block]
    language: str = ""
    notes: tuple[str, ...] = ()


def document_name(path: PurePath) -> str:
    """A slug of the file's name: its words joined by hyphens, whatever the name holds.

    ``07-Tree indexes.md`` becomes ``07-tree-indexes``. A long name is cut and ends in a hash of
    the whole, so that two long names stay two.
    """
    stem = path.stem.encode("utf-8", "replace").decode("utf-8")
    # "#" parts a document's name from its section in every id.
    slug = "-".join(words(stem)).replace("#", "-sharp")
    if len(slug) > MAX_NAME:
        digest = hashlib.sha256(slug.encode()).hexdigest()[:8]
        slug = f"{slug[: MAX_NAME - 9].rstrip('-')}-{digest}"
    return slug or "document"


def printable_filename(path: PurePath) -> str:
    """The base name without what could drive a terminal or turn the words around it."""
    return one_line(path.name) or "unnamed"


def heading(level: int, text: str, page: int | None = None) -> list[Block]:
    """A heading of ``text``; a paragraph where it is too long for one; nothing where it is empty.

    Args:
        level: from 1.
        text: on any number of lines.
        page: as in ``Heading``.
    """
    line = mend(text)
    if len(line) > MAX_HEADING:
        return paragraph(text, page)
    return [Heading(level, line, page)] if line else []


def paragraph(text: str, page: int | None = None) -> list[Block]:
    """A paragraph of ``text`` with its line breaks; nothing where no more than space is left.

    Control and bidirectional characters and soft hyphens go, and letters are composed (NFC).
    """
    text = unicodedata.normalize("NFC", for_terminal(text.replace("\u00ad", "")))
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    text = _BLANK_LINES.sub("\n\n", text)
    return [Paragraph(text, page)] if text.strip() else []


def one_spaced(text: str) -> str:
    """``text`` with each run of spaces and tabs as one space; line breaks stay."""
    return _SPACES.sub(" ", text).strip()


def decoded(data: bytes, where: str, encoding: str = "") -> str:
    """A text file's bytes as text, its line ends as line feeds.

    UTF-8, unless a byte order mark or ``encoding`` says otherwise. Nothing is guessed: a guess
    that is wrong would put words into the graph that nobody wrote.

    Args:
        data: the bytes.
        where: the file, for messages.
        encoding: what the document declares.

    Raises:
        DocumentError: they are not that, or hold what no text does.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(b"\xef\xbb\xbf") or not encoding:
        encoding = "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise DocumentError(
            f"the document is not {name}: byte {error.start:,} cannot be decoded",
            where=where,
            hint="Convert it to UTF-8, for instance with `iconv -t UTF-8`.",
        ) from error
    if "\0" in text:
        raise DocumentError(
            "the document is no text: it holds NUL characters",
            where=where,
            hint="Check that its extension says what it is.",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
