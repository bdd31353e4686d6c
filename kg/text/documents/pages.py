"""Converts the lines of printed pages to headings and paragraphs.

Page formats store the position and size of letters but no headings or paragraphs, so both are found
by rules about the layout:

* The entries of the file's outline (bookmarks) are its headings. Each replaces the line with the
  same text on the page that it points to; if there is no such line, it is put at the top of that
  page.
* Without an outline, lines in larger letters than the text are headings, and lines of the same size
  that follow each other are one. Without these either, numbered lines are headings; see
  ``NumberedHeadings``.
* Running heads and feet are removed; see ``running_heads``.
* Lines of a table of contents (dots before a page number) are removed.
* A paragraph ends at a blank line, before a bullet, at the end of the page, and where a sentence
  ends well before the right margin.
* A word hyphenated at the end of a line is joined, unless it occurs with the hyphen elsewhere.
* Monospaced lines are code, unless they are half of the document; see ``_find_code_lines``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from kg.text.documents.document import Block, make_heading, make_paragraph
from kg.text.documents.numbered_headings import NumberedHeadings
from kg.text.documents.running_heads import PageLine, strip_running_heads
from kg.text.sections.headings import parse_heading
from kg.words.normaliser import normalise_phrase

MIN_HEADING_RATIO = 1.15
"""Size of the letters of a heading, in sizes of the text."""
MIN_SIZED_HEADINGS = 3
"""Minimum number of headings by size; fewer may be a title and a decoration."""
MAX_HEADING_LINE_LENGTH = 120
"""Maximum number of characters in a line of a heading."""
MAX_LINE_DISTANCE = 1.7
"""Maximum distance between lines of one heading, in sizes of its letters."""
SHORT_LINE_SHARE = 0.8
"""A sentence also ends its paragraph if its last line is shorter than this share of the page's
longest line."""

_CONTENTS_LINE = re.compile(r"(?:\. ?){4,}\s*(?:\d{1,4}|[ivxl]{1,6})$")
MAX_LEVEL = 6
"""Lowest level of a heading by its size."""
_LETTERS = re.compile(r"[^\W\d_]{2}")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_BULLET = re.compile(r"[•◦▪‣●○■–—-] ")
_PROSE_OR_TERM = re.compile(r"[.,]$|[.] [A-Z]|^\S*$|^[•◦▪‣●○■] ")
"""A single monospaced line that is no code: the end of a sentence, a term or an item."""
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


def build_blocks(
    pages: Sequence[Sequence[PageLine]], outline: Sequence[OutlineEntry]
) -> list[Block]:
    """Builds the blocks of a document.

    Args:
        pages: the lines of each page, in the order of the text.
        outline: the file's outline; empty if it has none.
    """
    pages = strip_running_heads(
        [
            [line._replace(text=line.text.translate(_LIGATURES).strip()) for line in page]
            for page in pages
        ]
    )
    pages = [[line for line in page if not _CONTENTS_LINE.search(line.text)] for page in pages]
    words = {
        word.casefold() for page in pages for line in page for word in _WORD.findall(line.text)
    }
    levels = {} if outline else _find_heading_sizes(pages)
    n_monospaced = sum(line.is_monospaced is True for page in pages for line in page)
    has_code = 2 * n_monospaced < sum(map(len, pages))
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for number, page in enumerate(pages, 1):
        texts = [line.text for line in page]
        page_entries = [entry for entry in outline if entry.page == number]
        entries_by_line = _locate_entries(texts, page_entries) if outline else {}
        width = max(map(len, texts), default=0)
        code = _find_code_lines(page) if has_code else set()
        paragraph: list[str] = []
        paragraph_is_code = False
        lines_to_skip = 0
        # The empty line at the end closes the last paragraph of the page.
        for line_index, line in enumerate([*texts, ""]):
            entries = entries_by_line.get(line_index, ())
            heading = None
            length = 0
            if levels and line and not lines_to_skip:
                length = _count_heading_lines(page, line_index, levels)
            elif not outline and not levels:
                heading = headings.detect_heading(line, number)
            is_code = line_index in code
            begins_block = bool(entries or heading or length or not line)
            begins_item = not is_code and _BULLET.match(line) is not None
            if begins_block or begins_item or is_code != paragraph_is_code:
                text = _join_paragraph(paragraph, words, is_code=paragraph_is_code)
                blocks += make_paragraph(text, number, is_code=paragraph_is_code)
                paragraph = []
                paragraph_is_code = is_code
            if length:
                text = _join_lines(texts[line_index : line_index + length], words)
                blocks += make_heading(levels[page[line_index].size], text, number)
                lines_to_skip = length
            for entry, entry_length in entries:
                # Prefer the page's text if it has the section number: outlines often omit it.
                page_text = " ".join(texts[line_index : line_index + entry_length])
                text = page_text if parse_heading(page_text) else entry.title
                blocks += make_heading(entry.level, text, number)
                lines_to_skip = max(lines_to_skip, entry_length)
            if lines_to_skip:
                lines_to_skip -= 1
            elif heading:
                blocks.append(heading)
            elif line:
                paragraph.append(line)
                is_short = len(line) < SHORT_LINE_SHARE * width
                if not is_code and is_short and _SENTENCE_END.search(line):
                    blocks += make_paragraph(_join_lines(paragraph, words), number)
                    paragraph = []
    return blocks


def _find_code_lines(page: Sequence[PageLine]) -> set[int]:
    """Returns the positions of lines of code: two or more monospaced ones, or one as a paragraph.

    A single line may also belong to a sentence that has names of programs only there, or be a term
    that is explained. Lines that do not tell whether they are monospaced ("}", "end") belong to the
    run that they touch; at its beginning, not if they may end a sentence before it.
    """
    code: set[int] = set()
    start = 0
    for is_other, lines in groupby(page, lambda line: line.is_monospaced is False):
        run = [*lines]
        end = start + len(run)
        while run and start and run[0].is_monospaced is None and _begins_inside(page, start):
            del run[0]
            start += 1
        monospaced = [] if is_other else [line for line in run if line.is_monospaced]
        if len(monospaced) > 1 or (
            monospaced
            and not _PROSE_OR_TERM.search(monospaced[0].text)
            and (start == 0 or _SENTENCE_END.search(page[start - 1].text))
        ):
            code.update(range(start, end))
        start = end
    return code


def _begins_inside(page: Sequence[PageLine], position: int) -> bool:
    """Whether a line has letters or digits and the line before it does not end a sentence."""
    is_word = _LETTER_OR_DIGIT.search(page[position].text) is not None
    return is_word and not _SENTENCE_END.search(page[position - 1].text)


def _find_heading_sizes(pages: Sequence[Sequence[PageLine]]) -> dict[float, int]:
    """Returns size → level of the sizes in which headings are set; empty if there are too few."""
    characters: Counter[float] = Counter()
    for page in pages:
        for line in page:
            characters[line.size] += len(line.text)
    if not characters:
        return {}
    text_size = max(characters, key=lambda size: (characters[size], size))
    lines: Counter[float] = Counter()
    for page in pages:
        for line in page:
            if (
                text_size
                and line.size >= MIN_HEADING_RATIO * text_size
                and len(line.text) <= MAX_HEADING_LINE_LENGTH
                and _LETTERS.search(line.text)
            ):
                lines[line.size] += 1
    if lines.total() < MIN_SIZED_HEADINGS:
        return {}
    return {
        size: min(level, MAX_LEVEL) for level, size in enumerate(sorted(lines, reverse=True), 1)
    }


def _count_heading_lines(page: Sequence[PageLine], start: int, levels: Mapping[float, int]) -> int:
    """Returns the number of lines of the heading that begins at a line; 0 if none begins there."""
    length = 0
    for line in page[start:]:
        previous = page[start + length - 1] if length else line
        if (
            line.size not in levels
            or line.size != page[start].size
            or len(line.text) > MAX_HEADING_LINE_LENGTH
            or abs(previous.y - line.y) > MAX_LINE_DISTANCE * line.size
            or (length and parse_heading(line.text) is not None)
        ):
            break
        length += 1
    has_letters = any(_LETTERS.search(line.text) for line in page[start : start + length])
    return length if has_letters else 0


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


def _join_paragraph(lines: Sequence[str], words: set[str], *, is_code: bool) -> str:
    return "\n".join(lines) if is_code else _join_lines(lines, words)


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
