"""Indexes a text for the rules of the baseline: words by stem, lines, sentences and spans."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from eval.extraction.baseline.spans import Span, find_spans
from kg.words.normaliser import stem_word

MAX_CHARS: Final = 50_000
"""Maximum number of characters that are read from a text."""

WORD_PATTERN: Final = re.compile(r"[^\W_]+")
_SENTENCE_BREAK: Final = re.compile(r"[.!?;]\s|\n")
# Matches English, German, French and Spanish words of negation.
_NEGATION: Final = re.compile(
    r"\b(?:no|not|never|none|without|neither|nor|nobody|nothing|cannot|\w+n['\u2019]t|free of|"
    r"kein\w*|nicht|ohne|nie|pas|sans|aucun\w*|jamais|sin|nunca|ning\w*)\b",
    re.IGNORECASE,
)
MAX_WORD_DISTANCE: Final = 12
"""Maximum distance, in words, between a cue and a value."""


class TextIndex:
    """Index of a text or a part of it.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:MAX_CHARS]
        self._word_starts: list[int] = []
        self._words_by_stem: dict[str, list[int]] = {}
        for word_number, match in enumerate(WORD_PATTERN.finditer(self.text)):
            self._word_starts.append(match.start())
            self._words_by_stem.setdefault(stem_word(match.group().lower()), []).append(word_number)

    @cached_property
    def spans(self) -> list[Span]:
        """Numbers, dates, names and other spans of the text."""
        return find_spans(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text that are not blank."""
        return [line for line in self.text.splitlines() if line.strip()]

    @cached_property
    def _sentence_breaks(self) -> list[int]:
        return [match.start() for match in _SENTENCE_BREAK.finditer(self.text)]

    def find_word(self, offset: int) -> int:
        """Returns the number of the first word that begins at or after a character offset."""
        return bisect_left(self._word_starts, offset)

    def find_occurrences(self, word: str) -> list[int]:
        """Returns the numbers of the words with the same stem as ``word``, ascending."""
        return self._words_by_stem.get(stem_word(word), [])

    def score_nearness(self, start: int, end: int, cues: dict[str, float]) -> float:
        """Scores how near the cue words are to a span.

        The score is the sum of the cues' weights, each reduced with its distance from the span. A
        cue after the span counts half, because labels usually precede values. A cue in another
        sentence or line counts a third.

        Args:
            start: start of the span, in characters.
            end: end of the span.
            cues: word → weight.
        """
        # The span consists of the words from first_word to the one before end_word.
        first_word, end_word = self.find_word(start), self.find_word(end)
        total = 0.0
        for word, weight in cues.items():
            total += weight * self._score_nearest(self.find_occurrences(word), first_word, end_word)
        return total

    def _score_nearest(self, positions: list[int], first_word: int, end_word: int) -> float:
        """Returns the nearness of the best occurrence of a cue: 0 to 1, at most 0.5 after the span.

        Args:
            positions: numbers of the words at which the cue occurs, ascending.
            first_word: number of the span's first word.
            end_word: number of the first word after the span.
        """
        index = bisect_left(positions, first_word)
        best = 0.0
        for position in positions[max(index - 2, 0) : index + 2]:
            if first_word <= position < end_word:
                continue
            distance = first_word - position if position < first_word else position - end_word + 1
            if distance > MAX_WORD_DISTANCE:
                continue
            nearness = (1.0 if position < first_word else 0.5) / (1 + 0.25 * distance)
            span_word = min(first_word, len(self._word_starts) - 1)
            start, end = (
                self._word_starts[min(position, span_word)],
                self._word_starts[max(position, span_word)],
            )
            break_index = bisect_left(self._sentence_breaks, start)
            if (
                break_index < len(self._sentence_breaks)
                and self._sentence_breaks[break_index] < end
            ):
                nearness /= 3
            best = max(best, nearness)
        return best

    def find_sentence(self, words: Iterable[str]) -> str:
        """Returns the sentence or line with the most of the words; empty if no word occurs."""
        counts: dict[int, int] = {}
        for word in words:
            for sentence in {
                self._find_sentence_number(position) for position in self.find_occurrences(word)
            }:
                counts[sentence] = counts.get(sentence, 0) + 1
        if not counts:
            return ""
        best = min(counts, key=lambda sentence: (-counts[sentence], sentence))
        start = self._sentence_breaks[best - 1] + 1 if best else 0
        end = self._sentence_breaks[best] if best < len(self._sentence_breaks) else len(self.text)
        return self.text[start:end].strip()

    def _find_sentence_number(self, word: int) -> int:
        return bisect_left(self._sentence_breaks, self._word_starts[word])

    def find_labelled_value(self, words: Iterable[str]) -> str:
        """Returns the value of the ``Label: value`` pair whose label is most similar to some words.

        The similarity is Jaccard's index of the stems. If no label reaches 0.34 (more than a third
        of the stems are shared), the result is empty. Of a long label, only the last six words are
        compared.
        """
        stems = {stem_word(word) for word in words}
        best_similarity, best_value = 0.0, ""
        for line in self.lines:
            for segment in line.split(";"):
                label, colon, value = segment.partition(":")
                label_stems = {stem_word(word.lower()) for word in WORD_PATTERN.findall(label)[-6:]}
                if colon and label_stems and value[:1].isspace() and value.strip():
                    similarity = len(stems & label_stems) / len(stems | label_stems)
                    if similarity > best_similarity:
                        best_similarity, best_value = similarity, value.strip()
        return best_value if best_similarity >= 0.34 else ""


def is_denied(sentence: str) -> bool:
    """Returns whether a sentence contains a negation."""
    return _NEGATION.search(sentence) is not None
