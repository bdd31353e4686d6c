"""Markdown (CommonMark with tables), by markdown-it-py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.text.documents.document import Block, Content, decoded, heading, one_spaced, paragraph
from kg.text.documents.hypertext import html_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_LINES = 200_000
"""A file with more is refused; each may cost two kilobytes of memory."""
MAX_NESTING = 100
"""Quotations, lists and their items inside each other."""
MAX_INLINE = 20_000
"""Characters of one paragraph in which emphasis and links are looked for; longer ones stay as they
are written."""

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n){0,200}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def read_markdown(data: bytes, where: str) -> Content:
    """Reads a Markdown file: its text without its marks.

    Headings are those of the document itself, not those inside lists and quotations. A list or
    table is one paragraph, an item or row a line. Front matter (YAML between ``---``) is left out:
    it is about the text, and not of it.

    Raises:
        DocumentError: as ``decoded``; there are more than ``MAX_LINES`` lines, or lists or
            quotations are nested too deeply.
    """
    from markdown_it import MarkdownIt

    text = decoded(data, where)
    if (lines := text.count("\n")) > MAX_LINES:
        raise DocumentError(
            f"the document has {lines:,} lines; at most {MAX_LINES:,} are read as Markdown",
            where=where,
            hint="Split it.",
        )
    front = _FRONT_MATTER.match(text)
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline")
    env: dict[str, Any] = {}
    tokens = parser.parse(text[front.end() :] if front else text, env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser leaves out what is deeper.
        raise DocumentError(
            "lists or quotations are nested too deeply",
            where=where,
            hint="Check that the file is what you meant.",
        )
    return Content(_Reading(parser, env, where).blocks(tokens))


class _Reading:
    """Goes through the tokens of one document."""

    def __init__(self, parser: MarkdownIt, env: dict[str, Any], where: str) -> None:
        self._parser, self._env, self._where = parser, env, where
        self._lists: list[int | None] = []  # around the token: the next number, or None
        self._marker = ""  # of the item whose first line is to come
        self._cells: list[str] | None = None  # of the table row being read
        self._lines: list[str] = []  # of the outermost list or table

    def blocks(self, tokens: Sequence[Token]) -> list[Block]:
        found: list[Block] = []
        level = 0
        for token in tokens:
            match token.type:
                case "heading_open" if token.level == 0:
                    level = int(token.tag[1:])
                case "heading_close":
                    level = 0
                case "bullet_list_open":
                    self._lists.append(None)
                case "ordered_list_open":
                    self._lists.append(int(token.attrGet("start") or 1))
                case "list_item_open":
                    self._begin_item()
                case "tr_open":
                    self._cells = []
                case "tr_close":
                    self._line(" | ".join(self._cells or ()))
                    self._cells = None
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                    found += self._gathered()
                case "table_close":
                    found += self._gathered()
                case "inline":
                    written = self._plain(token.content)
                    found += heading(level, written) if level else self._text(written)
                case "fence" | "code_block":
                    found += self._text(token.content)
                case "html_block":
                    found += self._text(html_text(token.content, self._where))
                case _:
                    pass
        return found

    def _begin_item(self) -> None:
        number = self._lists[-1]
        self._marker = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _text(self, text: str) -> list[Block]:
        """A paragraph; inside a list or table, a line of what is gathered."""
        if self._cells is not None:
            self._cells.append(text.replace("\n", " "))
        elif self._lists:
            self._line(text)
        else:
            return paragraph(text)
        return []

    def _line(self, text: str) -> None:
        if text.strip():
            marker, self._marker = self._marker, ""
            indent = "  " * max(0, len(self._lists) - 1)
            self._lines.append(indent + marker + text.strip("\n").replace("\n", "\n" + indent))

    def _gathered(self) -> list[Block]:
        """The outermost list or table, when it has ended."""
        if self._lists:
            return []
        lines, self._lines = self._lines, []
        return paragraph("\n".join(lines))

    def _plain(self, content: str) -> str:
        """The text of a paragraph without its marks."""
        if len(content) > MAX_INLINE:
            return content
        pieces: list[str] = []
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        for token in tokens:
            if token.type in ("text", "code_inline", "text_special"):
                pieces.append(token.content)
            elif token.type == "softbreak":
                pieces.append(" ")
            elif token.type == "hardbreak":
                pieces.append("\n")
            elif token.type == "image":
                pieces.append(_alternative(token))
        return one_spaced("".join(pieces))


def _alternative(image: Token) -> str:
    """An image's text, which its own marks may interrupt."""
    return "".join(child.content for child in image.children or [])
