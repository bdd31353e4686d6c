"""HTML, by beautifulsoup4 over the standard library's parser."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.base.errors import DocumentError
from kg.text.documents.document import Block, Content, decoded, heading, one_spaced, paragraph
from kg.words.plain_text import words_of

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_TAGS = 500_000
"""A page with more is refused; each costs about a kilobyte of memory."""

MAX_INDENT = 20
"""Lists inside each other that are shown by indentation; deeper ones stand where the last do."""

_DROPPED = frozenset(
    words_of("script style template noscript head nav svg iframe object select button datalist")
)
_BLOCKS = frozenset(
    words_of(
        "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
        "figcaption figure footer form header hr html legend li main ol p pre section summary "
        "table tbody tfoot thead tr ul"
    )
)
_GATHERING = frozenset(words_of("ul ol dl table"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ENCODING = re.compile(
    r"utf-(?:8|16|32).*|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|shift_jis\w*|euc_\w+|gb\w+|big5\w*"
    r"|iso2022_\w+|tis-620"
)
"""Of pages, as Python calls them; it knows others too, which decode no text or run escapes."""
_SPACE = re.compile(r"\s+")
_OPENS_TAG = re.compile(r"<[A-Za-z/!?]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?=[-_]|$)")


def read_html(data: bytes, where: str) -> Content:
    """Reads an HTML page: headings, paragraphs, and lists and tables a line an item or row.

    Scripts, styles, navigation, form controls and elements with the attribute ``hidden`` are left
    out. Nothing is fetched or executed.

    Raises:
        DocumentError: as ``decoded``, or there are more than ``MAX_TAGS`` tags.
    """
    soup = _parsed(decoded(data, where, _declared_encoding(data, where)), where)
    root = soup.find("html")
    found = _LANGUAGE.match(str(root.get("lang", ""))) if root is not None else None
    return Content(list(_blocks(soup)), found[0].lower() if found else "")


def _declared_encoding(data: bytes, where: str) -> str:
    """The encoding a page names in its ``meta`` element; empty where it names none.

    Raises:
        DocumentError: no page is written in that.
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
    # Whoever could read the declaration byte by byte did not read UTF-16 (the HTML standard).
    return "" if name.startswith(("utf-16", "utf-32")) else name


def html_text(markup: str, where: str) -> str:
    """The text of a piece of HTML inside another document.

    Raises:
        DocumentError: as ``read_html``.
    """
    return "\n".join(block.text for block in _blocks(_parsed(markup, where)))


def _parsed(text: str, where: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    text = _closed(_without_comments(text))
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


def _without_comments(text: str) -> str:
    """``text`` up to each comment's start and from its end; one left open goes to the end.

    The parser looks for the end of an open comment again and again: the square of their number.
    """
    pieces, at = [], 0
    while (start := text.find("<!--", at)) >= 0:
        pieces.append(text[at:start])
        end = text.find("-->", start + 2)  # "<!-->" is a whole comment
        if end < 0:
            return "".join(pieces)
        at = end + 3
    return "".join([*pieces, text[at:]])


def _closed(text: str) -> str:
    """``text`` without a tag that the file's end leaves open, as browsers read it.

    The parser tries each of ten thousand open tags up to the end: the square of their number.
    """
    tail = _OPENS_TAG.search(text, text.rfind(">") + 1)
    return text[: tail.start()] if tail else text


def _blocks(soup: BeautifulSoup) -> Iterator[Block]:
    """The page's blocks; ``soup`` may be nested to any depth."""
    pieces: list[str] = []  # of the block being read
    lines: list[str] = []  # of the lists and tables around it
    lists: list[str] = []  # the lists and tables around it
    marker, verbatim, level = "", 0, 0

    def take() -> str:
        text = "".join(pieces)
        pieces.clear()
        if verbatim:
            return text.strip("\n")
        return "\n".join(line for line in map(one_spaced, text.split("\n")) if line)

    for tag, opens in _walk(soup):
        if isinstance(tag, str):
            pieces.append(tag if verbatim else _SPACE.sub(" ", tag))
            continue
        name = tag.name
        if name == "br":
            pieces.append("\n" if opens else "")
        elif name == "img":
            pieces.append(str(tag.get("alt") or "") if opens else "")
        elif name in ("td", "th"):
            pieces.append(" | " if opens and any(piece.strip() for piece in pieces) else "")
        elif name in _HEADINGS or name in _BLOCKS:
            text = take()
            if level and text:
                # Also where a block begins inside it: a heading that is never closed.
                yield from heading(level, text)
                level = 0
            elif text and lists:
                indent = "  " * min(len(lists) - 1, MAX_INDENT)
                lines.append(indent + marker + text)
                marker = ""
            else:
                yield from paragraph(text)
            if name in _HEADINGS:
                level = _HEADINGS[name] if opens else 0
            if name == "pre":
                verbatim += 1 if opens else -1
            if name == "li" and opens:
                marker = "- "
            if name in _GATHERING:
                lists.append(name) if opens else lists.pop()
            if (level or not lists) and lines:
                yield from paragraph("\n".join(lines))
                lines.clear()
    yield from paragraph("\n".join([*lines, take()]))


def _walk(soup: BeautifulSoup) -> Iterator[tuple[Tag | str, bool]]:
    """Each text, and each element twice: (tag, True) where it opens, (tag, False) where it ends.

    Without recursion: the nesting is the page's to choose.
    """
    from bs4.element import NavigableString, PreformattedString, Tag

    stack: list[tuple[Tag, Iterator[object]]] = [(soup, iter(soup.contents))]
    while stack:
        parent, rest = stack[-1]
        child = next(rest, None)
        if child is None:
            stack.pop()
            if stack:
                yield parent, False
        elif isinstance(child, Tag):
            if child.name not in _DROPPED and not child.has_attr("hidden"):
                yield child, True
                stack.append((child, iter(child.contents)))
        elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
            yield str(child), True
