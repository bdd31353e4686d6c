from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from eval.stats.selective_prediction import (
    compute_area_influences,
    compute_reference_areas,
    compute_risk_coverage,
)

REPLIES = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.9, 1.0])), st.booleans()),
    min_size=1,
    max_size=40,
).map(lambda rows: (np.array([c for c, _ in rows]), np.array([float(r) for _, r in rows])))


def aurc_by_definition(sure: np.ndarray, right: np.ndarray) -> float:
    """Mean, over the replies, of the share of wrong ones among those at least as sure."""
    risks = [(1 - right)[sure >= own].mean() for own in sure]
    return float(np.mean(risks))


def augrc_by_definition(sure: np.ndarray, right: np.ndarray) -> float:
    """Mean, over all pairs, of the first being wrong and surer than the second; ties half."""
    first, second = sure[:, None], sure[None, :]
    above = (first > second) + 0.5 * (first == second)
    return float((above * (1 - right)[:, None]).mean())


@settings(deadline=None)
@given(REPLIES)
def test_areas_match_their_definitions(replies: tuple[np.ndarray, np.ndarray]) -> None:
    sure, right = replies
    curve = compute_risk_coverage(sure, right)
    assert curve.compute_aurc() == pytest.approx(aurc_by_definition(sure, right))
    assert curve.compute_augrc() == pytest.approx(augrc_by_definition(sure, right), abs=1e-12)
    assert 0 <= curve.compute_augrc() <= 0.5 + 1e-12
    assert 0 <= curve.compute_aurc() <= 1
    assert (np.diff(curve.thresholds) < 0).all()
    assert (np.diff(curve.accepted) > 0).all()
    assert curve.coverage[-1] == 1
    assert curve.risk[-1] == pytest.approx(1 - right.mean())
    assert curve.generalised_risk == pytest.approx(curve.risk * curve.coverage)


@settings(deadline=None)
@given(REPLIES)
def test_augrc_follows_from_auroc(replies: tuple[np.ndarray, np.ndarray]) -> None:
    sure, right = replies
    accuracy = right.mean()
    expected = (1 - accuracy) ** 2 / 2
    if 0 < accuracy < 1:
        expected += (1 - roc_auc_score(right, sure)) * accuracy * (1 - accuracy)
    assert compute_risk_coverage(sure, right).compute_augrc() == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(REPLIES)
def test_perfect_order_has_the_smallest_area(replies: tuple[np.ndarray, np.ndarray]) -> None:
    sure, right = replies
    reference = compute_reference_areas(len(right), int((1 - right).sum()))
    curve = compute_risk_coverage(sure, right)
    assert curve.compute_aurc() >= reference.aurc_best - 1e-12
    assert curve.compute_augrc() >= reference.augrc_best - 1e-12
    # Right replies have higher confidence than wrong ones, all distinct.
    places = np.argsort(np.argsort(right, kind="stable"))
    perfect = compute_risk_coverage(places.astype(float), right)
    assert perfect.compute_aurc() == pytest.approx(reference.aurc_best)
    assert perfect.compute_augrc() == pytest.approx(reference.augrc_best)


def test_a_random_order_gives_the_error_rate_on_average() -> None:
    right = np.array([1.0, 1, 0, 1, 0])
    curves = [
        compute_risk_coverage(np.array(order, float), right) for order in permutations(range(5))
    ]
    reference = compute_reference_areas(5, 2)
    assert np.mean([curve.compute_aurc() for curve in curves]) == pytest.approx(
        reference.aurc_random
    )
    assert np.mean([curve.compute_augrc() for curve in curves]) == pytest.approx(
        reference.augrc_random
    )


@settings(deadline=None)
@given(REPLIES)
def test_reply_order_and_confidence_scale_do_not_matter(
    replies: tuple[np.ndarray, np.ndarray],
) -> None:
    sure, right = replies
    order = np.random.default_rng(1).permutation(len(sure))
    curve, other = (
        compute_risk_coverage(sure, right),
        compute_risk_coverage(sure[order], right[order]),
    )
    assert other.compute_aurc() == curve.compute_aurc()
    assert other.compute_augrc() == curve.compute_augrc()
    ranks = np.unique(sure, return_inverse=True)[1].astype(float)
    assert compute_risk_coverage(ranks, right).compute_aurc() == curve.compute_aurc()


def weighted_areas(sure: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    accepted = wrong = aurc = augrc = 0.0
    for level in sorted(set(sure.tolist()), reverse=True):
        here = sure == level
        new, failed = weights[here].sum(), (weights * (1 - right))[here].sum()
        accepted += new
        augrc += new * (2 * wrong + failed)
        wrong += failed
        aurc += new * wrong / accepted
    return np.array([aurc / accepted, augrc / 2 / accepted**2])


@pytest.mark.parametrize("seed", range(4))
def test_influences_match_numerical_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sure = np.round(rng.random(30), 1)
    right = (rng.random(30) < 0.6).astype(float)
    influences = compute_area_influences(sure, right)
    assert influences.sum(axis=0) == pytest.approx([0, 0], abs=1e-9)
    step = 1e-6
    for reply in range(0, 30, 7):
        more, less = np.ones(30), np.ones(30)
        more[reply] += step
        less[reply] -= step
        slope = (weighted_areas(sure, right, more) - weighted_areas(sure, right, less)) / (2 * step)
        assert slope * 30 == pytest.approx(influences[reply], abs=1e-6)
