"""Measures whether an answer is prose or a list of keywords joined by filler words."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from eval.synthlink.corrected.english.likelihood import english
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import build_content_words, references, sentences
from eval.synthlink.items import Question
from kg.words.normaliser import FUNCTION_WORDS, split_words

LEAST_FOR_PROSE: Final = 8
"""Minimum number of content words of a text that is tested; shorter texts may lack function words
by chance."""
_ENGLISH_SPAN: Final = 0.1
"""The factor for ``Signs.english`` is 1 at ``Thresholds.english`` and 0 at this much less."""
_LEAST_SPAN: Final = 0.08
"""A sentence states nothing if its ``Signs.english`` is this far below ``Thresholds.english``. This
is true of 6 in 1,000 sentences of the shipped pages."""


class Signs(NamedTuple):
    """The two measurements that distinguish prose from keywords."""

    small: float
    """Share of function words among the different words of each sentence: about .3 in prose and
    nearly 0 in a list. Repetitions are not counted, so that "and the" between keywords does not
    make them look like prose."""
    english: float
    """How much more likely the text is as prose than as keywords joined by filler words; see
    ``English.advantage``."""


# Cached because an answer is compared with every reference, and again in every round.
@lru_cache(maxsize=256)
def signs(text: str) -> Signs:
    """Returns the signs of a text; all 0 for a text without words."""
    by_sentence = [set(split_words(sentence)) for _, sentence in sentences(text)]
    total = sum(map(len, by_sentence))
    small = sum(len(words & FUNCTION_WORDS) for words in by_sentence)
    return Signs(small / total if total else 0.0, english().advantage(text))


def prose(answer: str, reference: str, bar: Thresholds) -> float:
    """Computes how far an answer is prose, in [0, 1]: the smaller of two factors.

    * Share of function words: 1 from ``bar.prose`` up, 0 from half of that down.
    * Likelihood as prose: 1 from ``bar.english`` up, 0 from ``bar.english`` − .1 down.

    If the reference has a lower value than a threshold, its value is the threshold. An answer of
    fewer than ``LEAST_FOR_PROSE`` content words counts as prose.
    """
    if len(build_content_words(answer).words) < LEAST_FOR_PROSE:
        return 1.0
    answer_signs, reference_signs = signs(answer), signs(reference)
    small, likely = min(bar.prose, reference_signs.small), min(bar.english, reference_signs.english)
    return min(
        _clipped(2 * answer_signs.small / small - 1) if small else 1.0,
        _clipped((answer_signs.english - likely + _ENGLISH_SPAN) / _ENGLISH_SPAN),
    )


def least(question: Question, bar: Thresholds) -> Signs:
    """Computes the thresholds below which a sentence states nothing.

    They are derived from ``bar.sentence`` and ``bar.english``. If a reference has lower values, the
    thresholds are lower too, since references may be in languages other than English.
    """
    references_signs = [signs(text) for text in references(question)]
    return Signs(
        min(bar.sentence, *(reference_signs.small / 2 for reference_signs in references_signs)),
        min(bar.english, *(reference_signs.english for reference_signs in references_signs))
        - _LEAST_SPAN,
    )


def is_prose(sentence: str, whole: Signs, least: Signs) -> bool:
    """Whether a sentence is prose, not a list of keywords with a full stop.

    Args:
        sentence: a sentence of the answer.
        whole: signs of the whole answer; used for a sentence with too few words.
        least: thresholds for the signs.
    """
    is_long = len(build_content_words(sentence).words) >= LEAST_FOR_PROSE
    sentence_signs = signs(sentence) if is_long else whole
    return sentence_signs.small >= least.small and sentence_signs.english > least.english


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
