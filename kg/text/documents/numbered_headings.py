"""Detects headings without markup: lines that begin with a section number."""

from __future__ import annotations

import re

from kg.text.documents.document import Heading
from kg.text.sections.headings import SectionLabel, parse_heading
from kg.words.normaliser import repair_text

MAX_LINE_LENGTH = 100
"""Maximum number of characters in a heading line."""
_SENTENCE_ENDS = (".", ",", ";", ":", "?", "!")
# A number at the end of a line, after a space or the dots of a table of contents.
_FINAL_PAGE_NUMBER = re.compile(r"(?:\s|[.…·_]{2})(?:\d{1,4}|[ivxl]{1,6})$")


class NumberedHeadings:
    """Distinguishes numbered headings from other lines that begin with a number.

    A line is a heading if all of this is true:

    * it begins with a section number followed by a title, or with a word such as *Chapter* and a
      number;
    * it has at most ``MAX_LINE_LENGTH`` characters;
    * its title does not begin with a lower-case letter, nor end in punctuation or in a number, as
      lines of a table of contents do;
    * its number is greater than that of the last heading, and in the same chapter or the next. So
      "1. Open the file" in chapter 3 is not a heading.
    """

    def __init__(self) -> None:
        self._last_parts: tuple[str, ...] = ()

    def detect_heading(self, line: str, page: int | None = None) -> Heading | None:
        """Returns the next line as a heading, or None. Call it for all lines in order."""
        if len(line) > 2 * MAX_LINE_LENGTH:  # saves cleaning lines that are too long anyway
            return None
        text = repair_text(line)
        label = parse_heading(text) if len(text) <= MAX_LINE_LENGTH else None
        if label is None or not _has_title(label, text) or not self._follows_last(label.parts):
            return None
        self._last_parts = label.parts
        return Heading(len(label.parts), text, page)

    def _follows_last(self, parts: tuple[str, ...]) -> bool:
        if not self._last_parts:
            return True
        last_chapter, chapter = self._last_parts[0], parts[0]
        if last_chapter.isdigit() and chapter.isdigit():
            return (
                _make_sort_key(self._last_parts) < _make_sort_key(parts)
                and int(chapter) <= int(last_chapter) + 1
            )
        # Appendices and parts have numberings of their own.
        return chapter != last_chapter or _make_sort_key(self._last_parts) < _make_sort_key(parts)


def _has_title(label: SectionLabel, text: str) -> bool:
    """Whether the rest of a line reads like a title."""
    if not label.title:
        # A word and a number are a heading ("Chapter 3"); a number alone is not ("3." or "IV.").
        return text[0].isalpha() and len(text) > len(label.number) + 2
    first = label.title[0]
    return (
        any(char.isalpha() for char in label.title)
        and not first.islower()
        and not label.title.endswith(_SENTENCE_ENDS)
        and not text.endswith(_SENTENCE_ENDS)
        and not _FINAL_PAGE_NUMBER.search(text)
    )


def _make_sort_key(parts: tuple[str, ...]) -> list[tuple[int, str]]:
    # 1,000 sorts letters after numbers.
    return [(int(part), "") if part.isdigit() else (1_000, part) for part in parts]
