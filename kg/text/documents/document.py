"""The document model (headings and paragraphs in order) and helpers shared by the readers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from kg.base.errors import DocumentError
from kg.base.plain_text import clean_for_terminal
from kg.words.normaliser import repair_text

MAX_HEADING_LENGTH = 300
"""Maximum number of characters in a heading; a longer one is treated as a paragraph."""

# YAML between "---" and "---" or "...", TOML between "+++", at most 200 lines.
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?P<yaml>(?:.*\n){0,200}?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    r"|\+\+\+[ \t]*\n(?P<toml>(?:.*\n){0,200}?)\+\+\+[ \t]*(?:\n|\Z)"
)
_KEY = r"(?:\"[^\"]*\"|'[^']*'|[\w.$@/-]+)[ \t]*"
# What a line of them begins with, in the outermost mapping.
_FRONT_LINE = {
    "yaml": re.compile(rf"{_KEY}:(?:[ \t]|$)|[ \t#\]}}]|-(?:[ \t]|$)|$"),
    "toml": re.compile(rf"{_KEY}=|[ \t#\[\]}}]|[\"']{{3}}|$"),
}
_FRONT_TITLE = re.compile(
    r"^title[ \t]*[:=][ \t]*(?:[>|][+-]?[ \t]*\n[ \t]+)?(\S.*?)[ \t]*$", re.MULTILINE
)
# For browsers these are control characters, which readers remove; Python refuses them.
_UNDEFINED_CP1252 = b"\x81\x8d\x8f\x90\x9d"
_LIST_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:(\[[ xX*]\]|[☐☑☒])(?:[ \t]|$))?")
_OPEN_BOXES = frozenset({"[ ]", "☐"})
_SPACES = re.compile(r"[ \t]+")
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class Heading:
    """A heading on one line.

    Attributes:
        level: 1 for the outermost.
        text: as written, cleaned by ``repair_text``.
        page: page number, from 1; None if the format has no pages.
    """

    level: int
    text: str
    page: int | None = None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, a list, a table (one row per line) or a code block.

    Attributes:
        text: never empty.
        page: as in ``Heading``.
        is_code: whether it is code, whose words are no sentences.
        is_task: whether it consists of tasks that are not done, whose sentences are not true yet.
    """

    text: str
    page: int | None = None
    is_code: bool = False
    is_task: bool = False


class CodeLine(str):
    """Code among the lines of a list or table, see ``make_paragraphs``."""

    __slots__ = ()


class TaskLine(str):
    """A line of a task that is not done, see ``make_paragraphs``."""

    __slots__ = ()


Block = Heading | Paragraph


@dataclass(frozen=True)
class Document:
    """A document as read from its file.

    Attributes:
        name: a slug of the file's path; unique within a collection.
        filename: the file's path below the folder that the user gave, safe to print.
        blocks: headings and paragraphs, in order.
        language: the language that its words show, else the one it declares, such as ``en``; empty
            if neither is known.
        notes: messages to the user about what could not be read or had to be repaired.
    """

    name: str
    filename: str
    blocks: tuple[Block, ...]
    language: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DocumentContent:
    """The result of a reader for one file; the attributes are those of ``Document``."""

    blocks: list[Block]
    language: str = ""
    notes: tuple[str, ...] = ()


def make_heading(level: int, text: str, page: int | None = None) -> list[Block]:
    """Makes a heading of ``text``; a paragraph if it is too long; nothing if it is empty.

    Args:
        level: from 1.
        text: on any number of lines.
        page: as in ``Heading``.
    """
    line = repair_text(text)
    if len(line) > MAX_HEADING_LENGTH:
        return make_paragraph(text, page)
    return [Heading(level, line, page)] if line else []


def make_paragraphs(lines: Iterable[str]) -> list[Block]:
    """Makes paragraphs of the lines of a list or table.

    Each run of ``CodeLine`` is a paragraph, each run of ``TaskLine`` or tasks that are not ticked,
    and each run of other lines.
    """
    return [
        block
        for kind, group in groupby(_mark_tasks(lines), type)
        for block in make_paragraph(
            "\n".join(group), is_code=kind is CodeLine, is_task=kind is TaskLine
        )
    ]


def _mark_tasks(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines; those of a task that is not ticked ("- [ ] …") as ``TaskLine``.

    They are the line of the task itself and what follows up to the next item of the list, except
    tasks that are ticked.
    """
    task_indent: int | None = None  # of the enclosing task that is not ticked
    for line in lines:
        item = None if isinstance(line, CodeLine) else _LIST_ITEM.match(line)
        is_open = bool(item and item[2] in _OPEN_BOXES)
        if item and (task_indent is None or len(item[1]) <= task_indent):
            task_indent = len(item[1]) if is_open else None
        is_done = bool(item and item[2] and not is_open)
        is_task = task_indent is not None and not is_done and not isinstance(line, CodeLine)
        yield TaskLine(line) if is_task else line


def make_paragraph(
    text: str, page: int | None = None, *, is_code: bool = False, is_task: bool = False
) -> list[Block]:
    """Makes a paragraph of ``text`` with its line breaks; nothing if the text is blank.

    Removes control and bidirectional characters and soft hyphens, and normalises to NFC.
    """
    text = unicodedata.normalize("NFC", clean_for_terminal(text.replace("\u00ad", "")))
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    text = _BLANK_LINES.sub("\n\n", text)
    return [Paragraph(text, page, is_code, is_task)] if text.strip() else []


def split_front_matter(text: str) -> tuple[str, str]:
    """Returns the title in a page's front matter (YAML or TOML; may be empty), and the page's text.

    Text between two rules is no front matter: every line must be one of YAML or TOML, and the first
    one that is no comment must have a key.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        return "", text
    kind = "toml" if match["toml"] is not None else "yaml"
    content = match[kind]
    lines = [line for line in content.split("\n") if line.strip() and not line.startswith("#")]
    is_text = lines[0][0] in " \t-]}" if lines else bool(content.strip())
    if is_text or content.startswith("\n") or not all(map(_FRONT_LINE[kind].match, lines)):
        return "", text
    title = _FRONT_TITLE.search(content)
    return title[1].strip("\"'") if title else "", text[match.end() :]


def add_title(title: str, blocks: list[Block]) -> list[Block]:
    """Returns the blocks with a title as the first heading, unless a heading is of level 1."""
    if any(isinstance(block, Heading) and block.level == 1 for block in blocks):
        return blocks
    return [*make_heading(1, title), *blocks]


def collapse_spaces(text: str) -> str:
    """Replaces each run of spaces and tabs by one space; keeps line breaks."""
    return _SPACES.sub(" ", text).strip()


def decode_text(data: bytes, where: str, encoding: str = "") -> str:
    """Decodes a text file and converts its line ends to line feeds.

    The encoding is UTF-8, unless a byte order mark or ``encoding`` says otherwise. It is never
    guessed: a wrong guess would put words into the graph that are not in the document.

    Args:
        data: the bytes.
        where: the file, for messages.
        encoding: the encoding that the document declares.

    Raises:
        DocumentError: the bytes are invalid in the encoding, or contain NUL characters.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(b"\xef\xbb\xbf") or not encoding:
        encoding = "utf-8-sig"
    elif encoding == "cp1252":
        data = data.translate(None, _UNDEFINED_CP1252)
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
            "the document is not text: it contains NUL characters",
            where=where,
            hint="Check that its extension matches its format.",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
