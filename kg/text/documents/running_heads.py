"""Removes page numbers, running heads and feet from printed pages, by their place on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MIN_PAGES = 4
"""Minimum number of pages for the detection of running heads."""
MIN_PLACE_SHARE = 0.3
"""Minimum share of the pages whose outermost line is in the place of a running head."""
MIN_GAP = 1.8
"""Minimum distance of a running head from the text, in sizes of its letters."""
MAX_SIZE_RATIO = 1.15
"""Lines in larger letters, in sizes of the text, are titles (of slides) rather than heads."""
MAX_HEAD_LINES = 3
"""Maximum number of lines of a running head that are removed from one edge of a page."""

# The signs around a page number are never those of a sum, a share or the end of a sentence.
_SIGNS = r"[\s()\[\]<>|/~*•·–—-]*"
_PAGE_NUMBER = re.compile(
    rf"{_SIGNS}(?:page\s+)?(\d{{1,4}}|[ivxl]{{1,7}})(?:\s+of\s+\d{{1,4}})?{_SIGNS}", re.IGNORECASE
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")


class PageLine(NamedTuple):
    """A line of a page."""

    text: str
    size: float = 0.0
    """Size of most of its letters in points; 0 if unknown."""
    y: float = 0.0
    """Height of its base line above the lower edge of the page, in points."""
    is_monospaced: bool | None = False
    """Whether its letters have one width, as in programs; ``None`` if they do not tell."""


def strip_running_heads(pages: Sequence[Sequence[PageLine]]) -> list[list[PageLine]]:
    """Returns the lines of each page without page numbers, running heads and feet.

    The outermost line at the upper or lower edge of a page is removed if it is a page number: one
    that is apart from the text, or follows those of the pages around it. At most one is removed
    from each edge. In files of at least ``MIN_PAGES`` pages, the line is also removed if it is in
    at least half of the pages, ignoring words without a letter, the digits of others and their
    order if it has a letter; or if it stands in the same place as the outermost line of at least
    ``MIN_PLACE_SHARE`` of the pages, apart from the text. So heads that change with every chapter
    or section are found, too. A page's only line is always kept.
    """
    stripped = [list(page) for page in pages]
    numbers_of_edge: dict[bool, dict[int, int]] = {True: {}, False: {}}
    for _ in range(MAX_HEAD_LINES):
        removed = False
        for is_upper, numbers in numbers_of_edge.items():
            removed |= _strip_outer_lines(stripped, numbers, is_upper=is_upper)
        if not removed:
            break
    return stripped


def _strip_outer_lines(
    pages: list[list[PageLine]], removed_numbers: dict[int, int], *, is_upper: bool
) -> bool:
    """Removes running heads, one line per page, at one edge; returns whether there were any.

    Args:
        pages: the lines of each page.
        removed_numbers: position of a page → the page number that was removed at this edge.
        is_upper: which edge.
    """
    edges = [_find_edge(page, is_upper=is_upper) for page in pages]
    n_pages = max(MIN_PAGES, sum(edge is not None for edge in edges))
    texts = Counter(_get_pattern(edge[0].text) for edge in edges if edge)
    numbers = {
        page: number
        for page, edge in enumerate(edges)
        if edge and (number := _read_page_number(edge[0].text)) is not None
    } | removed_numbers
    # A head is set apart on most of its pages; the first line of the text is so on few.
    places = Counter(round(edge[0].y) for edge in edges if edge and edge[1])
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    text_size = max(sizes, key=lambda size: (sizes[size], size), default=0.0)
    removed = False
    for position, (page, edge) in enumerate(zip(pages, edges, strict=True)):
        if edge is None:
            continue
        line, is_apart = edge
        number = None if position in removed_numbers else numbers.get(position)
        # Numbers may be only on every other page.
        is_number = number is not None and (
            is_apart
            or any(numbers.get(position + step) == number + step for step in (-2, -1, 1, 2))
        )
        place = round(line.y)
        in_place = sum(places[y] for y in (place - 1, place, place + 1))
        if (
            is_number
            or (len(pages) >= MIN_PAGES and texts[_get_pattern(line.text)] >= n_pages / 2)
            or (
                len(pages) >= MIN_PAGES
                and is_apart
                and 0 < line.size <= MAX_SIZE_RATIO * text_size
                and in_place >= MIN_PLACE_SHARE * n_pages
            )
        ):
            # Files draw heads anywhere in the order of the text.
            page.remove(line)
            removed = True
            if number is not None:
                removed_numbers[position] = number
    return removed


def _get_pattern(text: str) -> str:
    """Returns what a running head has on every page: its words without digits, if it has any.

    They are sorted, since the page number stands on the left of one page and the right of the next.
    """
    words = [_DIGITS.sub("#", word) for word in text.split() if _LETTER.search(word)]
    return " ".join(sorted(words)) or text


def _read_page_number(text: str) -> int | None:
    """Returns the number of a page; None if the line is none."""
    match = _PAGE_NUMBER.fullmatch(text)
    if match is None:
        return None
    if match[1].isdecimal():
        return int(match[1])
    values = [_ROMAN[sign] for sign in match[1].lower()]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _find_edge(page: Sequence[PageLine], *, is_upper: bool) -> tuple[PageLine, bool] | None:
    """Returns the outermost line of a page, and whether it is apart from the next one.

    Without positions, it is the first or last line of the text.
    """
    lines = [line for line in page if line.text]
    if len({line.text for line in lines}) < 2:
        return None
    if not all(line.size for line in lines):
        return lines[0 if is_upper else -1], False
    sign = -1 if is_upper else 1
    outer = min(lines, key=lambda line: sign * line.y)
    # Parts of one line of print may be lines of the text, such as a title and the page number.
    others = [line for line in lines if abs(line.y - outer.y) > 2]
    gap = min((abs(line.y - outer.y) for line in others), default=0.0)
    return outer, gap >= MIN_GAP * max(outer.size, 8.0)
