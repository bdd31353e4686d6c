"""Cuts a stream of text into sentences as it arrives, never where a sentence goes on.

Decimals, abbreviations, initials, addresses of the web, list numbers, ellipses and quotations do
not end a sentence. Where it is ambiguous nothing is cut: two claims in one piece are taken apart
later (``splitting``), while half a claim could pass for another. Every decision rests on the text
of the piece and ``LOOKAHEAD`` characters behind the place, so that the pieces are the same however
the text was chunked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kg.words.plain_text import words_of

LOOKAHEAD = 32
"""Characters behind a possible end that are waited for."""
MAX_PIECE = 1_000
"""Characters a piece may have; a longer one is cut by force, so that memory stays bounded."""

_ENDS = ".!?…。！？"
_UNSPACED_ENDS = "。！？"
_OPEN, _CLOSE = "“„«「", "”»」"
_STOP = re.compile(rf"[{_ENDS}\n\"{_OPEN}{_CLOSE}]")
_CLOSERS = frozenset("\"'’”»」)]}*_`") | frozenset(_ENDS)
_WORD_BEFORE = re.compile(r"[^\s\"'“„«(\[*_]*$")
_NUMBER_BEFORE = re.compile(r"\d\s?[^\W\d_]+$")
_WORD_AFTER = re.compile(r"\W*(?P<word>\w*)")
# Headings, list items, quoted lines and tables begin anew on their line.
_LINE_START = re.compile(r"\n[ \t]*(?:\n|[-*•+][ \t]|\d{1,3}[.)][ \t]|[#>|])")
_HEADING = re.compile(r"[ \t\n]*#")

_TITLES = frozenset(
    words_of("dr mr mrs ms prof st mt ft rev gen col capt lt sgt sr fr hon pres gov vs ed eds e.g "
             "i.e cf viz ca approx al resp incl esp op")
)  # fmt: skip
"""Abbreviations behind which a sentence goes on."""
_COUNTERS = frozenset(words_of("no nos fig figs vol vols p pp ch sec art"))
"""Abbreviations behind which a sentence goes on with a number."""
_AMBIGUOUS = frozenset(
    words_of("etc inc ltd co corp jr u.s u.k u.n u.s.a e.u a.m p.m sq cu "
             "jan feb mar apr jun jul aug sep sept oct nov dec d.c b.c a.d c.e dept est")
)  # fmt: skip
"""Abbreviations that may end a sentence as well: it ends where an opening word follows."""
_UNITS = frozenset(words_of("km m mi cm mm kg ft hr min sec h"))
"""Behind a number these end a sentence when a capital follows."""
_OPENERS = frozenset(
    words_of("the a an it its this that these those he she they we i you there here in on at by "
             "from for as if when while although however but and so thus therefore moreover "
             "furthermore also another both each every some most all no not yes finally first "
             "second next then its their his her our my")
)  # fmt: skip


class Piece(NamedTuple):
    """A stretch of the stream; all pieces together are the stream."""

    text: str
    start: int
    """Where it begins in the stream, in characters."""
    forced: bool = False
    """It, or the piece before it, was cut because it grew too long."""


class Cutter:
    """Takes chunks and gives pieces."""

    def __init__(self) -> None:
        self._text = ""
        self._start = 0
        self._at = 0
        self._quotes = 0
        self._straight = False
        self._forced = False

    def feed(self, chunk: str) -> Iterator[Piece]:
        """Takes a chunk; yields the pieces that are complete now."""
        # A chunk of megabytes is taken in parts: what is held never grows with it.
        for at in range(0, len(chunk), MAX_PIECE):
            self._text += chunk[at : at + MAX_PIECE]
            yield from self._complete(final=False)

    def close(self) -> Iterator[Piece]:
        """Yields what is left when the stream has ended."""
        yield from self._complete(final=True)
        if self._text:
            yield self._take(len(self._text), forced=False)

    def _complete(self, *, final: bool) -> Iterator[Piece]:
        while True:
            cut = self._next_cut(final=final)
            if cut is not None:
                yield self._take(cut, forced=False)
            elif len(self._text) >= MAX_PIECE + LOOKAHEAD and self._at + LOOKAHEAD >= MAX_PIECE:
                # At a space where there is one in the second half, else where it is.
                space = self._text.rfind(" ", MAX_PIECE // 2, MAX_PIECE)
                yield self._take(space if space > 0 else MAX_PIECE, forced=True)
            else:
                return

    def _take(self, size: int, *, forced: bool) -> Piece:
        piece = Piece(self._text[:size], self._start, forced or self._forced)
        self._text = self._text[size:]
        self._start += size
        self._at, self._forced = 0, forced
        if not forced:
            self._quotes, self._straight = 0, False
        return piece

    def _next_cut(self, *, final: bool) -> int | None:
        """Where the first piece of the buffer ends, as far as can be told."""
        text = self._text
        while True:
            found = _STOP.search(text, self._at, min(len(text), MAX_PIECE))
            if found is None:
                self._at = min(len(text), MAX_PIECE)
                return None
            at = found.start()
            if at + LOOKAHEAD >= len(text) and not final:
                self._at = at
                return None
            cut = self._judge(text, at)
            if cut is not None:
                return cut if cut < len(text) else None

    def _judge(self, text: str, at: int) -> int | None:
        """Whether a piece ends at this character; moves on behind it when not."""
        char = text[at]
        self._at = at + 1
        if char == "\n":
            window = text[at : at + LOOKAHEAD]
            paragraph = re.match(r"\n[ \t]*\n", window) is not None
            if paragraph or ((_LINE_START.match(window) or _HEADING.match(text)) and at):
                return at + 1
            return None
        if char == '"':
            # Behind a digit it is an inch.
            if at and not text[at - 1].isdigit():
                self._straight = not self._straight
            elif not at:
                self._straight = True
            return None
        if char in _OPEN or char in _CLOSE:
            self._quotes = max(0, self._quotes + (1 if char in _OPEN else -1))
            return None
        return self._sentence_end(text, at)

    def _sentence_end(self, text: str, at: int) -> int | None:
        limit = min(len(text), at + LOOKAHEAD)
        end, quotes, straight = at, self._quotes, self._straight
        while end < limit and text[end] in _CLOSERS:
            quotes -= text[end] in _CLOSE
            straight ^= text[end] == '"'
            end += 1
        self._at = at + 1
        after = text[end:limit]
        if quotes > 0 or straight:
            return None
        if not after:
            return end
        if not after[0].isspace():
            return end if text[at] in _UNSPACED_ENDS else None
        following = after.lstrip()
        if following[:1].islower():
            return None
        if text[at] == "." and self._goes_on(text[:at], following):
            return None
        return end

    def _goes_on(self, before: str, following: str) -> bool:
        """Whether a full stop belongs to the word before it, and the sentence goes on."""
        found = _WORD_BEFORE.search(before[-LOOKAHEAD:])
        word = found.group().lower() if found else ""
        after = _WORD_AFTER.match(following)
        opens = after is not None and after["word"].lower() in _OPENERS
        if word in _UNITS and _NUMBER_BEFORE.search(before[-LOOKAHEAD:]):
            return False
        if word in _COUNTERS:
            return following[:1].isdigit()
        if word in _TITLES:
            return True
        if word.isdigit() and len(word) <= 3 and not before[: -len(word)].strip(" \t\n#*-"):
            return True  # "1. The Rhine …": the number of a list item.
        initial = len(word) == 1 and word.isalpha()
        return (word in _AMBIGUOUS or initial or "." in word) and not opens
