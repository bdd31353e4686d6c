"""Indexes a text for the rules: words by stem, lines, sentences and spans."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from eval.extraction.baseline.spans import Span, find_spans
from kg.text.normaliser import stem_word

MAX_CHARS: Final = 50_000
"""Number of characters of a text that are read."""

WORD_PATTERN: Final = re.compile(r"[^\W_]+")
_SENTENCE_BREAK: Final = re.compile(r"[.!?;]\s|\n")
_NEGATION: Final = re.compile(
    r"\b(?:no|not|never|none|without|neither|nor|nobody|nothing|cannot|\w+n['\u2019]t|free of|"
    r"kein\w*|nicht|ohne|nie|pas|sans|aucun\w*|jamais|sin|nunca|ning\w*)\b",
    re.IGNORECASE,
)
MAX_WORD_DISTANCE: Final = 12
"""Maximum distance in words between a cue and the value it points at."""


class TextIndex:
    """Index of a text or a part of it.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:MAX_CHARS]
        self._starts: list[int] = []
        self._stems: dict[str, list[int]] = {}
        for number, match in enumerate(WORD_PATTERN.finditer(self.text)):
            self._starts.append(match.start())
            self._stems.setdefault(stem_word(match.group().lower()), []).append(number)

    @cached_property
    def spans(self) -> list[Span]:
        """Numbers, dates, names and other spans of the text."""
        return find_spans(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Its non-blank lines."""
        return [line for line in self.text.splitlines() if line.strip()]

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in _SENTENCE_BREAK.finditer(self.text)]

    def find_word(self, offset: int) -> int:
        """Returns the number of the first word that begins at or after a character offset."""
        return bisect_left(self._starts, offset)

    def find_occurrences(self, word: str) -> list[int]:
        """Returns the numbers of the words with the same stem as ``word``, ascending."""
        return self._stems.get(stem_word(word), [])

    def score_nearness(self, start: int, end: int, cues: dict[str, float]) -> float:
        """Scores how near cue words are to a span: the sum of weight over distance.

        A cue after the span counts half (labels usually come first), and a cue in another sentence
        or line a third.

        Args:
            start: start of the span, in characters.
            end: end of the span.
            cues: word → weight.
        """
        first, after = self.find_word(start), self.find_word(end)
        total = 0.0
        for word, weight in cues.items():
            total += weight * self._best_nearness(self.find_occurrences(word), first, after)
        return total

    def _best_nearness(self, positions: list[int], first: int, after: int) -> float:
        index = bisect_left(positions, first)
        best = 0.0
        for place in positions[max(index - 2, 0) : index + 2]:
            if first <= place < after:
                continue
            distance = first - place if place < first else place - after + 1
            if distance > MAX_WORD_DISTANCE:
                continue
            worth = (1.0 if place < first else 0.5) / (1 + 0.25 * distance)
            other = min(first, len(self._starts) - 1)
            low, high = self._starts[min(place, other)], self._starts[max(place, other)]
            at_break = bisect_left(self._breaks, low)
            if at_break < len(self._breaks) and self._breaks[at_break] < high:
                worth /= 3
            best = max(best, worth)
        return best

    def find_sentence(self, words: Iterable[str]) -> str:
        """Returns the sentence or line with most of the words; empty if none has any."""
        counts: dict[int, int] = {}
        for word in words:
            for sentence in {self._sentence_number(place) for place in self.find_occurrences(word)}:
                counts[sentence] = counts.get(sentence, 0) + 1
        if not counts:
            return ""
        best = min(counts, key=lambda sentence: (-counts[sentence], sentence))
        start = self._breaks[best - 1] + 1 if best else 0
        end = self._breaks[best] if best < len(self._breaks) else len(self.text)
        return self.text[start:end].strip()

    def _sentence_number(self, word: int) -> int:
        return bisect_left(self._breaks, self._starts[word])

    def find_labelled_value(self, words: Iterable[str]) -> str:
        """Returns the value of the ``Label: value`` pair whose label matches some words best.

        Labels are compared by Jaccard's index of their stems; returns an empty string below .34.
        """
        stems = {stem_word(word) for word in words}
        best, found = 0.0, ""
        for line in self.lines:
            for piece in line.split(";"):
                label, colon, value = piece.partition(":")
                label_stems = {stem_word(word.lower()) for word in WORD_PATTERN.findall(label)[-6:]}
                if colon and label_stems and value[:1].isspace() and value.strip():
                    share = len(stems & label_stems) / len(stems | label_stems)
                    if share > best:
                        best, found = share, value.strip()
        return found if best >= 0.34 else ""


def is_denied(sentence: str) -> bool:
    """Returns whether a sentence contains a negation."""
    return _NEGATION.search(sentence) is not None
