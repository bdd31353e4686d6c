"""Tests the areas under risk–coverage curves against their definitions."""

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


def compute_aurc_by_definition(confidences: np.ndarray, correct: np.ndarray) -> float:
    """Returns the mean, over replies, of the share wrong among replies at least as confident."""
    risks = [(1 - correct)[confidences >= confidence].mean() for confidence in confidences]
    return float(np.mean(risks))


def compute_augrc_by_definition(confidences: np.ndarray, correct: np.ndarray) -> float:
    """Returns the share of pairs whose first reply is wrong and more confident; ties count half."""
    first, second = confidences[:, None], confidences[None, :]
    ranked_above = (first > second) + 0.5 * (first == second)
    return float((ranked_above * (1 - correct)[:, None]).mean())


@settings(deadline=None)
@given(REPLIES)
def test_areas_match_their_definitions(replies: tuple[np.ndarray, np.ndarray]) -> None:
    confidences, correct = replies
    curve = compute_risk_coverage(confidences, correct)
    assert curve.compute_aurc() == pytest.approx(compute_aurc_by_definition(confidences, correct))
    assert curve.compute_augrc() == pytest.approx(
        compute_augrc_by_definition(confidences, correct), abs=1e-12
    )
    assert 0 <= curve.compute_augrc() <= 0.5 + 1e-12
    assert 0 <= curve.compute_aurc() <= 1
    assert (np.diff(curve.thresholds) < 0).all()
    assert (np.diff(curve.accepted) > 0).all()
    assert curve.coverage[-1] == 1
    assert curve.risk[-1] == pytest.approx(1 - correct.mean())
    assert curve.generalised_risk == pytest.approx(curve.risk * curve.coverage)


@settings(deadline=None)
@given(REPLIES)
def test_augrc_follows_from_auroc(replies: tuple[np.ndarray, np.ndarray]) -> None:
    confidences, correct = replies
    accuracy = correct.mean()
    expected = (1 - accuracy) ** 2 / 2
    if 0 < accuracy < 1:
        expected += (1 - roc_auc_score(correct, confidences)) * accuracy * (1 - accuracy)
    assert compute_risk_coverage(confidences, correct).compute_augrc() == pytest.approx(
        expected, abs=1e-12
    )


@settings(deadline=None)
@given(REPLIES)
def test_perfect_order_has_the_smallest_area(replies: tuple[np.ndarray, np.ndarray]) -> None:
    confidences, correct = replies
    reference = compute_reference_areas(len(correct), int((1 - correct).sum()))
    curve = compute_risk_coverage(confidences, correct)
    assert curve.compute_aurc() >= reference.aurc_best - 1e-12
    assert curve.compute_augrc() >= reference.augrc_best - 1e-12
    # In a perfect order every right reply has a higher confidence than every wrong one.
    perfect_confidences = np.argsort(np.argsort(correct, kind="stable"))
    perfect = compute_risk_coverage(perfect_confidences.astype(float), correct)
    assert perfect.compute_aurc() == pytest.approx(reference.aurc_best)
    assert perfect.compute_augrc() == pytest.approx(reference.augrc_best)


def test_a_random_order_gives_the_error_rate_on_average() -> None:
    correct = np.array([1.0, 1, 0, 1, 0])
    curves = [
        compute_risk_coverage(np.array(order, float), correct) for order in permutations(range(5))
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
    confidences, correct = replies
    order = np.random.default_rng(1).permutation(len(confidences))
    curve, shuffled_curve = (
        compute_risk_coverage(confidences, correct),
        compute_risk_coverage(confidences[order], correct[order]),
    )
    assert shuffled_curve.compute_aurc() == curve.compute_aurc()
    assert shuffled_curve.compute_augrc() == curve.compute_augrc()
    ranks = np.unique(confidences, return_inverse=True)[1].astype(float)
    assert compute_risk_coverage(ranks, correct).compute_aurc() == curve.compute_aurc()


def compute_weighted_areas(
    confidences: np.ndarray, correct: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Returns AURC and AUGRC if each reply counts as often as its weight says."""
    accepted = wrong = aurc = augrc = 0.0
    for level in sorted(set(confidences.tolist()), reverse=True):
        at_level = confidences == level
        weight, wrong_weight = weights[at_level].sum(), (weights * (1 - correct))[at_level].sum()
        accepted += weight
        augrc += weight * (2 * wrong + wrong_weight)
        wrong += wrong_weight
        aurc += weight * wrong / accepted
    return np.array([aurc / accepted, augrc / 2 / accepted**2])


@pytest.mark.parametrize("seed", range(4))
def test_influences_match_numerical_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidences = np.round(rng.random(30), 1)
    correct = (rng.random(30) < 0.6).astype(float)
    influences = compute_area_influences(confidences, correct)
    assert influences.sum(axis=0) == pytest.approx([0, 0], abs=1e-9)
    step = 1e-6
    for reply in range(0, 30, 7):
        raised_weights, lowered_weights = np.ones(30), np.ones(30)
        raised_weights[reply] += step
        lowered_weights[reply] -= step
        slope = (
            compute_weighted_areas(confidences, correct, raised_weights)
            - compute_weighted_areas(confidences, correct, lowered_weights)
        ) / (2 * step)
        assert slope * 30 == pytest.approx(influences[reply], abs=1e-6)
