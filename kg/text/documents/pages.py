"""Converts the lines of printed pages to headings and paragraphs.

Page formats store the position of letters but no headings or paragraphs, so both are found by
heuristic rules:

* The entries of the file's outline (bookmarks) are its headings. Each replaces the line with the
  same text on the page that it points to; if there is no such line, it is put at the top of that
  page.
* Without an outline, numbered lines are headings; see ``NumberedHeadings``.
* The first or last line of a page is removed if it is only a page number, or a running head:
  the same line (ignoring digits) in the same position on at least half of the pages, in a document
  of at least four pages.
* A paragraph ends at a blank line, before a bullet, at the end of the page, and where a sentence
  ends well before the right margin.
* A word hyphenated at the end of a line is joined, unless it occurs with the hyphen elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kg.text.documents.document import Block, make_heading, make_paragraph
from kg.text.documents.numbered_headings import NumberedHeadings
from kg.text.sections.headings import parse_heading
from kg.words.normaliser import normalise_phrase

MIN_PAGES_FOR_RUNNING_HEADS = 4
"""Minimum number of pages for the detection of running heads."""
SHORT_LINE_SHARE = 0.8
"""A sentence also ends its paragraph if its last line is shorter than this share of the page's
longest line."""

_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,7})(?:\s+of\s+\d{1,4})?\W*", re.I)
_DIGITS = re.compile(r"\d+")
_BULLET = re.compile(r"[•◦▪‣●○■–—-] ")
_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")
_HYPHENATED_END = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_WORD_START = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


class OutlineEntry(NamedTuple):
    """An entry of a file's outline."""

    level: int
    """Depth, from 1 for top-level entries."""
    title: str
    page: int
    """Page number, from 1."""


def build_blocks(pages: Sequence[str], outline: Sequence[OutlineEntry]) -> list[Block]:
    """Builds the blocks of a document.

    Args:
        pages: the text of each page, lines separated by line feeds.
        outline: the file's outline; empty if it has none.
    """
    lines = _strip_running_heads(
        [[line.strip() for line in page.translate(_LIGATURES).split("\n")] for page in pages]
    )
    words = {word.casefold() for page in lines for line in page for word in _WORD.findall(line)}
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for number, page in enumerate(lines, 1):
        page_entries = [entry for entry in outline if entry.page == number]
        entries_by_line = _locate_entries(page, page_entries) if outline else {}
        width = max(map(len, page), default=0)
        paragraph: list[str] = []
        lines_to_skip = 0
        # The empty line at the end closes the last paragraph of the page.
        for line_index, line in enumerate([*page, ""]):
            entries = entries_by_line.get(line_index, ())
            heading = None if outline else headings.detect_heading(line, number)
            if entries or heading or not line or _BULLET.match(line):
                blocks += make_paragraph(_join_lines(paragraph, words), number)
                paragraph = []
            for entry, length in entries:
                # Prefer the page's text if it has the section number: outlines often omit it.
                page_text = " ".join(page[line_index : line_index + length])
                text = page_text if parse_heading(page_text) else entry.title
                blocks += make_heading(entry.level, text, number)
                lines_to_skip = max(lines_to_skip, length)
            if lines_to_skip:
                lines_to_skip -= 1
            elif heading:
                blocks.append(heading)
            elif line:
                paragraph.append(line)
                if _SENTENCE_END.search(line) and len(line) < SHORT_LINE_SHARE * width:
                    blocks += make_paragraph(_join_lines(paragraph, words), number)
                    paragraph = []
    return blocks


def _locate_entries(
    page: Sequence[str], entries: Sequence[OutlineEntry]
) -> dict[int, list[tuple[OutlineEntry, int]]]:
    """Returns line index → the outline entries there, each with the number of lines it replaces."""
    entries_by_line: dict[int, list[tuple[OutlineEntry, int]]] = {}
    start = 0
    for entry in entries:
        line_index, length = next(_find_title(page, entry.title, start), (0, 0))
        entries_by_line.setdefault(line_index, []).append((entry, length))
        start = max(start, line_index + length)
    return entries_by_line


def _find_title(page: Sequence[str], title: str, start: int) -> Iterator[tuple[int, int]]:
    """Yields (line index, number of lines) where one to three lines together equal a title."""
    normal_title = _normalise_title(title)
    for line_index in range(start, len(page)) if normal_title else ():
        for length in (1, 2, 3):
            if (
                page[line_index]
                and _normalise_title(" ".join(page[line_index : line_index + length]))
                == normal_title
            ):
                yield line_index, length


def _normalise_title(text: str) -> str:
    """Normalises a title and drops its number, which may differ between outline and page."""
    text = text[:1000]  # limits the work on hostile files
    label = parse_heading(text)
    return normalise_phrase(label.title if label and label.title else text)


def _strip_running_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    """Returns the lines of each page without page numbers and running heads."""
    edges = [
        (nonempty_lines[0], nonempty_lines[-1])
        if (nonempty_lines := [line for line in page if line])
        else ("", "")
        for page in pages
    ]
    heads = Counter(_DIGITS.sub("#", head) for head, _ in edges)
    feet = Counter(_DIGITS.sub("#", foot) for _, foot in edges)
    min_count = max(MIN_PAGES_FOR_RUNNING_HEADS, len(pages)) / 2

    def is_running(line: str, counts: Counter[str]) -> bool:
        return bool(_PAGE_NUMBER.fullmatch(line)) or (
            len(pages) >= MIN_PAGES_FOR_RUNNING_HEADS
            and counts[_DIGITS.sub("#", line)] >= min_count
        )

    stripped_pages = []
    for page, (head, foot) in zip(pages, edges, strict=True):
        lines = list(page)
        # A page's only line (head equals foot) is always kept: it is more likely text.
        if head and head != foot and is_running(head, heads):
            lines.remove(head)
        if foot and head != foot and is_running(foot, feet):
            # `remove` removes the first occurrence, so reverse the lines to remove the last.
            lines.reverse()
            lines.remove(foot)
            lines.reverse()
        stripped_pages.append(lines)
    return stripped_pages


def _join_lines(lines: Sequence[str], words: set[str]) -> str:
    """Joins lines to one, and the two parts of words that are hyphenated at line ends.

    Args:
        lines: the lines; none may be empty.
        words: all words of the document in lower case. A hyphen is kept if the hyphenated word is
            among them.
    """
    text = ""
    for line in lines:
        # Only the last 100 characters are searched, so that long paragraphs take linear time.
        first_part, second_part = _HYPHENATED_END.search(text[-100:]), _WORD_START.match(line)
        if not (first_part and second_part and second_part[0].islower()):
            text += f" {line}" if text else line
            continue
        hyphenated = f"{first_part[1]}-{second_part[0]}".casefold()
        text = (text if hyphenated in words else text[:-1]) + line
    return text
