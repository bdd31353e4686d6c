"""Finds the steps that an answer takes: each fact is matched with a separate part of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from eval.synthlink.corrected.prose import is_prose, least, signs
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    ContentWords,
    asked_words,
    asks,
    bare_words,
    build_content_words,
    common,
    joined,
    order,
    sentences,
    to_the_letter,
)
from eval.synthlink.question import Question
from kg.text.normaliser import normalise_phrase, split_words

_PART_BOUNDARY: Final = re.compile(
    r"[,;:()]\s+|\s+[\u2013\u2014-]\s+|\s+(?=(?:and|but|while|whereas|which|who|because|so|thus|then|"
    r"leading|since|after|before|until)\s)",
    re.IGNORECASE,
)
_MAX_RUN_LENGTH: Final = 6
"""Maximum number of consecutive parts of a sentence that are matched with one fact."""
_MAX_PARTS: Final = 300
"""Maximum number of parts of an answer that are considered; later parts take no step."""


class _Fact(NamedTuple):
    content: ContentWords
    left_out: frozenset[str]
    """Words left out of ``content``: the question's, unless the fact has no others."""
    keywords: frozenset[str]
    """Words that do not state the fact by themselves; empty if the fact has no others."""


def find_steps_taken(
    answer: str, question: Question, thresholds: Thresholds
) -> tuple[int, ...] | None:
    """Finds the steps whose facts the answer states, in any order.

    The answer is split into sentences, and these into parts. A fact is stated by a run of
    consecutive parts of one sentence that has enough of its words, not too many others, the common
    words roughly in order, no other numbers, the same negation, and a word that is not a keyword.
    Runs of different facts do not overlap, so that no part takes two steps. The assignment of runs
    to facts that takes most steps is found by dynamic programming.

    Args:
        answer: the answer. Answers of iterations do not count here, since their other qualities are
            not scored.
        question: the question with its steps.
        thresholds: settings of the corrected scores.

    Returns:
        Indices of the steps, from 0; None if no step has a fact.
    """
    question_words, keywords = asked_words(question.question), bare_words(question)
    facts = {
        index: _prepare_fact(step.fact, question_words, keywords)
        for index, step in enumerate(question.steps)
        if step.fact
    }
    if not facts:
        return None
    best: dict[int, int] = {0: 0}
    """Set of steps taken, as a bit mask → index of the first part after the last one they use."""
    runs = _find_runs(answer, question, facts, thresholds)
    # Runs are sorted by their end, so a set of steps is first reached at its earliest end.
    for start, end, index in runs:
        bit = 1 << index
        for taken, end_of_steps in list(best.items()):
            if not taken & bit and end_of_steps <= start:
                extended = taken | bit
                best[extended] = min(best.get(extended, end), end)
    # Of several sets of this size the smallest mask is taken, that is, the earlier steps.
    largest = max(best, key=lambda taken: (taken.bit_count(), -taken))
    return tuple(index for index in facts if largest >> index & 1)


def _prepare_fact(text: str, question_words: frozenset[str], keywords: frozenset[str]) -> _Fact:
    content = build_content_words(text, question_words)
    left_out = question_words if content.words else frozenset[str]()
    content = content if content.words else build_content_words(text)
    return _Fact(content, left_out, frozenset() if keywords.issuperset(content.words) else keywords)


def _find_runs(
    answer: str, question: Question, facts: dict[int, _Fact], thresholds: Thresholds
) -> list[tuple[int, int, int]]:
    """Finds the runs of parts that state a fact.

    Returns:
        First part, end (the part after the last), and step of each run, sorted by end.
    """
    runs: list[tuple[int, int, int]] = []
    question_words, answer_signs, min_signs = (
        asked_words(question.question),
        signs(answer),
        least(question, thresholds),
    )
    n_parts = 0
    verbatim = to_the_letter(question)
    excluded_sets = {question_words, *(fact.left_out for fact in facts.values())}
    for _, sentence in sentences(answer):
        if asks(sentence):
            continue
        if normalise_phrase(sentence) not in verbatim and not is_prose(
            sentence, answer_signs, min_signs
        ):
            continue
        parts = [part for part in _PART_BOUNDARY.split(sentence) if split_words(part)][
            : _MAX_PARTS - n_parts
        ]
        contents = {
            excluded: [build_content_words(part, excluded) for part in parts]
            for excluded in excluded_sets
        }
        for first in range(len(parts)):
            for end in range(first + 1, min(first + _MAX_RUN_LENGTH, len(parts)) + 1):
                run = {
                    excluded: joined(content[first:end]) for excluded, content in contents.items()
                }
                # A run with only words of the question states nothing, not even a fact that has
                # only such words.
                if run[question_words].words:
                    runs += [
                        (n_parts + first, n_parts + end, index)
                        for index, fact in facts.items()
                        if states_fact(run[fact.left_out], fact, thresholds)
                    ]
        n_parts += len(parts)
    return sorted(runs, key=lambda run: (run[1], run[0], run[2]))


def states_fact(stretch: ContentWords, source_fact: _Fact, thresholds: Thresholds) -> bool:
    """Returns whether a stretch of text states a fact."""
    content = source_fact.content
    shared = common(stretch.words, content.words)
    return (
        shared >= thresholds.coverage * len(content.words)
        and shared >= thresholds.focus * len(stretch.words)
        and stretch.negated == content.negated
        and numbers_agree(stretch, content)
        and is_in_order(stretch.words, content.words, thresholds)
        and not source_fact.keywords.issuperset(stretch.words)
    )


def numbers_agree(stretch: ContentWords, fact: ContentWords) -> bool:
    """Returns whether two texts have a number in common, or one of them has no numbers."""
    return not stretch.numbers or not fact.numbers or bool(stretch.numbers & fact.numbers)


def is_in_order(stretch: Sequence[str], reference: Sequence[str], thresholds: Thresholds) -> bool:
    """Returns whether the common words are in order at least to the degree ``thresholds.order``."""
    return order(stretch, reference) >= thresholds.order
