"""Reads Markdown (CommonMark with tables) with markdown-it-py, and what generators of sites add."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kg.base.errors import DocumentError
from kg.base.plain_text import list_words
from kg.text.documents.document import (
    Block,
    CodeLine,
    DocumentContent,
    add_title,
    collapse_spaces,
    decode_text,
    make_heading,
    make_paragraph,
    make_paragraphs,
    split_front_matter,
)
from kg.text.documents.html_reader import BLOCK_TAGS, extract_html_text

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

# The marks of quotations and list items may stand before a fence. Backticks after one make it
# inline code. A name in braces is a directive of MyST or a language of Quarto.
_FENCE = re.compile(
    r"((?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*)(`{3,}(?!.*`)|~{3,})[ \t]*(?:\{([\w:.+-]+)\}(.*))?"
)
_DROPPED_FENCES = frozenset({"toctree", "include", "literalinclude", "raw", "index"})
# Directives of MyST whose content is Markdown.
_TEXT_FENCES = frozenset(
    list_words(
        """admonition attention caution danger error hint important note seealso tip warning todo
        versionadded versionchanged deprecated margin sidebar topic aside dropdown card div
        tab-set tab-item grid grid-item grid-item-card epigraph container image figure"""
    )
)
_IMAGE_FENCES = frozenset({"image", "figure"})
"""Those whose argument is a file."""
_DIRECTIVE_OPTION = re.compile(r"[ \t]*:(?:alt:[ \t]*(.*)|[\w-]{1,40}:(?:[ \t]|$))")
# mkdocstrings and others: "::: package.module" stands for text from source code; options of it
# are indented by four spaces.
_SOURCE_NAME = re.compile(r":{3,}[ \t]*(?:[\w-]+(?:\.[\w-]+)+|mkdocs-\w+)[ \t]*")
_INDENTED_OPTION = re.compile(r" {4,}\S()")
_LETTER = re.compile(r"[^\W\d_]")
# MkDocs: "!!! note "Title"", "??? tip", "=== "Tab""; what belongs to it is indented by four spaces.
_ADMONITION = re.compile(
    r"( *)(?:(?:!!!|\?\?\?\+?)(?: *[\w-]+(?: +[\w-]+)*)?(?: *\"(.*)\")?"
    r"|===[!+]{0,2} *(?:\"(.*)\"|'(.*)'))[ \t]*$"
)
_ADMONITION_MARKS = ("!!!", "???", "===")
# Pandoc, Quarto, MyST, Docusaurus and VuePress: ":::" around a part. After it stand a name or
# attributes in braces, and perhaps a title.
_DIV = re.compile(
    r"(?:\{(?P<directive>[\w:-]+)\}|\{[^{}]*\}|[\w:.+-]+)?[ \t]*(?:\{[^{}]*\})?[ \t]*(?P<title>.*)"
)
_DIV_TITLE = re.compile(r"\btitle=\"([^\"{}]*)\"")
_ATTRIBUTE = r"(?:(?:[#.][\w:-]+)+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+))"
_ATTRIBUTES = rf"[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_INLINE_EXTENSION = re.compile(
    r"(?<!`)(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"  # kept
    r"|\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}"  # shortcodes of Hugo and Quarto, tags of Jekyll
    rf"|\{{:{_ATTRIBUTES}|\{{:[ \t]*toc\b[^{{}}]*\}}"  # attributes of kramdown and Python-Markdown
    rf"|(?<=[)\]`])\{{{_ATTRIBUTES}"  # those of Pandoc, after a link, an image or code
    r"|\{[\w:.+-]{1,40}\}(?=`[^`])"  # roles of MyST
)
_LINE_ATTRIBUTES = re.compile(rf"\{{:?[ \t]*(?=[#.]){_ATTRIBUTES}")
_HEADING_ATTRIBUTES = re.compile(rf"\{{:?(?:{_ATTRIBUTES}|[ \t]*-[ \t]*\}})")
_MYST_TARGET = re.compile(r"\([^()\s]{1,200}\)=")
_MDX_STATEMENT = re.compile(
    r"import\b\s*(?:[\"'][^\"']+[\"'];?\s*$|\{|\*\s*as\b|(?:type\s+)?[\w$]+\s*(?:,\s*[{*]|from\s*[\"'])"
    r"|type\s*\{)"
    r"|export\b\s*(?:\{|\*\s*(?:from|as)\b|default\b"
    r"|(?:const|let|var|class|type|interface|enum|(?:async\s+)?function)\b\s*[\w$*{\[])"
)
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
        match = _FENCE.match(line)
        if match and not fence:
            fence = match
        elif match and fence and _ends_fence(match, fence):
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
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline")
    env: dict[str, Any] = {}
    tokens = parser.parse(_strip_extensions(text), env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser silently drops anything deeper.
        raise DocumentError(
            "lists or quotations are nested too deeply",
            where=where,
            hint="Check that it is the right file.",
        )
    return _TokenConverter(parser, env, where).convert_tokens(tokens)


def _strip_extensions(text: str) -> str:
    """Removes what generators of sites add to Markdown, outside of code; see ``read_markdown``."""
    lines: list[str] = []
    fence: re.Match[str] | None = None  # the first line of the enclosing code block
    is_dropped = False  # whether that block is left out
    frames: list[re.Match[str]] = []  # the first lines of the enclosing directives of MyST
    option: re.Pattern[str] | None = None  # what an option of the directive before looks like
    indents: list[int] = []  # columns of the enclosing admonitions and tabs
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip():
            while indents and indent < indents[-1] + 4:
                indents.pop()
        line = line[min(indent, 4 * len(indents)) :]
        match = _FENCE.match(line)
        if fence:
            if match and _ends_fence(match, fence):
                fence = None
            if not is_dropped:
                lines.append(line)
            continue
        if option and (option_match := option.match(line)):
            if option_match[1]:
                lines += ["", line[: line.index(":")] + option_match[1], ""]
            continue
        option = None
        stripped = line.strip()
        if match and frames and _ends_fence(match, frames[-1]):
            frames.pop()
            lines.append("")
        elif match and match[3] in _TEXT_FENCES:
            frames.append(match)
            option = _DIRECTIVE_OPTION
            is_title = match[3] not in _IMAGE_FENCES and _LETTER.search(match[4])
            lines += ["", match[1] + (match[4].strip() if is_title else ""), ""]
        elif match:
            fence, is_dropped = match, match[3] in _DROPPED_FENCES
            if not is_dropped:
                lines.append(line)
        elif (
            stripped[:3] in _ADMONITION_MARKS
            and len(indents) < MAX_NESTING
            and (admonition := _ADMONITION.match(line))
        ):
            indents.append(indent)
            title = admonition[2] or admonition[3] or admonition[4] or ""
            lines += ["", admonition[1] + title, ""]
        elif stripped.startswith(":::"):
            is_source = len(stripped) < 200 and _SOURCE_NAME.fullmatch(stripped)
            option = _INDENTED_OPTION if is_source else _DIRECTIVE_OPTION if "{" in line else None
            lines += ["", line[: line.index(":")] + _get_div_title(stripped), ""]
        elif stripped.startswith(("{", "(")) and (
            _LINE_ATTRIBUTES.fullmatch(stripped) or _MYST_TARGET.fullmatch(stripped)
        ):
            continue
        else:
            # A line that is indented further may be code; see `_strip_markup`.
            lines.append(line if line.startswith("    ") else _strip_inline_extensions(line))
    return "\n".join(lines)


def _ends_fence(match: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a line with a fence ends the code block that begins with the line ``opening``."""
    is_alone = not match.string[match.end(2) :].strip()
    is_marked = match[1].strip(" \t>")
    # A fence that is indented further is a line of the code.
    is_indented = len(match[1].expandtabs(4)) > len(opening[1].expandtabs(4)) + 3
    return is_alone and not is_marked and not is_indented and match[2].startswith(opening[2])


def _get_div_title(line: str) -> str:
    """Returns the title in the first line of a division; empty if there is none."""
    line = line.strip(":").strip()[:MAX_INLINE_LENGTH]
    attribute = _DIV_TITLE.search(line)
    match = _DIV.match(line)
    directive = match["directive"] if match else None
    if directive and (directive not in _TEXT_FENCES or directive in _IMAGE_FENCES):
        return ""
    title = attribute[1] if attribute else match["title"] if match else ""
    return title.removeprefix("[").removesuffix("]")


def _strip_inline_extensions(text: str) -> str:
    if len(text) > MAX_INLINE_LENGTH:
        return text
    return _INLINE_EXTENSION.sub(lambda match: match["code"] or "", text)


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
                    if level:
                        text = self._strip_markup(_strip_heading_attributes(token.content))
                        blocks += make_heading(level, text)
                    else:
                        blocks += self._add_text(self._strip_markup(token.content))
                case "fence" if token.info.strip() == "{eval-rst}":
                    blocks += self._add_text(self._read_restructured_text(token.content))
                case "fence" | "code_block":
                    blocks += self._add_text(token.content, is_code=True)
                case "html_block":
                    blocks += self._add_text(extract_html_text(token.content, self._where))
                case _:
                    pass
        return blocks

    def _read_restructured_text(self, text: str) -> str:
        # Imported here, because docutils takes long to import.
        from kg.text.documents.restructured_text import read_restructured_text

        return "\n\n".join(
            b.text for b in read_restructured_text(text.encode(), self._where).blocks
        )

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
        content = _strip_inline_extensions(content)
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
            elif token.type == "html_inline":
                pieces.append(_read_inline_tag(token.content))
        lines = map(collapse_spaces, "".join(pieces).split("\n"))
        return "\n".join(filter(None, lines))


def _strip_heading_attributes(text: str) -> str:
    """Removes attributes at the end of a heading: ``{#id .class}``, ``{: #id}``, ``{-}``."""
    start = text.rfind("{")
    if start > 0 and _HEADING_ATTRIBUTES.fullmatch(text, start):
        return text[:start].rstrip()
    return text


def _read_inline_tag(tag: str) -> str:
    """Returns what a tag inside a paragraph stands for: a line break, an image's text, nothing."""
    match = _INLINE_TAG.match(tag)
    name = match[1].lower() if match else ""
    if name == "img":
        text = _ALTERNATIVE_TEXT.search(tag)
        return html.unescape(text[1] or text[2] or "") if text else ""
    return "\n" if name == "br" or name in BLOCK_TAGS else ""


def _get_alt_text(image: Token) -> str:
    """Returns the alternative text of an image, which may be split by inline markup."""
    return "".join(child.content for child in image.children or [])
