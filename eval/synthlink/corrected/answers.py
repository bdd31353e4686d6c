"""F1 of an answer's words: stuffing, repetition, shuffling and echoing the question do not pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    LEAST_FOR_PROSE,
    asked_words,
    common,
    order,
    prose,
    saying,
)
from eval.synthlink.question import Question
from kg.text.normaliser import content_words


class Match(NamedTuple):
    """How far an answer agrees with the best of its references."""

    f1: float = 0.0
    """``plain`` times ``order`` times ``prose``."""
    plain: float = 0.0
    """F1 of words with repetitions, as SQuAD's."""
    order: float = 0.0
    prose: float = 0.0


def references(question: Question) -> tuple[str, ...]:
    """Texts that an answer may agree with: the expected answer, its aliases, all facts in order.

    The last is for answers that give their reasons, which would be punished for their length.
    """
    facts = " ".join(step.fact for step in question.steps if step.fact)
    return tuple(dict.fromkeys([question.answer, *question.aliases, *([facts] if facts else [])]))


def match(answer: str, question: Question, bar: Thresholds) -> Match:
    """F1 of the words beyond the question's own, times order and prose; the best of references.

    Precision and recall are of words with repetitions (Rajpurkar et al., SQuAD, EMNLP 2016, §6.1),
    in this package's normal form and without function words; words of the question neither help
    nor harm. A word repeated ten times is one hit and nine misses.
    The order is that of ``wording.order``; an answer with far fewer function words than prose has,
    and than its reference has, is a list of keywords and worth less in proportion.

    Returns:
        Zeros for an answer without words of its own.
    """
    asked = asked_words(question.question)
    return max(_against(answer, text, asked, bar) for text in references(question))


def _against(answer: str, reference: str, asked: frozenset[str], bar: Thresholds) -> Match:
    expected: Sequence[str] = saying(reference, asked).words
    if not expected:
        # The answer stands in the question ("Was it A or B?"): then all its words count.
        asked = frozenset()
        expected = saying(reference).words
    said = saying(answer, asked).words
    shared = common(said, expected)
    if not shared:
        return Match()
    plain = 2 * shared / (len(said) + len(expected))
    kept = order(said, expected)
    flow = flows(answer, reference, bar)
    return Match(plain * kept * flow, plain, kept, flow)


def flows(answer: str, reference: str, bar: Thresholds) -> float:
    """How far an answer is prose and no list of keywords, within 0 and 1.

    1 from ``bar.prose`` on, or from what the reference has where that is less; 0 from half of that
    down; 1 for an answer too short to tell.
    """
    asks_for = min(bar.prose, prose(reference))
    if len(content_words(answer)) < LEAST_FOR_PROSE or not asks_for:
        return 1.0
    return min(1.0, max(0.0, 2 * prose(answer) / asks_for - 1))
