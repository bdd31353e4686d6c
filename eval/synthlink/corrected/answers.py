"""F1 of an answer's words: stuffing, repetition, shuffling and echoing the question do not pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from eval.synthlink.corrected.prose import LEAST_FOR_PROSE, prose
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import asked_words, bare_words, order, references, saying
from eval.synthlink.question import Question


class Match(NamedTuple):
    """How far an answer agrees with the best of its references."""

    f1: float = 0.0
    """``plain`` times ``order`` times ``prose``."""
    plain: float = 0.0
    """F1 of words with repetitions, as SQuAD's, but for names and what was refuted."""
    order: float = 0.0
    prose: float = 0.0


def match(answer: str, question: Question, bar: Thresholds, refuted: Sequence[str] = ()) -> Match:
    """F1 of the words beyond the question's own, times order and prose; the best of references.

    Precision and recall are of words with repetitions (Rajpurkar et al., SQuAD, EMNLP 2016, §6.1),
    in this package's normal form and without function words; words of the question neither help
    nor harm. A word repeated ten times is one hit and nine misses, and so is a word of a sentence
    that was refuted. Keywords are hits at most ``bar.names`` times as often as other words: who
    knows the names alone has little. The order is that of ``wording.order``; how far it is prose,
    ``prose.prose`` says.

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
    right = Counter(said) - Counter(word for text in refuted for word in saying(text, asked).words)
    hits = right & Counter(expected)
    if len(saying(answer).words) < LEAST_FOR_PROSE:
        shared: float = hits.total()
    else:
        shared = _with_few_names(hits, Counter(expected), bare, bar.names)
    if not shared:
        return Match()
    plain = 2 * shared / (len(said) + len(expected))
    kept = order(said, expected)
    flow = prose(answer, reference, bar)
    return Match(plain * kept * flow, plain, kept, flow)


def _with_few_names(
    hits: Counter[str], expected: Counter[str], bare: frozenset[str], most: float
) -> float:
    """How many hits count: keywords at most ``most`` times as often as others.

    What the reference has is always enough: one that consists of names is answered by names.
    """
    named, named_there = (_within(found, bare) for found in (hits, expected))
    others, others_there = hits.total() - named, expected.total() - named_there
    if not others_there:
        return named
    return others + min(named, others * max(most, named_there / others_there))


def _within(found: Counter[str], words: frozenset[str]) -> int:
    return sum(number for word, number in found.items() if word in words)
