"""A text as the rules look at it: its words by stem, its lines, and what has a form in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from eval.extraction.baseline.spans import Span, spans_of
from kg.text.normaliser import stem

MAX_CHARS: Final = 50_000
"""Characters of a text that are read."""

WORD: Final = re.compile(r"[^\W_]+")
_BREAK: Final = re.compile(r"[.!?;]\s|\n")
_NO: Final = re.compile(
    r"\b(?:no|not|never|none|without|neither|nor|nobody|nothing|cannot|\w+n['\u2019]t|free of|"
    r"kein\w*|nicht|ohne|nie|pas|sans|aucun\w*|jamais|sin|nunca|ning\w*)\b",
    re.IGNORECASE,
)
NEAR: Final = 12
"""Words a cue may stand away from what it points at."""


class Reading:
    """One stretch of a text.

    Args:
        text: of it.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:MAX_CHARS]
        self._starts: list[int] = []
        self._stems: dict[str, list[int]] = {}
        for number, match in enumerate(WORD.finditer(self.text)):
            self._starts.append(match.start())
            self._stems.setdefault(stem(match.group().lower()), []).append(number)

    @cached_property
    def spans(self) -> list[Span]:
        """What has a form of its own."""
        return spans_of(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines that are not blank."""
        return [line for line in self.text.splitlines() if line.strip()]

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in _BREAK.finditer(self.text)]

    def word_at(self, place: int) -> int:
        """Number of the first word that begins at a character or after it."""
        return bisect_left(self._starts, place)

    def occurrences(self, word: str) -> list[int]:
        """Numbers of the words with the stem of ``word``, rising."""
        return self._stems.get(stem(word), [])

    def nearness(self, start: int, end: int, cues: dict[str, float]) -> float:
        """How near the words of a cue stand to a stretch: each its weight over its distance.

        A cue counts half behind the stretch (labels come first), and a third beyond a full stop
        or the end of a line.

        Args:
            start: of the stretch, in characters.
            end: of it.
            cues: weight by word.
        """
        first, after = self.word_at(start), self.word_at(end)
        total = 0.0
        for word, weight in cues.items():
            total += weight * self._best(self.occurrences(word), first, after)
        return total

    def _best(self, places: list[int], first: int, after: int) -> float:
        at = bisect_left(places, first)
        best = 0.0
        for place in places[max(at - 2, 0) : at + 2]:
            if first <= place < after:
                continue
            distance = first - place if place < first else place - after + 1
            if distance > NEAR:
                continue
            worth = (1.0 if place < first else 0.5) / (1 + 0.25 * distance)
            other = min(first, len(self._starts) - 1)
            low, high = self._starts[min(place, other)], self._starts[max(place, other)]
            at_break = bisect_left(self._breaks, low)
            if at_break < len(self._breaks) and self._breaks[at_break] < high:
                worth /= 3
            best = max(best, worth)
        return best

    def sentence(self, words: Iterable[str]) -> str:
        """The sentence or line that holds most of the words; empty if it holds none."""
        counts: dict[int, int] = {}
        for word in words:
            for sentence in {self._sentence_of(place) for place in self.occurrences(word)}:
                counts[sentence] = counts.get(sentence, 0) + 1
        if not counts:
            return ""
        best = min(counts, key=lambda sentence: (-counts[sentence], sentence))
        start = self._breaks[best - 1] + 1 if best else 0
        end = self._breaks[best] if best < len(self._breaks) else len(self.text)
        return self.text[start:end].strip()

    def _sentence_of(self, word: int) -> int:
        return bisect_left(self._breaks, self._starts[word])

    def labelled(self, words: Iterable[str]) -> str:
        """What stands behind a label, ``Label: value``, of which all of some words are part."""
        wanted = {stem(word) for word in words}
        best, found = 0.0, ""
        for line in self.lines:
            for piece in line.split(";"):
                label, colon, value = piece.partition(":")
                held = {stem(word.lower()) for word in WORD.findall(label)[-6:]}
                if colon and held and value[:1].isspace() and value.strip():
                    share = len(wanted & held) / len(wanted | held)
                    if share > best:
                        best, found = share, value.strip()
        return found if best >= 0.34 else ""


def is_denied(sentence: str) -> bool:
    """Whether a sentence says that something is not so."""
    return _NO.search(sentence) is not None
