"""Reads Markdown (CommonMark with tables) with markdown-it-py, and what generators of sites add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.text.documents.document import (
    Block,
    CodeLine,
    DocumentContent,
    Heading,
    collapse_spaces,
    decode_text,
    make_heading,
    make_paragraph,
    make_paragraphs,
)
from kg.text.documents.html_reader import extract_html_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_LINES = 200_000
"""Maximum number of lines; each may need two kilobytes of memory."""
MAX_NESTING = 100
"""Maximum nesting of quotations, lists and list items."""
MAX_INLINE_LENGTH = 20_000
"""Maximum length of a paragraph in which inline markup is parsed, in characters. The text of a
longer one keeps its markup."""

# YAML of at most 200 lines between "---" and "---" or "...".
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n){0,200}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(\{([\w:.-]+)\})?")
# MkDocs: "!!! note "Title"", "??? tip", "=== "Tab""; what belongs to it is indented by four spaces.
_ADMONITION = re.compile(r"( *)(?:!!!|\?\?\?\+?|===)[ \t]+[^\"]*(?:\"(.*)\")?[ \t]*$")
# Pandoc, Quarto and MyST: ":::" around a part; Hugo and Quarto: "{{< … >}}"; Jekyll: "{% … %}".
_ADMONITION_MARKS = ("!!!", "???", "===")
_DIV = re.compile(r"[ \t]*:{3,}[^:]*:*[ \t]*$")
_SHORTCODE = re.compile(r"\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}")
_MYST_ROLE = re.compile(r"\{[\w:.+-]{1,40}\}(?=`[^`])")
_DROPPED_FENCES = frozenset({"toctree", "include", "literalinclude", "raw", "eval-rst", "index"})
_MDX_STATEMENT = re.compile(r"(?:import|export)\b(?=.*(?:\bfrom\b|['\"{=(]))")


def read_mdx(data: bytes, where: str) -> DocumentContent:
    """Reads MDX: Markdown with JSX tags, which are read as HTML, and statements, left out.

    Raises:
        DocumentError: as for ``read_markdown``.
    """
    lines: list[str] = []
    fence, in_statement = "", False
    for line in _strip_mdx_comments(decode_text(data, where)).split("\n"):
        match = _FENCE.match(line)
        if match and (not fence or (line.strip() == match[1] and match[1].startswith(fence))):
            fence = "" if fence else match[1]
        in_statement = not fence and (
            bool(_MDX_STATEMENT.match(line)) or (in_statement and bool(line.strip()))
        )
        lines.append("" if in_statement else line)
    return read_markdown("\n".join(lines).encode(), where)


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
    paragraph with one item or row per line. Of the front matter (YAML between ``---``), only the
    title is read, as the first heading; the rest is metadata. The frames of admonitions, tabs and
    divisions (MkDocs, Quarto, MyST) and shortcodes are removed, and their content is read.

    Raises:
        DocumentError: the file cannot be decoded, has more than ``MAX_LINES`` lines, or its lists
            or quotations are nested too deeply.
    """
    from markdown_it import MarkdownIt

    text = decode_text(data, where)
    if (lines := text.count("\n")) > MAX_LINES:
        raise DocumentError(
            f"the document has {lines:,} lines; at most {MAX_LINES:,} are read as Markdown",
            where=where,
            hint="Split it.",
        )
    front_matter = _FRONT_MATTER.match(text)
    # Inline markup is parsed later, with a limit on its length; see `_strip_markup`.
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline")
    env: dict[str, Any] = {}
    body = _strip_extensions(text[front_matter.end() :] if front_matter else text)
    tokens = parser.parse(body, env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser silently drops anything deeper.
        raise DocumentError(
            "lists or quotations are nested too deeply",
            where=where,
            hint="Check that it is the right file.",
        )
    blocks = _TokenConverter(parser, env, where).convert_tokens(tokens)
    title = _FRONT_TITLE.search(front_matter[0]) if front_matter else None
    if title and not any(isinstance(block, Heading) and block.level == 1 for block in blocks):
        blocks[:0] = make_heading(1, title[1].strip("\"'"))
    return DocumentContent(blocks)


def _strip_extensions(text: str) -> str:
    """Removes what generators of sites add to Markdown, outside of code; see ``read_markdown``."""
    lines: list[str] = []
    fence = ""  # the marker of the enclosing code block
    is_dropped = False  # whether that block is left out
    indents: list[int] = []  # columns of the enclosing admonitions and tabs
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip():
            while indents and indent < indents[-1] + 4:
                indents.pop()
        line = line[min(indent, 4 * len(indents)) :]
        match = _FENCE.match(line)
        if fence:
            if match and line.strip() == match[1] and match[1].startswith(fence):
                fence = ""
            if not is_dropped:
                lines.append(line)
            continue
        if match:
            fence, is_dropped = match[1], match[3] in _DROPPED_FENCES
            if not is_dropped:
                lines.append(line)
            continue
        admonition = _ADMONITION.match(line) if line.lstrip(" ")[:3] in _ADMONITION_MARKS else None
        if admonition and len(indents) < MAX_NESTING:
            indents.append(indent)
            lines += ["", admonition[2] or "", ""]
        elif not _DIV.match(line):
            lines.append(_MYST_ROLE.sub("", _SHORTCODE.sub("", line)))
    return "\n".join(lines)


class _TokenConverter:
    """Converts the tokens of one document to blocks."""

    def __init__(self, parser: MarkdownIt, env: dict[str, Any], where: str) -> None:
        self._parser, self._env, self._where = parser, env, where
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
                    text = self._strip_markup(token.content)
                    blocks += make_heading(level, text) if level else self._add_text(text)
                case "fence" | "code_block":
                    blocks += self._add_text(token.content, is_code=True)
                case "html_block":
                    blocks += self._add_text(extract_html_text(token.content, self._where))
                case _:
                    pass
        return blocks

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
                pieces.append(_get_alt_text(token))
        return collapse_spaces("".join(pieces))


def _get_alt_text(image: Token) -> str:
    """Returns the alternative text of an image, which may be split by inline markup."""
    return "".join(child.content for child in image.children or [])
