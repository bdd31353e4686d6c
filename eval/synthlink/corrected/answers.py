"""F1 of an answer's words: stuffing, repetition, shuffling and echoing the question do not pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from eval.synthlink.corrected.prose import LEAST_FOR_PROSE, prose
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import asked_words, bare_words, order, references, saying
from eval.synthlink.question import Question

_DOUBT: Final = 4
"""Neighbours that are taken to be in order besides those that an answer has."""


class Match(NamedTuple):
    """How far an answer agrees with the best of its references."""

    f1: float = 0.0
    """``plain`` times what ``order`` and ``prose`` leave."""
    plain: float = 0.0
    """F1 of words with repetitions, as SQuAD's, but for names and what was refuted."""
    order: float = 1.0
    """How far the words in common are in order; few are given the benefit of the doubt."""
    prose: float = 0.0
    named: float = 1.0
    """What is left of keywords, as there are too many of them."""


def match(answer: str, question: Question, bar: Thresholds, refuted: Sequence[str] = ()) -> Match:
    """F1 of the words beyond the question's own, less for disorder and what is no prose.

    Precision and recall are of words with repetitions (Rajpurkar et al., SQuAD, EMNLP 2016, §6.1),
    in this package's normal form and without function words; words of the question neither help
    nor harm. A word repeated ten times is one hit and nine misses; one of a sentence that was
    refuted is ``bar.refuted`` of a hit. Keywords beyond ``bar.names`` times the number of other
    words that the answer has are none: they were strung together. The order is that of
    ``wording.order`` and takes at most 1 - ``bar.thrown``; how far it is prose, ``prose.prose``
    says, and what is none keeps ``bar.glued``. The best of the references counts.

    Args:
        answer: the answer.
        question: whose expected answer, aliases and facts are the references.
        bar: what counts as prose.
        refuted: sentences of the answer that are contradicted.

    Returns:
        Zeros for an answer without words of its own.
    """
    words = _Words(asked_words(question.question), bare_words(question))
    return max(_against(answer, text, words, refuted, bar) for text in references(question))


def together(kept: float, bar: Thresholds) -> float:
    """What an answer's order leaves of it: all from twice ``bar.order`` on, then in proportion."""
    share = min(1.0, kept / (2 * bar.order)) if bar.order else 1.0
    return bar.thrown + (1 - bar.thrown) * share


def brevity(answer: str, question: Question, bar: Thresholds) -> float:
    """Share of an answer that its length leaves it: 1 up to ``bar.length`` times the reference's.

    Pages copied out take every step that stands on them, and answer nothing. Lengths are in content
    words; the longest of the references counts.
    """
    longest = max(len(saying(text).words) for text in references(question))
    said = len(saying(answer).words)
    return min(1.0, bar.length * longest / said) if said else 1.0


class _Words(NamedTuple):
    asked: frozenset[str]
    bare: frozenset[str]


def _against(
    answer: str, reference: str, words: _Words, refuted: Sequence[str], bar: Thresholds
) -> Match:
    asked, bare = words
    expected: Sequence[str] = saying(reference, asked).words
    if not expected:
        # The answer stands in the question ("Was it A or B?"): then all its words count.
        asked = bare = frozenset()
        expected = saying(reference).words
    said = saying(answer, asked).words
    named = 1.0
    if len(saying(answer).words) >= LEAST_FOR_PROSE:
        named = _left_of_names(said, expected, bare, bar.names)
    wrong = Counter(word for text in refuted for word in saying(text, asked).words)
    hits = Counter(said) & Counter(expected)
    right = (Counter(said) - wrong) & hits
    shared = sum(
        weight * number * (named if word in bare else 1.0)
        for weight, found in ((1.0, right), (bar.refuted, hits - right))
        for word, number in found.items()
    )
    if not shared:
        return Match()
    plain = 2 * shared / (len(said) + len(expected))
    kept = order(said, expected, _DOUBT)
    flow = prose(answer, reference, bar)
    left = bar.glued + (1 - bar.glued) * flow
    return Match(plain * together(kept, bar) * left, plain, kept, flow, named)


def _left_of_names(
    said: Sequence[str], expected: Sequence[str], bare: frozenset[str], most: float
) -> float:
    """What is left of keywords where more than ``most`` of them come on each other word.

    What the reference has is always enough: one that consists of names is answered by names.
    """
    named, named_there = (sum(word in bare for word in words) for words in (said, expected))
    others, others_there = len(said) - named, len(expected) - named_there
    if not named or not others_there:
        return 1.0
    return min(1.0, others * max(most, named_there / others_there) / named)
