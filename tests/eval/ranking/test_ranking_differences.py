"""Tests that a retriever is called better only if its interval excludes 0 and adjusted p < .05."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from eval.retrieval_eval.answerability import AUROC, FALSE_POSITIVES
from eval.retrieval_eval.differences import compare_retrievers
from eval.retrieval_eval.question_scores import QuestionScores, RetrieverScores
from eval.retrieval_eval.questions import KINDS, UNANSWERABLE, Question
from eval.retrieval_eval.record import ALL_QUESTIONS, RetrieverComparison
from eval.retrieval_eval.row import RetrievalRow
from eval.retrieval_eval.row_builder import build_row
from eval.retrieval_eval.systems.view import read_ranking
from eval.stats.bootstrap import ClusterResamples

QUESTIONS_PER_KIND = 12
"""Number of questions of each kind."""
MEAN_GOLD_RANK = {"bm25": 2.0, "dense": 3.0, "guess": 6.0, "worse": 9.0}
"""The retrievers of the comparison, and the mean rank at which each finds the gold."""


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
        for n in range(QUESTIONS_PER_KIND)
    ]


def make_rows(name: str, questions: list[Question]) -> list[RetrievalRow]:
    """Returns rows of random rankings; bm25's best scores mostly tell which questions have gold."""
    rng = np.random.default_rng(len(name) + ord(name[0]))  # another seed for each retriever
    rows: list[RetrievalRow] = []
    for question in questions:
        ids = [f"other {n}" for n in range(20)]
        for gold in question.gold:
            ids.insert(int(min(rng.geometric(1 / MEAN_GOLD_RANK[name]) - 1, 20)), gold)
        is_informative = rng.random() < (0.95 if name == "bm25" else 0.2)
        top_score = float(rng.random()) + (
            200.0 if is_informative == question.answerable else 100.0
        )
        ranking = {chunk: top_score - position for position, chunk in enumerate(ids)}
        rows.append(build_row(question, read_ranking(ranking)))
    return rows


@cache
def compare_rankings() -> tuple[RetrieverComparison, ...]:
    questions = make_questions()
    kinds = {question.id: question.kind for question in questions}
    retrievers = {
        name: RetrieverScores.from_rows(name, make_rows(name, questions), kinds)
        for name in MEAN_GOLD_RANK
    }
    resamples = ClusterResamples(len(questions), 500, 1)
    scores = QuestionScores(list(kinds.values()), retrievers, resamples, 0.95)
    return compare_retrievers(scores, list(itertools.combinations(MEAN_GOLD_RANK, 2)))


def adjust_by_holm(p: list[float]) -> list[float]:
    """Holm (1979): the k-th smallest of m p-values times m - k + 1, monotone."""
    adjusted, running_maximum = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        running_maximum = max(running_maximum, min(1.0, p[index] * (len(p) - rank)))
        adjusted[index] = running_maximum
    return adjusted


def test_holm_families_are_all_kinds_and_all_questions() -> None:
    for measure in {comparison.metric for comparison in compare_rankings()}:
        for all_questions in (True, False):
            family = [
                comparison
                for comparison in compare_rankings()
                if comparison.metric == measure
                and (comparison.group == ALL_QUESTIONS) == all_questions
                and comparison.p is not None
            ]
            assert [comparison.p_holm for comparison in family] == pytest.approx(
                adjust_by_holm([comparison.p for comparison in family if comparison.p is not None]),
                abs=1e-9,
            )
            if not all_questions and family:
                # Six pairs of retrievers, for each kind that has gold.
                assert len(family) == 6 * (len(KINDS) - 1)


def test_better_requires_interval_and_adjusted_p_value() -> None:
    rejected_by_holm, winners = 0, 0
    for comparison in compare_rankings():
        if comparison.low is None or comparison.high is None or comparison.p_holm is None:
            assert comparison.better is None
            continue
        excludes_zero = comparison.low > 0 or comparison.high < 0
        if not (excludes_zero and comparison.p_holm < 0.05):
            assert comparison.better is None
            rejected_by_holm += excludes_zero
            continue
        winners += 1
        higher = comparison.candidate if comparison.low > 0 else comparison.baseline
        lower = comparison.baseline if comparison.low > 0 else comparison.candidate
        assert comparison.better == (lower if comparison.metric == FALSE_POSITIVES else higher)
    # Both cases must occur, or else the assertions above have tested nothing.
    assert rejected_by_holm
    assert winners


def test_fewer_false_positives_are_better() -> None:
    for measure in (FALSE_POSITIVES, AUROC):
        (comparison,) = (
            comparison
            for comparison in compare_rankings()
            if (comparison.candidate, comparison.baseline, comparison.metric)
            == ("bm25", "dense", measure)
        )
        assert comparison.difference is not None
        assert (comparison.difference < 0) == (measure == FALSE_POSITIVES)
        assert comparison.better == "bm25"
