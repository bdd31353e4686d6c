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
from eval.synthlink.items import Question

_EXTRA_PAIRS: Final = 4
"""Number of imaginary pairs of words in the right order that are added to the real pairs, so that
a few pairs in the wrong order do not lower the order much."""


class AnswerMatch(NamedTuple):
    """The match of an answer with its best reference."""

    f1: float = 0.0
    """``plain_f1`` times the factors for order and prose."""
    plain_f1: float = 0.0
    """F1 of words with repetitions, as in SQuAD. Words in refuted sentences and keywords that are
    strung together have a reduced weight."""
    order: float = 1.0
    """Degree to which the common words are in the reference's order, in [0, 1]."""
    prose: float = 0.0
    """Degree to which the answer is prose rather than a list of words, in [0, 1]."""
    keyword_factor: float = 1.0
    """Factor on the weight of keywords; below 1 if there are too many of them."""


def match_answer(
    answer: str, question: Question, thresholds: Thresholds, refuted_sentences: Sequence[str] = ()
) -> AnswerMatch:
    """Computes the F1 of words that are not in the question, against the best reference.

    Precision and recall are those of content words with repetitions (Rajpurkar et al., SQuAD, EMNLP
    2016, §6.1), in normal form; words of the question are ignored. A word repeated ten times is one
    hit and nine misses. A hit in a refuted sentence counts ``thresholds.refuted`` instead of 1.
    Of keywords, at most ``thresholds.names`` per other word count, or as many as in the reference.

    The F1 is multiplied by two factors. The factor for order (``wording.order``) falls to
    ``thresholds.thrown`` for words in random order; the factor for prose (``prose.prose``) falls to
    ``thresholds.glued`` for a mere list of words.

    Args:
        answer: the answer.
        question: the question; its expected answer, aliases and facts are the references.
        thresholds: settings of the corrected scores.
        refuted_sentences: sentences of the answer that are contradicted.

    Returns:
        The match. For an answer whose words are all in the question, F1 is 0.
    """
    words = _QuestionWords(
        in_question=asked_words(question.question), keywords=bare_words(question)
    )
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
    and falls in inverse proportion to the length of longer answers. Without this factor, an answer
    that copies a whole page would get full credit for every step whose fact is on the page.
    """
    max_length = max(len(build_content_words(text).words) for text in references(question))
    length = len(build_content_words(answer).words)
    return min(1.0, thresholds.length * max_length / length) if length else 1.0


class _QuestionWords(NamedTuple):
    """The words that a match treats specially."""

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
    question_words, keywords = words
    expected: Sequence[str] = build_content_words(reference, question_words).words
    if not expected:
        # All words of the reference are in the question ("Was it A or B?"): then all words count.
        question_words = keywords = frozenset()
        expected = build_content_words(reference).words
    predicted = build_content_words(answer, question_words).words
    keyword_factor = 1.0
    # An answer too short to be tested for prose may consist of keywords.
    if len(build_content_words(answer).words) >= LEAST_FOR_PROSE:
        keyword_factor = _keyword_factor(predicted, expected, keywords, thresholds.names)
    refuted_words = Counter(
        word
        for text in refuted_sentences
        for word in build_content_words(text, question_words).words
    )
    hits = Counter(predicted) & Counter(expected)
    full_hits = (Counter(predicted) - refuted_words) & hits
    weighted_hits = sum(
        weight * count * (keyword_factor if word in keywords else 1.0)
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
    """Computes the factor on the weight of keywords, below 1 for too many of them.

    An answer may have ``max_ratio`` keywords per other word, or as many as the reference has if
    that is more: a reference that consists of names can only be answered with names.
    """
    n_keywords, expected_keywords = (
        sum(word in keywords for word in words) for words in (answer_words, expected)
    )
    n_other_words, expected_other_words = (
        len(answer_words) - n_keywords,
        len(expected) - expected_keywords,
    )
    if not n_keywords or not expected_other_words:
        return 1.0
    return min(
        1.0, n_other_words * max(max_ratio, expected_keywords / expected_other_words) / n_keywords
    )
