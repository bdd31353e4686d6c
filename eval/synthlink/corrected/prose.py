"""Whether an answer is prose, or keywords with something put between them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from eval.synthlink.corrected.english.likelihood import english
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import references, saying, sentences
from eval.synthlink.question import Question
from kg.text.normaliser import FUNCTION_WORDS, words

LEAST_FOR_PROSE: Final = 8
"""So many content words call for some function words between them; fewer tell nothing."""
_ENGLISH_SPAN: Final = 0.1
"""Below ``Thresholds.english``, what is counted falls to nothing within this."""
_LEAST_SPAN: Final = 0.08
"""So far below a sentence states nothing; 6 of 1,000 on the shipped pages are."""


class Signs(NamedTuple):
    """What tells prose from keywords."""

    small: float
    """Share of function words among the different words of each sentence: about .3 in prose and
    nearly 0 in a list. Different words are counted, so that "and the" between keywords makes no
    prose of them."""
    english: float
    """How much likelier it is as prose than as glued keywords; see ``English.advantage``."""


@lru_cache(maxsize=256)  # an answer is held against each reference, and each round asks again
def signs(text: str) -> Signs:
    """The signs of a text; all 0 for one without words."""
    by_sentence = [set(words(sentence)) for _, sentence in sentences(text)]
    total = sum(map(len, by_sentence))
    small = sum(len(found & FUNCTION_WORDS) for found in by_sentence)
    return Signs(small / total if total else 0.0, english().advantage(text))


def prose(answer: str, reference: str, bar: Thresholds) -> float:
    """How far an answer is prose, within 0 and 1: the lesser of what two signs make of it.

    * Of small words it has enough: 1 from ``bar.prose`` on, 0 from half of that down.
    * It is no likelier as glued keywords than as prose: 1 from ``bar.english`` on, 0 from .1 less.

    What the reference itself has of each is always enough, and an answer too short to tell is
    prose.
    """
    if len(saying(answer).words) < LEAST_FOR_PROSE:
        return 1.0
    has, asked = signs(answer), signs(reference)
    small, likely = min(bar.prose, asked.small), min(bar.english, asked.english)
    return min(
        _clipped(2 * has.small / small - 1) if small else 1.0,
        _clipped((has.english - likely + _ENGLISH_SPAN) / _ENGLISH_SPAN),
    )


def least(question: Question, bar: Thresholds) -> Signs:
    """Signs below which a sentence states nothing.

    They are ``bar.sentence`` and what leaves next to nothing of an answer; less where a reference
    has less, as it has in other languages than English.
    """
    held = [signs(text) for text in references(question)]
    return Signs(
        min(bar.sentence, *(one.small / 2 for one in held)),
        min(bar.english, *(one.english for one in held)) - _LEAST_SPAN,
    )


def is_prose(sentence: str, whole: Signs, least: Signs) -> bool:
    """Whether a sentence is one, and no list of keywords with a full stop.

    Args:
        sentence: one of the answer's.
        whole: signs of the answer, by which a sentence of few words is judged.
        least: what they are to be.
    """
    enough = len(saying(sentence).words) >= LEAST_FOR_PROSE
    has = signs(sentence) if enough else whole
    return has.small >= least.small and has.english > least.english


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
