"""A system is called better only if its interval excludes 0 and its adjusted p is small."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from eval.ranking.answerability import AUROC, FALSE_POSITIVES
from eval.ranking.differences import compare_retrievers
from eval.ranking.question_scores import QuestionScores
from eval.ranking.questions import KINDS, UNANSWERABLE, Question
from eval.ranking.rankings import Rankings
from eval.ranking.record import ALL_QUESTIONS, Difference
from eval.stats.bootstrap import ClusterResamples

EACH = 12
"""Questions of each kind."""
SKILL = {"bm25": 2.0, "dense": 3.0, "guess": 6.0, "worse": 9.0}
"""Retrievers, and how far down the gold stands on average."""


def make_questions() -> list[Question]:
    return [
        Question(
            id=f"{kind}{n}",
            question=f"{kind} {n}?",
            kind=kind,
            split="test",
            gold=() if kind == UNANSWERABLE else (f"gold {kind}{n}",),
        )
        for kind in KINDS
        for n in range(EACH)
    ]


def rankings_of(name: str, questions: list[Question]) -> Rankings:
    """Returns random rankings; bm25's best scores mostly reveal which questions have gold."""
    rng = np.random.default_rng(len(name) + ord(name[0]))
    by_question: dict[str, dict[str, float]] = {}
    for question in questions:
        ids = [f"other {n}" for n in range(20)]
        for gold in question.gold:
            ids.insert(int(min(rng.geometric(1 / SKILL[name]) - 1, 20)), gold)
        right = rng.random() < (0.95 if name == "bm25" else 0.2)
        top = float(rng.random()) + (200.0 if right == question.answerable else 100.0)
        by_question[question.id] = {one: top - place for place, one in enumerate(ids)}
    return Rankings(name, {}, by_question)


@cache
def compare_rankings() -> tuple[Difference, ...]:
    questions = make_questions()
    rankings = {name: rankings_of(name, questions) for name in SKILL}
    samples = QuestionScores(questions, rankings, ClusterResamples(len(questions), 500, 1), 0.95)
    return compare_retrievers(samples, list(itertools.combinations(SKILL, 2)))


def adjust_by_holm(p: list[float]) -> list[float]:
    """Holm (1979): the k-th smallest of m p-values times m - k + 1, monotone."""
    adjusted, least = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = max(least, min(1.0, p[place] * (len(p) - rank)))
        adjusted[place] = least
    return adjusted


def test_holm_families_are_all_kinds_and_all_questions() -> None:
    for measure in {one.measure for one in compare_rankings()}:
        for of_all in (True, False):
            family = [
                one
                for one in compare_rankings()
                if one.measure == measure
                and (one.group == ALL_QUESTIONS) == of_all
                and one.p is not None
            ]
            assert [one.p_holm for one in family] == pytest.approx(
                adjust_by_holm([one.p for one in family if one.p is not None]), abs=1e-9
            )
            if not of_all and family:
                assert len(family) == 6 * (len(KINDS) - 1)


def test_better_requires_interval_and_adjusted_p_value() -> None:
    apart_only, named = 0, 0
    for one in compare_rankings():
        if one.low is None or one.high is None or one.p_holm is None:
            assert one.better is None
            continue
        apart = one.low > 0 or one.high < 0
        if not (apart and one.p_holm < 0.05):
            assert one.better is None
            apart_only += apart
            continue
        named += 1
        more = one.first if one.low > 0 else one.second
        less = one.second if one.low > 0 else one.first
        assert one.better == (less if one.measure == FALSE_POSITIVES else more)
    assert apart_only, "no interval left out 0 while Holm held back: nothing was tested"
    assert named


def test_fewer_false_positives_are_better() -> None:
    for measure in (FALSE_POSITIVES, AUROC):
        (one,) = (
            one
            for one in compare_rankings()
            if (one.first, one.second, one.measure) == ("bm25", "dense", measure)
        )
        assert one.difference is not None
        assert (one.difference < 0) == (measure == FALSE_POSITIVES)
        assert one.better == "bm25"
