"""F1 of an answer's words: stuffing, repetition, shuffling and echoing the question do not pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eval.synthlink.corrected.prose import prose
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import asked_words, common, order, saying
from eval.synthlink.question import Question


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
    The order is that of ``wording.order``; how far it is prose, ``prose.prose`` says.

    Returns:
        Zeros for an answer without words of its own.
    """
    asked = asked_words(question.question)
    return max(_against(answer, text, asked, question, bar) for text in references(question))


def _against(
    answer: str, reference: str, asked: frozenset[str], question: Question, bar: Thresholds
) -> Match:
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
    flow = prose(answer, reference, question, bar)
    return Match(plain * kept * flow, plain, kept, flow)
