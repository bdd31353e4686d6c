from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eval.ranking.answerability import answerability
from eval.stats.intervals import Draws

SCORES = st.lists(
    st.tuples(st.sampled_from([-math.inf, 0.0, 0.1, 0.2, 0.5, 0.9]), st.booleans()),
    min_size=1,
    max_size=25,
)


def by_definition(scores: list[float], answerable: list[bool]) -> tuple[float, float]:
    """Both rates, written out; nan where there is nothing to compute."""
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
def test_rates_are_their_definitions(rows: list[tuple[float, bool]]) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    found = answerability(np.array(scores), np.array(answerable), Draws(len(rows), 20, 1))
    expected = by_definition(scores, answerable)
    assert found.values.tolist() == pytest.approx(list(expected), nan_ok=True)
    known = found.replicates[~np.isnan(found.replicates)]
    assert ((known >= 0) & (known <= 1)).all()


@given(SCORES)
def test_replicates_and_jackknife_are_the_rates_of_what_was_drawn(
    rows: list[tuple[float, bool]],
) -> None:
    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    draws = Draws(len(rows), 5, 7)
    found = answerability(np.array(scores), np.array(answerable), draws)
    ((_, times),) = draws.pieces()
    for row, weights in enumerate(times):
        drawn = [place for place, n in enumerate(weights) for _ in range(int(n))]
        expected = by_definition([scores[p] for p in drawn], [answerable[p] for p in drawn])
        assert found.replicates[row].tolist() == pytest.approx(list(expected), nan_ok=True)
    for left in range(len(rows)):
        rest = [place for place in range(len(rows)) if place != left]
        expected = by_definition([scores[p] for p in rest], [answerable[p] for p in rest])
        assert found.jackknife[left].tolist() == pytest.approx(list(expected), nan_ok=True)


@given(SCORES)
def test_auroc_is_sklearns(rows: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import roc_auc_score

    scores, answerable = [list(column) for column in zip(*rows, strict=True)]
    assume(len(set(answerable)) == 2)
    found = answerability(np.array(scores), np.array(answerable), Draws(len(rows), 1, 1))
    finite = [-1.0 if score == -math.inf else score for score in scores]
    assert found.values[1] == pytest.approx(roc_auc_score(answerable, finite))


def test_nine_in_ten_are_kept_to_the_question() -> None:
    # Ten answerable: the ninth best decides. Thirty: the 27th, though .9 · 30 is no exact float.
    for count, kept in ((10, 9), (30, 27), (70, 63)):
        right = np.arange(count, 0, -1.0)
        wrong = np.array([right[kept - 1], right[kept - 1] - 0.5])
        best = np.concatenate([right, wrong])
        answerable = np.arange(count + 2) < count
        found = answerability(best, answerable, Draws(count + 2, 1, 1))
        assert found.values[0] == 0.5


def test_perfect_and_empty_knowledge() -> None:
    answerable = np.arange(40) < 20
    perfect = answerability(answerable.astype(float), answerable, Draws(40, 50, 1))
    assert perfect.values.tolist() == [0.0, 1.0]
    blind = answerability(np.ones(40), answerable, Draws(40, 50, 1))
    assert blind.values.tolist() == [1.0, 0.5]
