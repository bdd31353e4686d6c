"""Finds the steps that an answer takes.

An answer takes a step if it states the step's fact. Each fact is matched with another part of the
answer.
"""

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
from eval.synthlink.items import Question
from kg.words.normaliser import normalise_phrase, split_words

# Boundaries between parts of a sentence: punctuation, dashes, brackets, and conjunctions.
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
    """The fact of a step, prepared for matching."""

    content: ContentWords
    excluded_words: frozenset[str]
    """Words left out of ``content``: those of the question, or none if the fact has no others."""
    keywords: frozenset[str]
    """Words that do not state the fact by themselves; empty if the fact has no other words."""


def find_steps_taken(
    answer: str, question: Question, thresholds: Thresholds
) -> tuple[int, ...] | None:
    """Finds the steps whose facts the answer states, in any order.

    The answer is split into sentences, and these into parts. A run of consecutive parts of one
    sentence states a fact under these conditions:

    * It has enough of the fact's words, not too many other words, and a word that is not a keyword.
    * The common words are roughly in order.
    * It has no other numbers, and the same negation.

    Runs of different facts do not overlap, so that no part takes two steps. The assignment of runs
    to facts that takes most steps is found by dynamic programming.

    Args:
        answer: the final answer; the answers of iterations take no steps.
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
    end_by_steps: dict[int, int] = {0: 0}
    """Set of steps taken, as a bit mask → index of the first part after the parts they use."""
    runs = _find_runs(answer, question, facts, thresholds)
    # Runs are sorted by their end, so a set of steps is first reached at its earliest end.
    for start, end, index in runs:
        bit = 1 << index
        for steps_taken, end_of_last_step in list(end_by_steps.items()):
            if not steps_taken & bit and end_of_last_step <= start:
                extended = steps_taken | bit
                end_by_steps[extended] = min(end_by_steps.get(extended, end), end)
    # Of several largest sets, the one with the smallest mask is chosen: that with earlier steps.
    best_steps = max(end_by_steps, key=lambda steps_taken: (steps_taken.bit_count(), -steps_taken))
    return tuple(index for index in facts if best_steps >> index & 1)


def _prepare_fact(text: str, question_words: frozenset[str], keywords: frozenset[str]) -> _Fact:
    content = build_content_words(text, question_words)
    excluded_words = question_words if content.words else frozenset[str]()
    content = content if content.words else build_content_words(text)
    return _Fact(
        content, excluded_words, frozenset() if keywords.issuperset(content.words) else keywords
    )


def _find_runs(
    answer: str, question: Question, facts: dict[int, _Fact], thresholds: Thresholds
) -> list[tuple[int, int, int]]:
    """Finds the runs of parts that state a fact.

    Returns:
        For each run: index of its first part, index of the part after its last, and index of the
        step; sorted by the end of the run.
    """
    runs: list[tuple[int, int, int]] = []
    question_words, answer_signs, min_signs = (
        asked_words(question.question),
        signs(answer),
        least(question, thresholds),
    )
    n_parts = 0
    reference_sentences = to_the_letter(question)
    excluded_sets = {question_words, *(fact.excluded_words for fact in facts.values())}
    for _, sentence in sentences(answer):
        if asks(sentence):
            continue
        if normalise_phrase(sentence) not in reference_sentences and not is_prose(
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
        for start in range(len(parts)):
            for end in range(start + 1, min(start + _MAX_RUN_LENGTH, len(parts)) + 1):
                run = {
                    excluded: joined(content[start:end]) for excluded, content in contents.items()
                }
                # A run with only words of the question states nothing, not even a fact that has
                # only such words.
                if run[question_words].words:
                    runs += [
                        (n_parts + start, n_parts + end, index)
                        for index, fact in facts.items()
                        if states_fact(run[fact.excluded_words], fact, thresholds)
                    ]
        n_parts += len(parts)
    return sorted(runs, key=lambda run: (run[1], run[0], run[2]))


def states_fact(stretch: ContentWords, source_fact: _Fact, thresholds: Thresholds) -> bool:
    """Returns whether a stretch of text states a fact; see ``find_steps_taken``."""
    content = source_fact.content
    n_common = common(stretch.words, content.words)
    return (
        n_common >= thresholds.coverage * len(content.words)
        and n_common >= thresholds.focus * len(stretch.words)
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
