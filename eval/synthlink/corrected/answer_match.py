"""Computes the F1 of an answer's words, robust against gaming.

Keyword stuffing, repetition, shuffled words and repeating the question do not raise the score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from eval.synthlink.corrected.prose import LEAST_FOR_PROSE, prose
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    asked_words,
    bare_words,
    build_content_words,
    order,
    references,
)
from eval.synthlink.question import Question

_EXTRA_PAIRS: Final = 4
"""Pairs of neighbouring words added as correctly ordered, since few pairs are weak evidence."""


class AnswerMatch(NamedTuple):
    """The match of an answer with its best reference."""

    f1: float = 0.0
    """``plain_f1`` times the factors for order and prose."""
    plain_f1: float = 0.0
    """F1 of words with repetitions as in SQuAD, with reduced weight of keywords that were strung
    together and of words in refuted sentences."""
    order: float = 1.0
    """How far the common words are in the reference's order, in [0, 1]."""
    prose: float = 0.0
    """How far the answer is prose, in [0, 1]."""
    keyword_factor: float = 1.0
    """Factor on the weight of keywords; below 1 if there are too many of them."""


def match_answer(
    answer: str, question: Question, thresholds: Thresholds, refuted_sentences: Sequence[str] = ()
) -> AnswerMatch:
    """Computes the F1 of words that are not in the question, against the best reference.

    Precision and recall are of content words with repetitions (Rajpurkar et al., SQuAD, EMNLP 2016,
    §6.1), in this package's normal form; words of the question are ignored. A word repeated ten
    times is one hit and nine misses. A hit in a refuted sentence counts ``thresholds.refuted``.
    Keywords in excess of ``thresholds.names`` times the number of other words do not count.
    The result is multiplied by two factors: order (``wording.order``), at least
    ``thresholds.thrown``, and prose (``prose.prose``), at least ``thresholds.glued``.

    Args:
        answer: the answer.
        question: its expected answer, aliases and facts are the references.
        thresholds: settings of the corrected scores.
        refuted_sentences: sentences of the answer that are contradicted.

    Returns:
        All 0 for an answer whose words are all in the question.
    """
    words = _QuestionWords(asked_words(question.question), bare_words(question))
    return max(
        _match_reference(answer, text, words, refuted_sentences, thresholds)
        for text in references(question)
    )


def order_factor(order_share: float, thresholds: Thresholds) -> float:
    """Computes the factor for word order.

    It is 1 where the order is at least twice ``thresholds.order``, and falls linearly to
    ``thresholds.thrown`` at order 0.
    """
    share = min(1.0, order_share / (2 * thresholds.order)) if thresholds.order else 1.0
    return thresholds.thrown + (1 - thresholds.thrown) * share


def brevity_factor(answer: str, question: Question, thresholds: Thresholds) -> float:
    """Computes the factor for length.

    It is 1 up to ``thresholds.length`` times the length of the longest reference, in content words,
    and falls in proportion for longer answers. Without it, a whole page copied as an answer would
    take every step that it contains.
    """
    max_length = max(len(build_content_words(text).words) for text in references(question))
    length = len(build_content_words(answer).words)
    return min(1.0, thresholds.length * max_length / length) if length else 1.0


class _QuestionWords(NamedTuple):
    in_question: frozenset[str]
    """Content words of the question."""
    keywords: frozenset[str]
    """Content words of the question and keywords of its steps."""


def _match_reference(
    answer: str,
    reference: str,
    words: _QuestionWords,
    refuted_sentences: Sequence[str],
    thresholds: Thresholds,
) -> AnswerMatch:
    question_words, common_words = words
    expected: Sequence[str] = build_content_words(reference, question_words).words
    if not expected:
        # All words of the reference are in the question ("Was it A or B?"): then all words count.
        question_words = common_words = frozenset()
        expected = build_content_words(reference).words
    predicted = build_content_words(answer, question_words).words
    keyword_factor = 1.0
    if len(build_content_words(answer).words) >= LEAST_FOR_PROSE:
        keyword_factor = _keyword_factor(predicted, expected, common_words, thresholds.names)
    refuted_words = Counter(
        word
        for text in refuted_sentences
        for word in build_content_words(text, question_words).words
    )
    hits = Counter(predicted) & Counter(expected)
    full_hits = (Counter(predicted) - refuted_words) & hits
    weighted_hits = sum(
        weight * count * (keyword_factor if word in common_words else 1.0)
        for weight, counts in ((1.0, full_hits), (thresholds.refuted, hits - full_hits))
        for word, count in counts.items()
    )
    if not weighted_hits:
        return AnswerMatch()
    plain_f1 = 2 * weighted_hits / (len(predicted) + len(expected))
    order_share = order(predicted, expected, _EXTRA_PAIRS)
    prose_share = prose(answer, reference, thresholds)
    prose_factor = thresholds.glued + (1 - thresholds.glued) * prose_share
    f1 = plain_f1 * order_factor(order_share, thresholds) * prose_factor
    return AnswerMatch(f1, plain_f1, order_share, prose_share, keyword_factor)


def _keyword_factor(
    answer_words: Sequence[str], expected: Sequence[str], keywords: frozenset[str], max_ratio: float
) -> float:
    """Computes the factor for an answer with more than ``max_ratio`` keywords per other word.

    The reference's own ratio is always allowed, because a reference that consists of names can only
    be answered with names.
    """
    n_keywords, expected_keywords = (
        sum(word in keywords for word in words) for words in (answer_words, expected)
    )
    n_others, expected_others = len(answer_words) - n_keywords, len(expected) - expected_keywords
    if not n_keywords or not expected_others:
        return 1.0
    return min(1.0, n_others * max(max_ratio, expected_keywords / expected_others) / n_keywords)
