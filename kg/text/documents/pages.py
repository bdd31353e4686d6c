"""From the lines on printed pages to headings and paragraphs.

A page knows where letters stand and nothing of headings or paragraphs, so both are found by rules
that can err; they are these, and no others:

* The entries of the file's outline (bookmarks) are its headings. Each takes the place of the line
  that reads like it on the page it points to, or stands at the top of that page.
* Without an outline, numbered lines are headings, as ``NumberedHeadings`` tells them.
* A first or last line that is but a page number goes, and so does one that (its digits aside)
  stands there on at least half of the pages, when there are four or more: a running head.
* A paragraph ends at a blank line, before a bullet, at the page's end, and where a line ends a
  sentence well before the margin.
* A word parted at a line's end is put together, unless it is written with the hyphen elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kg.text.documents.document import Block, heading, paragraph
from kg.text.documents.numbered import NumberedHeadings
from kg.text.normaliser import normalise
from kg.text.sections.heading import parse_heading

LEAST_PAGES = 4
"""On fewer pages, nothing can be told to be a running head."""
SHORT_LINE = 0.8
"""Of the page's longest line: a sentence that ends before there ends its paragraph."""

_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,7})(?:\s+of\s+\d{1,4})?\W*", re.I)
_DIGITS = re.compile(r"\d+")
_BULLET = re.compile(r"[•◦▪‣●○■–—-] ")
_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")
_PARTED = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_GOES_ON = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


class OutlineEntry(NamedTuple):
    """An entry of a file's outline."""

    level: int
    """1 for the uppermost."""
    title: str
    page: int
    """From 1."""


def blocks_of_pages(pages: Sequence[str], outline: Sequence[OutlineEntry]) -> list[Block]:
    """The blocks of a document.

    Args:
        pages: the text of each page, lines parted by line feeds.
        outline: the file's outline; empty where it has none.
    """
    lines = _without_running_heads(
        [[line.strip() for line in page.translate(_LIGATURES).split("\n")] for page in pages]
    )
    known = {word.casefold() for page in lines for line in page for word in _WORD.findall(line)}
    headings = NumberedHeadings()
    blocks: list[Block] = []
    for number, page in enumerate(lines, 1):
        here = [entry for entry in outline if entry.page == number]
        placed = _placed(page, here) if outline else {}
        width = max(map(len, page), default=0)
        gathered: list[str] = []
        skip = 0
        for at, line in enumerate([*page, ""]):
            entries = placed.get(at, ())
            found = None if outline else headings.take(line, number)
            if entries or found or not line or _BULLET.match(line):
                blocks += paragraph(_joined(gathered, known), number)
                gathered = []
            for entry, length in entries:
                # The page's own words where they bear the number, which outlines often leave out.
                shown = " ".join(page[at : at + length])
                text = shown if parse_heading(shown) else entry.title
                blocks += heading(entry.level, text, number)
                skip = max(skip, length)
            if skip:
                skip -= 1
            elif found:
                blocks.append(found)
            elif line:
                gathered.append(line)
                if _SENTENCE_END.search(line) and len(line) < SHORT_LINE * width:
                    blocks += paragraph(_joined(gathered, known), number)
                    gathered = []
    return blocks


def _placed(
    page: Sequence[str], entries: Sequence[OutlineEntry]
) -> dict[int, list[tuple[OutlineEntry, int]]]:
    """By line, the entries that stand there, each with the number of lines it takes up."""
    placed: dict[int, list[tuple[OutlineEntry, int]]] = {}
    after = 0
    for entry in entries:
        at, length = next(_like(page, entry.title, after), (0, 0))
        placed.setdefault(at, []).append((entry, length))
        after = max(after, at + length)
    return placed


def _like(page: Sequence[str], title: str, after: int) -> Iterator[tuple[int, int]]:
    """Where a line, or two or three together, read like a title."""
    wanted = _bare(title)
    for at in range(after, len(page)) if wanted else ():
        for length in (1, 2, 3):
            if page[at] and _bare(" ".join(page[at : at + length])) == wanted:
                yield at, length


def _bare(text: str) -> str:
    """A title without its number, as outlines and pages do not always agree on numbers."""
    label = parse_heading(text[:1000])
    return normalise(label.title if label and label.title else text[:1000])


def _without_running_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    edges = [
        (filled[0], filled[-1]) if (filled := [line for line in page if line]) else ("", "")
        for page in pages
    ]
    heads = Counter(_DIGITS.sub("#", head) for head, _ in edges)
    feet = Counter(_DIGITS.sub("#", foot) for _, foot in edges)
    enough = max(LEAST_PAGES, len(pages)) / 2

    def runs(line: str, counts: Counter[str]) -> bool:
        return bool(_PAGE_NUMBER.fullmatch(line)) or (
            len(pages) >= LEAST_PAGES and counts[_DIGITS.sub("#", line)] >= enough
        )

    kept = []
    for page, (head, foot) in zip(pages, edges, strict=True):
        lines = list(page)
        # Never a page's only line.
        if head and head != foot and runs(head, heads):
            lines.remove(head)
        if foot and head != foot and runs(foot, feet):
            lines.reverse()
            lines.remove(foot)
            lines.reverse()
        kept.append(lines)
    return kept


def _joined(lines: Sequence[str], known: set[str]) -> str:
    """Lines as one, words that were parted at their ends put together.

    Args:
        lines: none of them empty.
        known: every word that is written on one line anywhere in the document.
    """
    text = ""
    for line in lines:
        parted, rest = _PARTED.search(text[-100:]), _GOES_ON.match(line)
        if not (parted and rest and rest[0].islower()):
            text += f" {line}" if text else line
            continue
        hyphenated = f"{parted[1]}-{rest[0]}".casefold()
        text = (text if hyphenated in known else text[:-1]) + line
    return text
