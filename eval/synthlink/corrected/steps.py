"""Which steps an answer takes: each fact matched with a stretch of the answer of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from eval.synthlink.corrected.prose import is_prose, least, signs
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    Saying,
    asked_words,
    asks,
    bare_words,
    common,
    joined,
    order,
    saying,
    sentences,
    to_the_letter,
)
from eval.synthlink.question import Question
from kg.text.normaliser import normalise, words

_CUT: Final = re.compile(
    r"[,;:()]\s+|\s+[\u2013\u2014-]\s+|\s+(?=(?:and|but|while|whereas|which|who|because|so|thus|then|"
    r"leading|since|after|before|until)\s)",
    re.IGNORECASE,
)
_LONGEST_RUN: Final = 6
"""Parts of a sentence that one fact may take up."""
_MOST_PARTS: Final = 300
"""Parts of an answer that are looked at; what is said later takes no step."""


class _Fact(NamedTuple):
    told: Saying
    beyond: frozenset[str]
    """Words that were left out of it: the question's, unless it has no others."""
    bare: frozenset[str]
    """Words that do not state it by themselves: keywords, unless it has no others."""


def steps_taken(answer: str, question: Question, bar: Thresholds) -> tuple[int, ...] | None:
    """The steps whose facts the answer states, in whatever order.

    The answer is cut into sentences and these into parts. A fact is stated by a run of parts of
    one sentence that has enough of its words, not too many others, the words in common roughly in
    order, no other numbers, no other negation, and a word that is no keyword: names alone state
    nothing. Runs do not overlap, so that nothing said once takes two steps; of all ways to give
    runs to facts one that takes most steps is found.

    Args:
        answer: the answer; what iterations say does not count, for nothing else judges it.
        question: whose steps.
        bar: what counts as said.

    Returns:
        Places of the steps, from 0; None where no step has a fact.
    """
    asked, bare = asked_words(question.question), bare_words(question)
    facts = {
        place: _fact(step.fact, asked, bare)
        for place, step in enumerate(question.steps)
        if step.fact
    }
    if not facts:
        return None
    best: dict[int, int] = {0: 0}
    """Steps taken so far, as a set of bits → from which part on the answer is free."""
    runs = _runs(answer, question, facts, bar)
    # Runs come by where they end, so a set of steps is first reached at its earliest end.
    for start, end, place in runs:
        bit = 1 << place
        for taken, free in list(best.items()):
            if not taken & bit and free <= start:
                now = taken | bit
                best[now] = min(best.get(now, end), end)
    most = max(best, key=lambda taken: (taken.bit_count(), -taken))
    return tuple(place for place in facts if most >> place & 1)


def _fact(text: str, asked: frozenset[str], bare: frozenset[str]) -> _Fact:
    told = saying(text, asked)
    beyond = asked if told.words else frozenset[str]()
    told = told if told.words else saying(text)
    return _Fact(told, beyond, frozenset() if bare.issuperset(told.words) else bare)


def _runs(
    answer: str, question: Question, facts: dict[int, _Fact], bar: Thresholds
) -> list[tuple[int, int, int]]:
    """Runs of parts that state a fact: first part, the part behind the last, step; by their end."""
    found: list[tuple[int, int, int]] = []
    asked, whole, enough = asked_words(question.question), signs(answer), least(question, bar)
    at = 0
    told = to_the_letter(question)
    sides = {asked, *(fact.beyond for fact in facts.values())}
    for _, sentence in sentences(answer):
        if asks(sentence):
            continue
        if normalise(sentence) not in told and not is_prose(sentence, whole, enough):
            continue
        parts = [part for part in _CUT.split(sentence) if words(part)][: _MOST_PARTS - at]
        said = {left_out: [saying(part, left_out) for part in parts] for left_out in sides}
        for first in range(len(parts)):
            for behind in range(first + 1, min(first + _LONGEST_RUN, len(parts)) + 1):
                run = {side: joined(one[first:behind]) for side, one in said.items()}
                # The question said again is no statement, even of a fact in its own words.
                if run[asked].words:
                    found += [
                        (at + first, at + behind, place)
                        for place, fact in facts.items()
                        if states(run[fact.beyond], fact, bar)
                    ]
        at += len(parts)
    return sorted(found, key=lambda run: (run[1], run[0], run[2]))


def states(said: Saying, of: _Fact, bar: Thresholds) -> bool:
    """Whether a stretch of text states a fact."""
    fact = of.told
    shared = common(said.words, fact.words)
    return (
        shared >= bar.coverage * len(fact.words)
        and shared >= bar.focus * len(said.words)
        and said.negated == fact.negated
        and numbers_agree(said, fact)
        and in_order(said.words, fact.words, bar)
        and not of.bare.issuperset(said.words)
    )


def numbers_agree(said: Saying, fact: Saying) -> bool:
    """Whether two texts that both give numbers have one in common."""
    return not said.numbers or not fact.numbers or bool(said.numbers & fact.numbers)


def in_order(said: Sequence[str], reference: Sequence[str], bar: Thresholds) -> bool:
    """Whether the words in common are not thrown together."""
    return order(said, reference) >= bar.order
