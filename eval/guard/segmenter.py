"""Cuts a stream of text into sentences as it arrives.

Decimals, abbreviations, initials, web addresses, list numbers, ellipses and quotations do not end a
sentence. Where the end is ambiguous nothing is cut: two claims in one segment are split later (by
``splitter``), while half a claim could pass for another claim. Every decision depends only on the
text of the segment and the ``LOOKAHEAD`` characters after it, so that the segments do not depend on
how the text was chunked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kg.base.plain_text import list_words

LOOKAHEAD = 32
"""Number of characters to wait for after a possible end."""
MAX_SEGMENT_LENGTH = 1_000
"""Maximum length in characters; a longer segment is cut anyway, so that memory stays bounded."""

_ENDS = ".!?…。！？"
_UNSPACED_ENDS = "。！？"
_OPEN, _CLOSE = "“„«「", "”»」"
# A character at which a segment may end, or a quotation may begin or end.
_STOP = re.compile(rf"[{_ENDS}\n\"{_OPEN}{_CLOSE}]")
# Characters that may follow the end of a sentence and belong to it.
_CLOSERS = frozenset("\"'’”»」)]}*_`") | frozenset(_ENDS)
# The word at the end of a text; a number with its unit ("5 km"); the first word of a text.
_WORD_BEFORE = re.compile(r"[^\s\"'“„«(\[*_]*$")
_NUMBER_BEFORE = re.compile(r"\d\s?[^\W\d_]+$")
_WORD_AFTER = re.compile(r"\W*(?P<word>\w*)")
# Headings, list items, quoted lines and table rows end the sentence before them.
_LINE_START = re.compile(r"\n[ \t]*(?:\n|[-*•+][ \t]|\d{1,3}[.)][ \t]|[#>|])")
_HEADING = re.compile(r"[ \t\n]*#")

_TITLES = frozenset(
    list_words("dr mr mrs ms prof st mt ft rev gen col capt lt sgt sr fr hon pres gov vs ed eds "
               "e.g i.e cf viz ca approx al resp incl esp op")
)  # fmt: skip
"""Abbreviations after which a sentence continues."""
_COUNTERS = frozenset(list_words("no nos fig figs vol vols p pp ch sec art"))
"""Abbreviations after which a sentence continues if a number follows."""
_AMBIGUOUS = frozenset(
    list_words("etc inc ltd co corp jr u.s u.k u.n u.s.a e.u a.m p.m sq cu "
             "jan feb mar apr jun jul aug sep sept oct nov dec d.c b.c a.d c.e dept est")
)  # fmt: skip
"""Abbreviations that may also end a sentence; it ends if one of ``_OPENERS`` follows."""
_UNITS = frozenset(list_words("km m mi cm mm kg ft hr min sec h"))
"""Units; after a number these end a sentence if a capital follows."""
# Words that often begin a sentence.
_OPENERS = frozenset(
    list_words("the a an it its this that these those he she they we i you there here in on at by "
             "from for as if when while although however but and so thus therefore moreover "
             "furthermore also another both each every some most all no not yes finally first "
             "second next then its their his her our my")
)  # fmt: skip


class Segment(NamedTuple):
    """A part of the stream; all segments concatenated are the stream."""

    text: str
    start: int
    """Offset of the segment in the stream, in characters."""
    forced: bool = False
    """Whether this segment or the one before it was cut because it was too long, or the text breaks
    off in it."""


class Segmenter:
    """Cuts chunks of text into segments."""

    def __init__(self) -> None:
        # The text not yet cut, its offset in the stream, and the position in it to search from.
        self._text = ""
        self._start = 0
        self._position = 0
        self._quote_depth = 0
        self._in_straight_quotes = False
        self._was_forced = False

    def feed(self, chunk: str) -> Iterator[Segment]:
        """Takes a chunk and yields the segments that are now complete."""
        # A long chunk is processed in parts, so that the buffer does not grow with it.
        for start in range(0, len(chunk), MAX_SEGMENT_LENGTH):
            self._text += chunk[start : start + MAX_SEGMENT_LENGTH]
            yield from self._pop_complete_segments(final=False)

    def close(self) -> Iterator[Segment]:
        """Ends the stream and yields the remaining segments."""
        yield from self._pop_complete_segments(final=True)
        if self._text:
            yield self._pop_segment(len(self._text), forced=False)

    def _pop_complete_segments(self, *, final: bool) -> Iterator[Segment]:
        while True:
            cut = self._find_next_cut(final=final)
            if cut is not None:
                yield self._pop_segment(cut, forced=False)
            elif (
                len(self._text) >= MAX_SEGMENT_LENGTH + LOOKAHEAD
                and self._position + LOOKAHEAD >= MAX_SEGMENT_LENGTH
            ):
                # Cut at a space in the second half if there is one, else at the maximum length.
                space = self._text.rfind(" ", MAX_SEGMENT_LENGTH // 2, MAX_SEGMENT_LENGTH)
                yield self._pop_segment(space if space > 0 else MAX_SEGMENT_LENGTH, forced=True)
            else:
                return

    def _pop_segment(self, size: int, *, forced: bool) -> Segment:
        segment = Segment(self._text[:size], self._start, forced or self._was_forced)
        self._text = self._text[size:]
        self._start += size
        self._position, self._was_forced = 0, forced
        if not forced:
            self._quote_depth, self._in_straight_quotes = 0, False
        return segment

    def _find_next_cut(self, *, final: bool) -> int | None:
        """Returns the end of the buffer's first segment, or None if it cannot be decided yet."""
        text = self._text
        while True:
            stop = _STOP.search(text, self._position, min(len(text), MAX_SEGMENT_LENGTH))
            if stop is None:
                self._position = min(len(text), MAX_SEGMENT_LENGTH)
                return None
            position = stop.start()
            if position + LOOKAHEAD >= len(text) and not final:
                self._position = position
                return None
            cut = self._find_cut_at(text, position)
            if cut is not None:
                return cut if cut < len(text) else None

    def _find_cut_at(self, text: str, position: int) -> int | None:
        """Returns the end of a segment that ends at this character; if none does, skips it."""
        char = text[position]
        self._position = position + 1
        if char == "\n":
            lookahead = text[position : position + LOOKAHEAD]
            is_paragraph_end = re.match(r"\n[ \t]*\n", lookahead) is not None
            if is_paragraph_end or (
                (_LINE_START.match(lookahead) or _HEADING.match(text)) and position
            ):
                return position + 1
            return None
        if char == '"':
            # After a digit the mark means inches.
            if position and not text[position - 1].isdigit():
                self._in_straight_quotes = not self._in_straight_quotes
            elif not position:
                self._in_straight_quotes = True
            return None
        if char in _OPEN or char in _CLOSE:
            self._quote_depth = max(0, self._quote_depth + (1 if char in _OPEN else -1))
            return None
        return self._find_sentence_end(text, position)

    def _find_sentence_end(self, text: str, position: int) -> int | None:
        limit = min(len(text), position + LOOKAHEAD)
        end, quote_depth, in_straight_quotes = position, self._quote_depth, self._in_straight_quotes
        while end < limit and text[end] in _CLOSERS:
            quote_depth -= text[end] in _CLOSE
            in_straight_quotes ^= text[end] == '"'
            end += 1
        self._position = position + 1
        lookahead = text[end:limit]
        if quote_depth > 0 or in_straight_quotes:
            return None
        if not lookahead:
            return end
        if not lookahead[0].isspace():
            return end if text[position] in _UNSPACED_ENDS else None
        following = lookahead.lstrip()
        if following[:1].islower():
            return None
        if text[position] == "." and self._sentence_continues(text[:position], following):
            return None
        return end

    def _sentence_continues(self, before: str, following: str) -> bool:
        """Returns whether a full stop belongs to the word before it, so the sentence continues."""
        last_word = _WORD_BEFORE.search(before[-LOOKAHEAD:])
        word = last_word.group().lower() if last_word else ""
        next_word = _WORD_AFTER.match(following)
        opens_sentence = next_word is not None and next_word["word"].lower() in _OPENERS
        if word in _UNITS and _NUMBER_BEFORE.search(before[-LOOKAHEAD:]):
            return False
        if word in _COUNTERS:
            return following[:1].isdigit()
        if word in _TITLES:
            return True
        if word.isdigit() and len(word) <= 3 and not before[: -len(word)].strip(" \t\n#*-"):
            return True  # "1. The Rhine …": the number of a list item.
        is_initial = len(word) == 1 and word.isalpha()
        return (word in _AMBIGUOUS or is_initial or "." in word) and not opens_sentence
