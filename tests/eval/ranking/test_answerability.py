from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eval.ranking.answerability import bootstrap_answerability
from eval.stats.bootstrap import ClusterResamples

SCORES = st.lists(
    st.tuples(st.sampled_from([-math.inf, 0.0, 0.1, 0.2, 0.5, 0.9]), st.booleans()),
    min_size=1,
    max_size=25,
)


def rates_by_definition(scores: list[float], answerable: list[bool]) -> tuple[float, float]:
    """Returns both rates by their definitions; nan where undefined."""
    right = [s for s, yes in zip(scores, answerable, strict=True) if yes]
    wrong = [s for s, yes in zip(scores, answerable, strict=True) if not yes]
    if not right or not wrong:
        return math.nan, math.nan
    wins = [1.0 if r > w else 0.5 if r == w else 0.0 for r in right for w in wrong]
    kept = [t for t in set(right) if sum(r >= t for r in right) * 10 >= 9 * len(right)]
    threshold = max(kept)
    rate = sum(w >= threshold for w in wrong) / len(wrong)
    return (math.nan if threshold == -math.inf else rate), sum(wins) / len(wins)


@given(SCORES)
def test_rates_match_their_definitions(rows: list[tuple[float, bool]]) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    found = bootstrap_answerability(
        np.array(scores), np.array(answerable), ClusterResamples(len(rows), 20, 1)
    )
    expected = rates_by_definition(scores, answerable)
    assert found.values.tolist() == pytest.approx(list(expected), nan_ok=True)
    known = found.replicates[~np.isnan(found.replicates)]
    assert ((known >= 0) & (known <= 1)).all()


@given(SCORES)
def test_resamples_and_jackknife_match_their_definitions(
    rows: list[tuple[float, bool]],
) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    draws = ClusterResamples(len(rows), 5, 7)
    found = bootstrap_answerability(np.array(scores), np.array(answerable), draws)
    ((_, times),) = draws.iter_weights()
    for row, weights in enumerate(times):
        drawn = [place for place, n in enumerate(weights) for _ in range(int(n))]
        expected = rates_by_definition([scores[p] for p in drawn], [answerable[p] for p in drawn])
        assert found.replicates[row].tolist() == pytest.approx(list(expected), nan_ok=True)
    for left in range(len(rows)):
        rest = [place for place in range(len(rows)) if place != left]
        expected = rates_by_definition([scores[p] for p in rest], [answerable[p] for p in rest])
        assert found.jackknife[left].tolist() == pytest.approx(list(expected), nan_ok=True)


@given(SCORES)
def test_auroc_matches_sklearn(rows: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import roc_auc_score

    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    assume(len(set(answerable)) == 2)
    found = bootstrap_answerability(
        np.array(scores), np.array(answerable), ClusterResamples(len(rows), 1, 1)
    )
    finite = [-1.0 if score == -math.inf else score for score in scores]
    assert found.values[1] == pytest.approx(roc_auc_score(answerable, finite))


def test_threshold_keeps_90_percent_of_questions() -> None:
    # Ten answerable: the ninth best decides. Thirty: the 27th, though .9 · 30 is no exact float.
    for count, kept in ((10, 9), (30, 27), (70, 63)):
        right = np.arange(count, 0, -1.0)
        wrong = np.array([right[kept - 1], right[kept - 1] - 0.5])
        best = np.concatenate([right, wrong])
        answerable = np.arange(count + 2) < count
        found = bootstrap_answerability(best, answerable, ClusterResamples(count + 2, 1, 1))
        assert found.values[0] == 0.5


def test_perfect_and_constant_scores() -> None:
    answerable = np.arange(40) < 20
    perfect = bootstrap_answerability(
        answerable.astype(float), answerable, ClusterResamples(40, 50, 1)
    )
    assert perfect.values.tolist() == [0.0, 1.0]
    blind = bootstrap_answerability(np.ones(40), answerable, ClusterResamples(40, 50, 1))
    assert blind.values.tolist() == [1.0, 0.5]
