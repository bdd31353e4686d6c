"""Collects the text of one paragraph, in which parts may be set above the line or struck out."""

from __future__ import annotations

import re

MAX_SUPERSCRIPT_LENGTH = 30
"""Maximum number of characters of an exponent or a note mark; longer superscripts are text."""

STRUCK_OUT = frozenset({"s", "del", "strike"})
"""Tags of text that is struck out, which the author no longer states."""
SUPERSCRIPT = "sup"
"""Tag of text above the line."""
NOTE_LINK = "a"
"""Tag of a link to a place of a page; a superscript in which it is, or that it begins with, marks a
note."""

# [3], [a][b], [citation needed], "1, 2", and signs that mark nothing but notes.
_NOTE_MARK = re.compile(r"(?:\[[^\[\]]*\][\s,;]*)+|\d{1,3}(?:\s?[,;]\s?\d{1,3})+|[†‡§¶‖]+")
_NUMBER = re.compile(r"\d+")
_SENTENCE_MARKS = frozenset(".,;:!?…\"'”’»")
# Endings of ordinal numbers and abbreviations (1st, 2e, Mme), and what has neither a letter nor a
# digit (A*, Na+, ™).
_ENDING = re.compile(r"[^\W\d_]{2,}|[aeo]|[\W_]+")
_SIMPLE_EXPONENT = re.compile(r"[+−–-]?[\w.]+[+−–-]?")


def format_superscript(text: str, before: str) -> str:
    """Returns how a superscript is written in plain text; empty for the mark of a note.

    2 and a superscript of 32 become ``2^32``, and n+1 becomes ``^(n+1)``. Endings such as "st" are
    part of their word. A number after the end of a sentence or clause marks a note.

    Args:
        text: the superscript.
        before: the text before it.
    """
    text = " ".join(text.split())
    last = before[-1:]
    if len(text) > MAX_SUPERSCRIPT_LENGTH:
        return text
    if _NOTE_MARK.fullmatch(text) or (last in _SENTENCE_MARKS and _NUMBER.fullmatch(text)):
        return ""
    is_exponent = last.isalnum() or last in {")", "]", "}"}
    if not text or not is_exponent or _ENDING.fullmatch(text):
        return text
    return f"^{text}" if _SIMPLE_EXPONENT.fullmatch(text) else f"^({text})"


class InlineText:
    """The text of the current paragraph.

    Attributes:
        is_blank: whether nothing but white space was added.
    """

    def __init__(self) -> None:
        self.is_blank = True
        self._pieces: list[str] = []  # none is empty
        self._starts: dict[str, int] = {}  # tag → number of pieces before it, of open tags
        self._is_note = False  # whether the open superscript marks a note

    def add(self, text: str) -> None:
        """Adds a piece at the end."""
        if text:
            self._pieces.append(text)
            self.is_blank = self.is_blank and text.isspace()

    def open_tag(self, name: str) -> None:
        """Begins such a part of the text or ``NOTE_LINK``; other tags are ignored."""
        position = len(self._pieces)
        self._is_note |= (name == NOTE_LINK and SUPERSCRIPT in self._starts) or (
            name == SUPERSCRIPT and self._starts.get(NOTE_LINK) == position
        )
        if name in STRUCK_OUT or name in (SUPERSCRIPT, NOTE_LINK):
            self._starts.setdefault(name, position)

    def close_tag(self, name: str) -> None:
        """Ends the part; what was never opened, or is never closed, has no effect."""
        start = self._starts.pop(name, None)
        if start is None or name == NOTE_LINK:
            return
        text = "".join(self._pieces[start:])
        del self._pieces[start:]
        is_note = self._is_note and len(text) <= MAX_SUPERSCRIPT_LENGTH
        if name == SUPERSCRIPT and not is_note:
            self.add(format_superscript(text, self._pieces[-1] if self._pieces else ""))
        self._is_note = False

    def take(self) -> str:
        """Returns the text and begins the next paragraph."""
        text = "".join(self._pieces)
        self._pieces, self._starts, self.is_blank, self._is_note = [], {}, True, False
        return text
