"""Reads HTML with beautifulsoup4 and the standard library's parser."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
from kg.text.documents.inline_text import NOTE_LINK, STRUCK_OUT, InlineText
from kg.text.documents.markup.open_elements import OpenElements
from kg.text.documents.markup.table_rows import Cell, TableRows, read_span

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_TAGS = 500_000
"""Maximum number of tags in a page; each needs about a kilobyte of memory."""

MAX_INDENT = 20
"""Maximum indentation level of nested lists; deeper ones get the same indentation."""

# The head is not skipped as a whole: its end may be left out, as in specifications of the W3C.
_SKIPPED_TAGS = frozenset(
    list_words("script style template noscript title nav svg iframe object select button datalist")
)
BLOCK_TAGS = frozenset(
    list_words(
        "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
        "figcaption figure footer form header hr html legend li main ol p pre section summary "
        "table tbody tfoot thead tr ul"
    )
)
_SKIPPED_ROLES = frozenset(list_words("navigation search banner contentinfo doc-noteref"))
"""Values of the attribute ``role`` of elements that are around the text of a page, or mark notes.
"""
_SIGN_CLASSES = frozenset(list_words("footnote-ref footnote-reference headerlink"))
"""Classes of links that are no text: marks of notes, and signs beside headings."""
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden|line-through)", re.I)
_ROW_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_LIST_TAGS = frozenset(list_words("ul ol dl table"))
# Blocks that do not end the line in a cell of a table.
_CELL_TAGS = frozenset(
    list_words(
        "address article aside blockquote body center details dialog div fieldset figcaption "
        "figure footer form header html legend main p section summary"
    )
)
_CELL_LINE = "\v"
"""Separates blocks in a cell; no other text outside <pre> has this character."""
_HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
_ENCODING = re.compile(
    r"utf-(?:8|16|32).*|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|shift_jis\w*|euc_\w+|gb\w+|big5\w*"
    r"|iso2022_\w+|tis-620"
)
"""Accepted encodings, by Python's codec names. Python has other codecs that do not decode text
(such as hex) or interpret escapes."""
# How browsers read encodings that are declared by these names (WHATWG, Encoding Standard, 4.2).
_ENCODING_OF_BROWSERS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030",
    "gbk": "gb18030", "big5": "big5hkscs",
}  # fmt: skip
_COMMENT_OR_SCRIPT = re.compile(r"<!--|<(script|style)(?=[\s/>])", re.IGNORECASE)
_COMMENT_END = re.compile(r"-->|(?<!<!)--!>")
_SPACE = re.compile(r"\s+")
_WORD_CHARACTER = re.compile(r"\w")
_TAG_START = re.compile(r"<[A-Za-z/!?]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?=[-_]|$)")


def read_html(data: bytes, where: str) -> DocumentContent:
    """Reads an HTML page: headings, paragraphs, and lists and tables with one item or row per line.

    Scripts, styles, navigation, form controls, permalinks, marks of notes, and elements that are
    hidden or struck out are left out. Nothing is fetched or executed.

    Raises:
        DocumentError: the page cannot be decoded or parsed, or has more than ``MAX_TAGS`` tags.
    """
    text = decode_text(data, where, _find_declared_encoding(data, where))
    title, text = split_front_matter(text)
    soup = _parse_html(text, where)
    root = soup.find("html")
    language = _LANGUAGE.match(str(root.get("lang", ""))) if root is not None else None
    blocks = add_title(title, list(_iter_blocks(soup)))
    return DocumentContent(blocks, language[0].lower() if language else "")


def _find_declared_encoding(data: bytes, where: str) -> str:
    """Returns the encoding that a page declares in its ``meta`` element; empty if none.

    Raises:
        DocumentError: the declared encoding is unknown or does not decode text.
    """
    from bs4.dammit import EncodingDetector

    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    if not declared:
        return ""
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        name = ""
    if not _ENCODING.fullmatch(name):
        raise DocumentError(
            f"the page declares an unknown encoding: {declared}",
            where=where,
            hint="Convert it to UTF-8.",
        )
    # The declaration was found in ASCII bytes, so the page cannot be UTF-16 or UTF-32: the HTML
    # standard then requires UTF-8, the default.
    return "" if name.startswith(("utf-16", "utf-32")) else _ENCODING_OF_BROWSERS.get(name, name)


def read_html_fragment(markup: str, where: str) -> list[Block]:
    """Returns the blocks of an HTML fragment inside another document.

    Raises:
        DocumentError: the fragment cannot be parsed, or has more than ``MAX_TAGS`` tags.
    """
    return list(_iter_blocks(_parse_html(markup, where)))


def _parse_html(text: str, where: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    text = _strip_unclosed_tags(_strip_comments(text))
    if (tags := text.count("<")) > MAX_TAGS:
        raise DocumentError(
            f"the page has {tags:,} tags; at most {MAX_TAGS:,} are read",
            where=where,
            hint="Split it.",
        )
    try:
        return BeautifulSoup(text, "html.parser")
    except ParserRejectedMarkup as error:
        raise DocumentError(
            f"the page is damaged: {str(error).rsplit('parser:', 1)[-1].strip()}",
            where=where,
            hint="Open it in a browser and save it again.",
        ) from error


def _strip_comments(text: str) -> str:
    """Removes comments; an unclosed one extends to the end of the text. Scripts have none.

    The parser would search for the end of every unclosed comment, which takes quadratic time.
    """
    pieces, position = [], 0
    while match := _COMMENT_OR_SCRIPT.search(text, position):
        if match[1]:
            end = re.compile(f"</{match[1]}", re.IGNORECASE).search(text, match.end())
            next_position = end.end() if end else len(text)
            pieces.append(text[position:next_position])
        else:
            pieces.append(text[position : match.start()])
            end = _COMMENT_END.search(text, match.start() + 2)  # "<!-->" is a whole comment
            next_position = end.end() if end else len(text)
        position = next_position
    return "".join([*pieces, text[position:]])


def _strip_unclosed_tags(text: str) -> str:
    """Removes tags that are still open at the end of the text, as browsers do.

    The parser would try each of many such tags up to the end, which takes quadratic time.
    """
    tail = _TAG_START.search(text, text.rfind(">") + 1)
    return text[: tail.start()] if tail else text


def _iter_blocks(soup: BeautifulSoup) -> Iterator[Block]:
    """Yields the page's blocks; ``soup`` may be nested to any depth."""
    builder = _BlockBuilder()
    for node, is_start in _walk_elements(soup):
        if isinstance(node, str):
            builder.add_text(node)
        else:
            yield from builder.add_tag(node, is_start=is_start)
    yield from builder.finish()


class _BlockBuilder:
    """Builds blocks of the tags and texts of a page, in order."""

    def __init__(self) -> None:
        self._text = InlineText()  # of the current line
        self._lines: list[str] = []  # finished lines of the enclosing lists and tables
        self._lists: list[str] = []  # the enclosing lists and tables
        self._marker = ""  # "- " before the first line of a list item
        self._pre_depth = 0  # number of enclosing <pre> elements
        self._heading_level = 0  # of the enclosing heading; 0 outside headings
        # Finished cells of the current row; None outside rows and after a list, heading, table or
        # code in one of the cells, which end the line.
        self._cells: list[Cell] | None = None
        self._cell: Tag | None = None  # the enclosing cell of that row
        self._tables = [TableRows()]  # of the enclosing tables; the first is for stray rows

    def add_text(self, text: str) -> None:
        self._text.add(text if self._pre_depth else _SPACE.sub(" ", text))

    def add_tag(self, tag: Tag, *, is_start: bool) -> list[Block]:
        """Adds the start or end of an element; returns the blocks that end there."""
        name = tag.name
        if name in _HEADING_LEVELS or name in BLOCK_TAGS:
            if self._cells is None or name not in _CELL_TAGS:
                return self._add_block_tag(name, is_start=is_start)
            self._text.add(_CELL_LINE)
        elif name in ("td", "th"):
            if self._cells is not None:
                self._end_cell()
                self._cell = tag if is_start else None
            elif is_start and not self._text.is_blank:
                self._text.add(" | ")
        elif not is_start:
            self._text.close_tag(name)
        elif name == "br":
            self._text.add("\n")
        elif name == "img":
            self._text.add(str(tag.get("alt") or ""))
        elif name == "input":
            if self._marker and self._text.is_blank and str(tag.get("type")).lower() == "checkbox":
                self._text.add("[x] " if tag.has_attr("checked") else "[ ] ")
        elif name != NOTE_LINK or "#" in str(tag.get("href", "")):
            self._text.open_tag(name)
        return []

    def finish(self) -> list[Block]:
        """Returns the blocks that end with the page."""
        return make_paragraphs([*self._lines, *self._take_lines()])

    def _add_block_tag(self, name: str, *, is_start: bool) -> list[Block]:
        blocks: list[Block] = []
        lines, is_code = self._take_lines(), self._pre_depth > 0
        if self._heading_level and lines:
            # A block inside a heading also ends it: the heading may never be closed.
            blocks += make_heading(self._heading_level, "\n".join(lines))
            self._heading_level = 0
        elif self._lists:
            for text in lines:
                line = "  " * min(len(self._lists) - 1, MAX_INDENT) + self._marker + text
                self._lines.append(CodeLine(line) if is_code else line)
                self._marker = ""
        else:
            blocks += make_paragraph("\n".join(lines), is_code=is_code)
        if name in _HEADING_LEVELS:
            self._heading_level = _HEADING_LEVELS[name] if is_start else 0
        elif name == "pre":
            self._pre_depth += 1 if is_start else -1
        elif name == "li" and is_start:
            self._marker = "- "
        elif name == "tr" and is_start:
            self._cells = []
        elif name in _ROW_GROUPS:
            self._tables[-1].end_group()
        elif name in _LIST_TAGS:
            if is_start:
                self._lists.append(name)
            else:
                self._lists.pop()
            if name == "table" and is_start:
                self._tables.append(TableRows())
            elif name == "table":
                self._tables.pop()
        if (self._heading_level or not self._lists) and self._lines:
            blocks += make_paragraphs(self._lines)
            self._lines = []
        return blocks

    def _end_cell(self) -> None:
        text = self._take_text()
        if self._cells is not None and (text or self._cell):
            attributes = self._cell.attrs if self._cell else {}
            columns = read_span(attributes.get("colspan", 1))
            # 0 rows are all that follow.
            rows = read_span(attributes.get("rowspan", 1)) or sys.maxsize
            self._cells.append(Cell(text, columns, rows))
        self._cell = None

    def _take_lines(self) -> list[str]:
        """Returns the current row, or the text since the last line; the row ends there."""
        if self._cells is None:
            text = self._take_text()
            return [text] if text else []
        self._end_cell()
        cells, self._cells = self._cells, None
        filled = [cell.text for cell in cells if cell.text]
        texts = self._tables[-1].fill_row(cells)
        if len(filled) == 1 and _CELL_LINE in filled[0]:
            # The table lays out the page: the paragraphs of a cell beside empty ones stay apart.
            return [line for part in filled[0].split(_CELL_LINE) if (line := part.strip())]
        row = " | ".join(texts).replace(_CELL_LINE, " ").split("\n")
        return ["\n".join(map(collapse_spaces, row))] if filled else []

    def _take_text(self) -> str:
        text = self._text.take()
        if self._pre_depth:
            return text.strip("\n")
        return "\n".join(line for line in map(collapse_spaces, text.split("\n")) if line)


def _walk_elements(soup: BeautifulSoup) -> Iterator[tuple[Tag | str, bool]]:
    """Yields each text, and each element twice: (tag, True) at its start, (tag, False) at its end.

    The parser closes an element only where an end tag says so; an element whose end tag is left
    out ends here where browsers end it. Not recursive: a hostile page could exceed the recursion
    limit.
    """
    from bs4.element import NavigableString, PreformattedString, Tag

    opened = OpenElements()
    stack: list[tuple[Tag, Iterator[object]]] = [(soup, iter(soup.contents))]
    while stack:
        parent, children = stack[-1]
        child = next(children, None)
        if isinstance(child, Tag):
            ended = opened.end_before(child.name)
            yield from ((tag, False) for tag, is_skipped in ended if not is_skipped)
            opened.add(child, is_skipped=_is_skipped(child))
            if not opened.is_skipped:
                yield child, True
            stack.append((child, iter(child.contents)))
        elif child is None:
            stack.pop()
            ended = opened.end(parent)
            yield from ((tag, False) for tag, is_skipped in ended if not is_skipped)
        elif isinstance(child, NavigableString) and not (
            opened.is_skipped or isinstance(child, PreformattedString)
        ):
            yield str(child), True


def _is_skipped(tag: Tag) -> bool:
    """Whether an element is no part of the page's text."""
    return (
        tag.name in _SKIPPED_TAGS
        or tag.name in STRUCK_OUT
        or tag.has_attr("hidden")
        # Some scripts hide a page until it is loaded.
        or (tag.name != "body" and bool(_HIDDEN_STYLE.search(str(tag.get("style", "")))))
        or tag.get("aria-hidden") == "true"
        # W3C's specifications have their title in the "contentinfo".
        or (tag.get("role") in _SKIPPED_ROLES and tag.find("h1") is None)
        or (tag.name == "a" and _is_permalink(tag))
    )


def _is_permalink(link: Tag) -> bool:
    """Whether a link is only a sign: the mark of a note, or ¶ or # beside a heading."""
    if not _SIGN_CLASSES.isdisjoint(link.get("class") or ()):
        return True
    # Only texts directly in the link, so that links inside links take linear time.
    return str(link.get("href", "")).startswith("#") and not any(
        not isinstance(child, str) or _WORD_CHARACTER.search(child) for child in link.contents
    )
