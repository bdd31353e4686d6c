"""Reads Markdown (CommonMark with tables) with markdown-it-py, and what generators of sites add."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.text.documents.document import (
    Block,
    CodeLine,
    DocumentContent,
    Paragraph,
    add_title,
    collapse_spaces,
    decode_text,
    make_heading,
    make_paragraph,
    make_paragraphs,
    split_front_matter,
)
from kg.text.documents.html_reader import BLOCK_TAGS, read_html_fragment
from kg.text.documents.inline_text import NOTE_LINK, InlineText
from kg.text.documents.markdown_extensions import (
    FENCE,
    MAX_INLINE_LENGTH,
    MAX_NESTING,
    NOTE_TEXT,
    ends_fence,
    strip_extensions,
    strip_heading_attributes,
    strip_inline_extensions,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_LINES = 200_000
"""Maximum number of lines; each may need two kilobytes of memory."""
MAX_INLINE_NESTING = 20
"""Maximum nesting of brackets; the parser takes time in proportion to it."""

_MDX_STATEMENT = re.compile(
    r"import\b\s*(?:[\"'][^\"']+[\"'];?\s*$|\{|\*\s*as\b|(?:type\s+)?[\w$]+\s*(?:,\s*[{*]|from\s*[\"'])"
    r"|type\s*\{)"
    r"|export\b\s*(?:\{|\*\s*(?:from|as)\b|default\b"
    r"|(?:const|let|var|class|type|interface|enum|(?:async\s+)?function)\b\s*[\w$*{\[])"
)
_TABLE_FENCE = re.compile(r"\s*\{(list-table|csv-table)\}(.*)")
_INLINE_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_ALTERNATIVE_TEXT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)


def read_mdx(data: bytes, where: str) -> DocumentContent:
    """Reads MDX: Markdown with JSX tags, which are read as HTML, and statements, left out.

    Raises:
        DocumentError: as for ``read_markdown``.
    """
    title, text = split_front_matter(_strip_mdx_comments(decode_text(data, where)))
    lines: list[str] = []
    fence: re.Match[str] | None = None
    in_statement, is_start = False, True
    for line in text.split("\n"):
        match = FENCE.match(line)
        if match and not fence:
            fence = match
        elif match and fence and ends_fence(match, fence):
            fence = None
        # A statement begins a paragraph or follows another one, so a line of prose is none.
        in_statement = not fence and (
            ((is_start or in_statement) and bool(_MDX_STATEMENT.match(line)))
            or (in_statement and bool(line.strip()))
        )
        is_start = not line.strip()
        lines.append("" if in_statement else line)
    blocks = convert_markdown("\n".join(lines), where)
    return DocumentContent(add_title(title, blocks))


def _strip_mdx_comments(text: str) -> str:
    """Removes ``{/* … */}``; an unclosed one is kept."""
    first, *others = text.split("{/*")
    pieces = [first]
    for part in others:
        comment, end, rest = part.partition("*/}")
        pieces.append(rest if end else "{/*" + comment)
    return "".join(pieces)


def read_markdown(data: bytes, where: str) -> DocumentContent:
    """Reads a Markdown file as text without markup.

    Headings inside lists and quotations do not count as headings. A list or table is one
    paragraph with one item or row per line. Of the front matter (YAML between ``---`` or TOML
    between ``+++``), only the title is read, as the first heading; the rest is metadata. Of
    admonitions, tabs and divisions (MkDocs, Quarto, MyST) the title and the content are read.
    Shortcodes and attributes of headings, links and blocks are removed.

    Raises:
        DocumentError: the file cannot be decoded, has more than ``MAX_LINES`` lines, or its lists
            or quotations are nested too deeply.
    """
    return DocumentContent(parse_page(decode_text(data, where), where))


def parse_page(text: str, where: str) -> list[Block]:
    """Returns the blocks of a page that may begin with front matter; see ``read_markdown``."""
    title, body = split_front_matter(text)
    return add_title(title, convert_markdown(body, where))


def convert_markdown(text: str, where: str) -> list[Block]:
    """Returns the blocks of Markdown without front matter; see ``read_markdown``."""
    from markdown_it import MarkdownIt

    if (lines := text.count("\n")) > MAX_LINES:
        raise DocumentError(
            f"the document has {lines:,} lines; at most {MAX_LINES:,} are read as Markdown",
            where=where,
            hint="Split it.",
        )
    # Inline markup is parsed later, with a limit on its length; see `_strip_markup`.
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"]).disable("inline")
    env: dict[str, Any] = {}
    notes = frozenset(NOTE_TEXT.findall(text))
    tokens = parser.parse(strip_extensions(text), env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser silently drops anything deeper.
        raise DocumentError(
            "lists or quotations are nested too deeply",
            where=where,
            hint="Check that it is the right file.",
        )
    parser.options["maxNesting"] = MAX_INLINE_NESTING
    return _TokenConverter(parser, env, where, notes).convert_tokens(tokens)


class _TokenConverter:
    """Converts the tokens of one document to blocks."""

    def __init__(
        self, parser: MarkdownIt, env: dict[str, Any], where: str, notes: frozenset[str]
    ) -> None:
        self._parser, self._env, self._where, self._notes = parser, env, where, notes
        self._lists: list[int | None] = []  # next number of each enclosing list; None for bullets
        self._marker = ""  # marker of the current item, until its first line is added
        self._cells: list[str] | None = None  # cells of the current table row
        self._lines: list[str] = []  # lines of the outermost list or table

    def convert_tokens(self, tokens: Sequence[Token]) -> list[Block]:
        blocks: list[Block] = []
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
                    self._add_line(" | ".join(self._cells or ()))
                    self._cells = None
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                    blocks += self._flush_lines()
                case "table_close":
                    blocks += self._flush_lines()
                case "inline":
                    if level:
                        text = self._strip_markup(strip_heading_attributes(token.content))
                        blocks += make_heading(level, text)
                    else:
                        blocks += self._add_text(self._strip_markup(token.content))
                case "fence" if token.info.strip() == "{eval-rst}":
                    blocks += self._add_blocks(self._read_restructured_text(token.content), [""])
                case "fence" if table := _TABLE_FENCE.fullmatch(token.info):
                    # Without options, an empty line ends the title.
                    end = "\n" if token.content.startswith(":") else "\n\n"
                    text = f".. {table[1]}::{table[2]}{end}{textwrap.indent(token.content, '   ')}"
                    blocks += self._add_blocks(self._read_restructured_text(text))
                case "fence" | "code_block":
                    blocks += self._add_text(token.content, is_code=True)
                case "html_block":
                    blocks += self._add_blocks(read_html_fragment(token.content, self._where))
                case _:
                    pass
        return blocks

    def _read_restructured_text(self, text: str) -> list[Block]:
        # Imported here, because docutils takes long to import.
        from kg.text.documents.restructured_text import read_restructured_text

        return read_restructured_text(text.encode(), self._where).blocks

    def _add_blocks(self, blocks: Sequence[Block], separator: Sequence[str] = ()) -> list[Block]:
        """Adds text in another markup; returns paragraphs, as ``_add_text`` does."""
        lines: list[str] = []
        for block in blocks:
            is_code = isinstance(block, Paragraph) and block.is_code
            lines += [CodeLine(block.text)] if is_code else block.text.split("\n")
            lines += separator
        if not self._lists:
            return make_paragraphs(lines)
        for is_code, group in groupby(lines, lambda line: isinstance(line, CodeLine)):
            self._add_line("\n".join(group), is_code=is_code)
        return []

    def _begin_item(self) -> None:
        number = self._lists[-1]
        self._marker = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _add_text(self, text: str, *, is_code: bool = False) -> list[Block]:
        """Returns a paragraph; inside a list or table, adds a line or cell instead."""
        if self._cells is not None:
            self._cells.append(text.replace("\n", " "))
        elif self._lists:
            self._add_line(text, is_code=is_code)
        else:
            return make_paragraph(text, is_code=is_code)
        return []

    def _add_line(self, text: str, *, is_code: bool = False) -> None:
        if text.strip():
            marker, self._marker = self._marker, ""
            indent = "  " * max(0, len(self._lists) - 1)
            line = indent + marker + text.strip("\n").replace("\n", "\n" + indent)
            self._lines.append(CodeLine(line) if is_code else line)

    def _flush_lines(self) -> list[Block]:
        """Returns the outermost list or table as a paragraph once it has ended."""
        if self._lists:
            return []
        lines, self._lines = self._lines, []
        return make_paragraphs(lines)

    def _strip_markup(self, content: str) -> str:
        """Returns the text of a paragraph without markup."""
        if len(content) > MAX_INLINE_LENGTH:
            return content
        inline = InlineText()
        tokens: list[Token] = []
        content = strip_inline_extensions(content, self._notes)
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        for token in tokens:
            match token.type:
                case "text" | "code_inline" | "text_special":
                    inline.add(token.content)
                case "softbreak":
                    inline.add(" ")
                case "hardbreak":
                    inline.add("\n")
                case "image":
                    inline.add(_get_alt_text(token))
                case "s_open":
                    inline.open_tag("s")
                case "s_close":
                    inline.close_tag("s")
                case "link_open" if str(token.attrGet("href")).startswith("#"):
                    inline.open_tag(NOTE_LINK)
                case "link_close":
                    inline.close_tag(NOTE_LINK)
                case "html_inline":
                    _add_inline_tag(inline, token.content)
                case _:
                    pass
        lines = map(collapse_spaces, inline.take().split("\n"))
        return "\n".join(filter(None, lines))


def _add_inline_tag(inline: InlineText, tag: str) -> None:
    """Adds what a tag inside a paragraph stands for: a line break, an image's text, nothing."""
    match = _INLINE_TAG.match(tag)
    name = match[1].lower() if match else ""
    if name == "img":
        text = _ALTERNATIVE_TEXT.search(tag)
        inline.add(html.unescape(text[1] or text[2] or "") if text else "")
    elif name == "br" or name in BLOCK_TAGS:
        inline.add("\n")
    elif tag.startswith("</"):
        inline.close_tag(name)
    elif name != NOTE_LINK or "#" in tag:
        inline.open_tag(name)


def _get_alt_text(image: Token) -> str:
    """Returns the alternative text of an image, which may be split by inline markup."""
    return "".join(child.content for child in image.children or [])
