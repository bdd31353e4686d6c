"""Headings that nothing marks as such: lines that bear a section number."""

from __future__ import annotations

import re

from kg.text.documents.document import Heading
from kg.text.normaliser import mend
from kg.text.sections.heading import SectionLabel, parse_heading

MAX_LINE = 100
"""Characters a line may have and still be taken for a heading."""
_ENDS_A_SENTENCE = (".", ",", ";", ":", "?", "!")
_ENDS_IN_A_PAGE = re.compile(r"(?:\s|[.…·_]{2})(?:\d{1,4}|[ivxl]{1,6})$")


class NumberedHeadings:
    """Tells numbered headings from lines that merely begin with a number.

    A line is a heading when it bears a section number followed by a title (or a word such as
    *Chapter* before it), is at most ``MAX_LINE`` characters long, its title begins with no small
    letter and ends in no punctuation and no number of its own, as lines of a table of contents do;
    and when the numbers rise: it comes after the last heading found, and in the same chapter or
    the next. So "1. Open the file" in chapter 3 is none.
    """

    def __init__(self) -> None:
        self._last: tuple[str, ...] = ()

    def take(self, line: str, page: int | None = None) -> Heading | None:
        """The heading that the next line is, or None."""
        if len(line) > 2 * MAX_LINE:  # spares mending what is long
            return None
        text = mend(line)
        label = parse_heading(text) if len(text) <= MAX_LINE else None
        if label is None or not _is_titled(label, text) or not self._follows(label.parts):
            return None
        self._last = label.parts
        return Heading(len(label.parts), text, page)

    def _follows(self, parts: tuple[str, ...]) -> bool:
        if not self._last:
            return True
        before, now = self._last[0], parts[0]
        if before.isdigit() and now.isdigit():
            return _order(self._last) < _order(parts) and int(now) <= int(before) + 1
        # Appendices and parts are counted by themselves.
        return now != before or _order(self._last) < _order(parts)


def _is_titled(label: SectionLabel, text: str) -> bool:
    """Whether the rest of a line reads like a title."""
    if not label.title:
        return text[0].isalpha() and len(text) > len(label.written) + 2  # "Chapter 3"
    first = label.title[0]
    return (
        any(char.isalpha() for char in label.title)
        and not first.islower()
        and not label.title.endswith(_ENDS_A_SENTENCE)
        and not text.endswith(_ENDS_A_SENTENCE)
        and not _ENDS_IN_A_PAGE.search(text)
    )


def _order(parts: tuple[str, ...]) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (1_000, part) for part in parts]
