"""Reads HTML with beautifulsoup4 and the standard library's parser."""

from __future__ import annotations

import codecs
import re
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
_SKIPPED_ROLES = frozenset(list_words("navigation search banner contentinfo"))
"""Values of the attribute ``role`` of elements that are around the text of a page."""
_LIST_TAGS = frozenset(list_words("ul ol dl table"))
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

    Scripts, styles, navigation, form controls, permalinks, and elements with the attributes
    ``hidden`` or ``aria-hidden`` are left out. Nothing is fetched or executed.

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


def extract_html_text(markup: str, where: str) -> str:
    """Returns the text of an HTML fragment inside another document.

    Raises:
        DocumentError: the fragment cannot be parsed, or has more than ``MAX_TAGS`` tags.
    """
    return "\n".join(block.text for block in _iter_blocks(_parse_html(markup, where)))


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
    pieces: list[str] = []  # text pieces of the current block
    lines: list[str] = []  # finished lines of the enclosing lists and tables
    lists: list[str] = []  # stack of the enclosing lists and tables
    marker = ""  # "- " before the first line of a list item
    pre_depth = 0  # number of enclosing <pre> elements
    heading_level = 0  # level of the enclosing heading; 0 outside headings

    def take_text() -> str:
        text = "".join(pieces)
        pieces.clear()
        if pre_depth:
            return text.strip("\n")
        return "\n".join(line for line in map(collapse_spaces, text.split("\n")) if line)

    for node, is_start in _walk_elements(soup):
        if isinstance(node, str):
            pieces.append(node if pre_depth else _SPACE.sub(" ", node))
            continue
        name = node.name
        if name == "br":
            pieces.append("\n" if is_start else "")
        elif name == "img":
            pieces.append(str(node.get("alt") or "") if is_start else "")
        elif name in ("td", "th"):
            pieces.append(" | " if is_start and any(piece.strip() for piece in pieces) else "")
        elif name in _HEADING_LEVELS or name in BLOCK_TAGS:
            text, is_code = take_text(), pre_depth > 0
            if heading_level and text:
                # A block inside a heading also ends it: the heading may never be closed.
                yield from make_heading(heading_level, text)
                heading_level = 0
            elif text and lists:
                indent = "  " * min(len(lists) - 1, MAX_INDENT)
                line = indent + marker + text
                lines.append(CodeLine(line) if is_code else line)
                marker = ""
            else:
                yield from make_paragraph(text, is_code=is_code)
            if name in _HEADING_LEVELS:
                heading_level = _HEADING_LEVELS[name] if is_start else 0
            if name == "pre":
                pre_depth += 1 if is_start else -1
            if name == "li" and is_start:
                marker = "- "
            if name in _LIST_TAGS:
                if is_start:
                    lists.append(name)
                else:
                    lists.pop()
            if (heading_level or not lists) and lines:
                yield from make_paragraphs(lines)
                lines.clear()
    yield from make_paragraphs([*lines, take_text()])


def _walk_elements(soup: BeautifulSoup) -> Iterator[tuple[Tag | str, bool]]:
    """Yields each text, and each element twice: (tag, True) at its start, (tag, False) at its end.

    Not recursive: a hostile page could exceed the recursion limit.
    """
    from bs4.element import NavigableString, PreformattedString, Tag

    stack: list[tuple[Tag, Iterator[object]]] = [(soup, iter(soup.contents))]
    while stack:
        parent, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if stack:
                yield parent, False
        elif isinstance(child, Tag):
            if not _is_skipped(child):
                yield child, True
                stack.append((child, iter(child.contents)))
        elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
            yield str(child), True


def _is_skipped(tag: Tag) -> bool:
    """Whether an element is no part of the page's text."""
    return (
        tag.name in _SKIPPED_TAGS
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or tag.get("role") in _SKIPPED_ROLES
        or (tag.name == "a" and _is_permalink(tag))
    )


def _is_permalink(link: Tag) -> bool:
    """Whether a link is only a sign beside the heading that it leads to, such as ¶ or #."""
    if "headerlink" in (link.get("class") or ()):
        return True
    # Only texts directly in the link, so that links inside links take linear time.
    return str(link.get("href", "")).startswith("#") and not any(
        not isinstance(child, str) or _WORD_CHARACTER.search(child) for child in link.contents
    )
