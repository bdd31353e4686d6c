"""Analyses a text by rules, independently of the format in which the result is written.

The analysis consists of the statements of the text, with their importance, uncertainty, disputes,
causes and effects; the names in the question that the text lacks; and ratings of what may mislead.
All of them are found by fixed rules over words, without world knowledge.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from eval.questions.lexical_answerer import NEGATIONS, WordWeights, compute_coverage, is_negated
from eval.skn.card_rules.causes import Cause, find_cause
from eval.skn.grammar.document import Level, Priority
from eval.skn.retention.statements import (
    extract_subject_words,
    find_titles,
    find_written_names,
    is_hedged,
    select_asking_sentences,
    split_statements,
)
from kg.words.normaliser import extract_content_words

PLAIN_CONFIDENCE, HEDGED_CONFIDENCE, DISPUTED_CONFIDENCE = 0.9, 0.5, 0.3
"""Confidence in a statement: normally; if its own words hedge; if another one contradicts it."""
CRITICAL_IMPORTANCE = 0.5
"""A statement of at least this importance is critical."""


class Statement(NamedTuple):
    """One sentence of the text.

    Attributes:
        text: the sentence as written.
        importance: 0 to 1. With a question: the share of the question's words that the statement
            has, weighted by how rare they are in the text. Without a question: the mean, over the
            words of the statement, of the share of the text's statements that contain the word.
        hedged: whether its own words express uncertainty.
        disputed: whether another statement differs only by a negation.
        cause: the cause and effect that it states, if any.
    """

    text: str
    importance: float
    hedged: bool
    disputed: bool
    cause: Cause | None

    @property
    def confidence(self) -> float:
        """How well the text supports it, 0 to 1."""
        return (
            DISPUTED_CONFIDENCE
            if self.disputed
            else HEDGED_CONFIDENCE
            if self.hedged
            else PLAIN_CONFIDENCE
        )

    @property
    def priority(self) -> Priority:
        """``~`` if it is hedged, else ``!`` if it is critical, else ``.``."""
        return "~" if self.hedged else "!" if self.importance >= CRITICAL_IMPORTANCE else "."


class Analysis(NamedTuple):
    """Everything that the rules find in a text.

    Attributes:
        statements: the most important first; equally important ones in the order of the text.
        gaps: names and numbers in the asking sentences that occur neither in a statement nor in
            the title of a search result. Asking sentences are the sentences of the question that
            end in a question mark, or all of them if none does.
        domain: the content word that most statements have; "unknown" if there is none.
        reliability: share of the statements that are neither hedged nor disputed; 0 without
            statements.
        misdirection: high if a critical statement is disputed; medium if only uncritical
            statements are disputed, or if the most important statement is critical and negated
            but the question is not; else low. Without a question: high if any statement is
            disputed, else low.
        missing_context: by the share of content words in the asking sentences that no statement
            has: up to 1/4 low, up to 1/2 medium, else high. Without a question: low.
    """

    statements: tuple[Statement, ...]
    gaps: tuple[str, ...]
    domain: str
    reliability: float
    misdirection: Level
    missing_context: Level


def analyse_text(text: str, question: str) -> Analysis:
    """Analyses ``text`` for ``question``; an empty question means that there is none."""
    sentences = split_statements(text)
    importance = _weigh_by_question(sentences, question) if question else _weigh_by_text(sentences)
    disputed = _find_disputed(sentences)
    statements = [
        Statement(sentence, weight, is_hedged(sentence), index in disputed, find_cause(sentence))
        for index, (sentence, weight) in enumerate(zip(sentences, importance, strict=True))
    ]
    statements.sort(key=lambda statement: -statement.importance)
    n_certain = sum(not (statement.hedged or statement.disputed) for statement in statements)
    return Analysis(
        statements=tuple(statements),
        gaps=_find_gaps([*sentences, *find_titles(text)], question),
        domain=_find_domain(sentences),
        reliability=round(n_certain / len(statements), 2) if statements else 0.0,
        misdirection=_rate_misdirection(statements, question),
        missing_context=_rate_missing_context(sentences, question),
    )


def _weigh_by_question(sentences: Sequence[str], question: str) -> list[float]:
    question_words = Counter(extract_content_words(question))
    weights = WordWeights(sentences).weigh_words(question_words, ())
    return [
        round(
            compute_coverage(question_words, weights, Counter(extract_content_words(sentence))), 6
        )
        for sentence in sentences
    ]


def _weigh_by_text(sentences: Sequence[str]) -> list[float]:
    # Sorted, so that the floating-point sums do not depend on the order of sets.
    word_lists = [sorted(extract_subject_words(sentence)) for sentence in sentences]
    frequency = Counter(word for words in word_lists for word in words)
    return [
        round(math.fsum(frequency[word] for word in words) / (len(words) * len(sentences)), 6)
        if words
        else 0.0
        for words in word_lists
    ]


def _find_disputed(sentences: Sequence[str]) -> set[int]:
    """Returns the indexes of the statements that differ from another only by a negation."""
    by_words: defaultdict[frozenset[str], dict[bool, list[int]]] = defaultdict(dict)
    for index, sentence in enumerate(sentences):
        by_words[extract_subject_words(sentence)].setdefault(is_negated(sentence), []).append(index)
    # Statements with the same words are disputed if some are negated and others are not.
    disputed_groups = (groups for groups in by_words.values() if len(groups) == 2)
    return {index for groups in disputed_groups for indexes in groups.values() for index in indexes}


def _find_gaps(sentences: Sequence[str], question: str) -> tuple[str, ...]:
    text_words = {word for sentence in sentences for word in extract_content_words(sentence)}
    return tuple(
        name
        for name in find_written_names(select_asking_sentences(question))
        if not text_words.issuperset(extract_content_words(name))
    )


def _find_domain(sentences: Sequence[str]) -> str:
    frequency = Counter(
        word for sentence in sentences for word in dict.fromkeys(extract_content_words(sentence))
    )
    counted_words = ((count, word) for word, count in frequency.items() if word not in NEGATIONS)
    _, domain = max(counted_words, key=lambda counted: counted[0], default=(0, "unknown"))
    return domain


def _rate_misdirection(ranked: Sequence[Statement], question: str) -> Level:
    if any(
        statement.disputed and (not question or statement.importance >= CRITICAL_IMPORTANCE)
        for statement in ranked
    ):
        return "high"
    if any(statement.disputed for statement in ranked):
        return "medium"
    if question and ranked and ranked[0].importance >= CRITICAL_IMPORTANCE:
        return "medium" if is_negated(ranked[0].text) and not is_negated(question) else "low"
    return "low"


def _rate_missing_context(sentences: Sequence[str], question: str) -> Level:
    question_words = extract_subject_words(select_asking_sentences(question))
    if not question_words:
        return "low"
    missing_share = len(
        question_words
        - {word for sentence in sentences for word in extract_content_words(sentence)}
    ) / len(question_words)
    return "low" if missing_share <= 0.25 else "medium" if missing_share <= 0.5 else "high"
