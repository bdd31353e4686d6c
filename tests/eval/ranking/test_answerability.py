"""Tests the rates that tell whether best scores separate answerable from other questions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eval.retrieval_eval.answerability import bootstrap_answerability
from eval.stats.bootstrap import ClusterResamples

SCORES = st.lists(
    st.tuples(st.sampled_from([-math.inf, 0.0, 0.1, 0.2, 0.5, 0.9]), st.booleans()),
    min_size=1,
    max_size=25,
)


def compute_rates_by_definition(scores: list[float], answerable: list[bool]) -> tuple[float, float]:
    """Returns FPR@TPR.90 and AUROC by their definitions; nan where undefined."""
    pairs = list(zip(scores, answerable, strict=True))
    answerable_scores = [score for score, is_answerable in pairs if is_answerable]
    unanswerable_scores = [score for score, is_answerable in pairs if not is_answerable]
    if not answerable_scores or not unanswerable_scores:
        return math.nan, math.nan
    wins = [
        1.0 if with_answer > without_answer else 0.5 if with_answer == without_answer else 0.0
        for with_answer in answerable_scores
        for without_answer in unanswerable_scores
    ]
    # Thresholds that at least 90 % of the answerable questions reach.
    thresholds = [
        threshold
        for threshold in set(answerable_scores)
        if sum(score >= threshold for score in answerable_scores) * 10 >= 9 * len(answerable_scores)
    ]
    threshold = max(thresholds)
    false_positive_rate = sum(score >= threshold for score in unanswerable_scores) / len(
        unanswerable_scores
    )
    return (math.nan if threshold == -math.inf else false_positive_rate), sum(wins) / len(wins)


@given(SCORES)
def test_rates_match_their_definitions(rows: list[tuple[float, bool]]) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    distribution = bootstrap_answerability(
        np.array(scores), np.array(answerable), ClusterResamples(len(rows), 20, 1)
    )
    expected = compute_rates_by_definition(scores, answerable)
    assert distribution.values.tolist() == pytest.approx(list(expected), nan_ok=True)
    defined_values = distribution.replicates[~np.isnan(distribution.replicates)]
    assert ((defined_values >= 0) & (defined_values <= 1)).all()


@given(SCORES)
def test_resamples_and_jackknife_match_their_definitions(
    rows: list[tuple[float, bool]],
) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    resamples = ClusterResamples(len(rows), 5, 7)
    distribution = bootstrap_answerability(np.array(scores), np.array(answerable), resamples)
    ((_, draw_counts),) = resamples.iter_weights()
    for draw, counts in enumerate(draw_counts):
        resample = [index for index, n in enumerate(counts) for _ in range(int(n))]
        expected = compute_rates_by_definition(
            [scores[question] for question in resample],
            [answerable[question] for question in resample],
        )
        assert distribution.replicates[draw].tolist() == pytest.approx(list(expected), nan_ok=True)
    for omitted in range(len(rows)):
        remaining = [index for index in range(len(rows)) if index != omitted]
        expected = compute_rates_by_definition(
            [scores[question] for question in remaining],
            [answerable[question] for question in remaining],
        )
        assert distribution.jackknife[omitted].tolist() == pytest.approx(
            list(expected), nan_ok=True
        )


@given(SCORES)
def test_auroc_matches_sklearn(rows: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import roc_auc_score

    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    assume(len(set(answerable)) == 2)
    distribution = bootstrap_answerability(
        np.array(scores), np.array(answerable), ClusterResamples(len(rows), 1, 1)
    )
    finite_scores = [-1.0 if score == -math.inf else score for score in scores]
    assert distribution.values[1] == pytest.approx(roc_auc_score(answerable, finite_scores))


def test_threshold_keeps_90_percent_of_questions() -> None:
    # Of 10 answerable questions the 9th best score is the threshold, and of 30 the 27th. (.9 · 30
    # is not exact in floating point.)
    for count, required_count in ((10, 9), (30, 27), (70, 63)):
        answerable_scores = np.arange(count, 0, -1.0)
        unanswerable_scores = np.array(
            [answerable_scores[required_count - 1], answerable_scores[required_count - 1] - 0.5]
        )
        best_scores = np.concatenate([answerable_scores, unanswerable_scores])
        answerable = np.arange(count + 2) < count
        distribution = bootstrap_answerability(
            best_scores, answerable, ClusterResamples(count + 2, 1, 1)
        )
        assert distribution.values[0] == 0.5


def test_perfect_and_constant_scores_have_known_rates() -> None:
    answerable = np.arange(40) < 20
    perfect = bootstrap_answerability(
        answerable.astype(float), answerable, ClusterResamples(40, 50, 1)
    )
    assert perfect.values.tolist() == [0.0, 1.0]
    constant = bootstrap_answerability(np.ones(40), answerable, ClusterResamples(40, 50, 1))
    assert constant.values.tolist() == [1.0, 0.5]
