from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from eval.stats.calibration import (
    brier_partition,
    brier_score,
    calibration_error,
    equal_mass_bins,
    equal_width_bins,
    simulate_chance_error,
)

REPLIES = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.7, 1.0])),
        st.booleans(),
    ),
    min_size=1,
    max_size=60,
).map(lambda rows: (np.array([c for c, _ in rows]), np.array([float(r) for _, r in rows])))


def ece_by_definition(sure: np.ndarray, right: np.ndarray, bins: np.ndarray) -> float:
    total = 0.0
    for number in set(bins.tolist()):
        inside = bins == number
        total += inside.mean() * abs(right[inside].mean() - sure[inside].mean())
    return total


@pytest.mark.parametrize("count", [5, 10, 20])
def test_decimal_edges_start_their_own_bin(count: int) -> None:
    # 0.3, 0.6 and 0.7 are those that numpy.linspace puts one bin low.
    edges = np.array([float(f"{k / count:.10g}") for k in range(count)])
    assert equal_width_bins(edges, count).tolist() == list(range(count))
    assert equal_width_bins(np.array([1.0]), count).tolist() == [count - 1]
    below = np.nextafter(edges[1:], 0)
    assert equal_width_bins(below, count).tolist() == list(range(count - 1))


def test_confidence_on_an_edge_belongs_to_the_upper_bin() -> None:
    sure = np.array([0.7] * 10 + [0.65] * 10)
    right = np.array([1.0] * 10 + [0.0] * 10)
    assert calibration_error(sure, right, equal_width_bins(sure)) == pytest.approx(0.475)


@settings(deadline=None)
@given(REPLIES)
def test_calibration_error_matches_its_definition(
    replies: tuple[np.ndarray, np.ndarray],
) -> None:
    sure, right = replies
    for bins in (equal_width_bins(sure), equal_mass_bins(sure)):
        error = calibration_error(sure, right, bins)
        assert error == pytest.approx(ece_by_definition(sure, right, bins), abs=1e-12)
        assert -1e-12 <= error <= 1 + 1e-12
        order = np.random.default_rng(len(sure)).permutation(len(sure))
        assert calibration_error(sure[order], right[order], bins[order]) == pytest.approx(error)
        # The error is at most that of single replies and at least that of one bin.
        assert error <= np.abs(sure - right).mean() + 1e-12
        assert error >= abs(sure.mean() - right.mean()) - 1e-12


@settings(deadline=None)
@given(REPLIES, st.integers(1, 12))
def test_equal_mass_bins_keep_ties_together(
    replies: tuple[np.ndarray, np.ndarray], count: int
) -> None:
    sure, _ = replies
    bins = equal_mass_bins(sure, count)
    assert set(bins.tolist()) == set(range(int(bins.max()) + 1))
    assert int(bins.max()) < count
    order = np.argsort(sure, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()
    for confidence in set(sure.tolist()):
        assert len(set(bins[sure == confidence].tolist())) == 1


@pytest.mark.parametrize(("n", "count"), [(100, 10), (103, 10), (7, 10), (50, 5)])
def test_equal_mass_bins_without_ties_have_equal_size(n: int, count: int) -> None:
    sizes = np.bincount(equal_mass_bins(np.random.default_rng(n).random(n), count))
    assert len(sizes) == min(n, count)
    assert sizes.max() - sizes.min() <= 1


@settings(deadline=None)
@given(REPLIES)
def test_brier_score_and_its_parts_match_scikit_learn(
    replies: tuple[np.ndarray, np.ndarray],
) -> None:
    sure, right = replies
    score = brier_score(sure, right)
    assert score == pytest.approx(brier_score_loss(right, sure, pos_label=1), abs=1e-12)
    parts = brier_partition(sure, right, equal_width_bins(sure))
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert whole == pytest.approx(score, abs=1e-12)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    # If each bin has one confidence, the within-bin part is zero.
    alone = brier_partition(sure, right, np.unique(sure, return_inverse=True)[1])
    assert alone.within == pytest.approx(0, abs=1e-12)


def test_bins_match_scikit_learn_without_edge_confidences() -> None:
    rng = np.random.default_rng(3)
    sure = rng.random(500)
    right = (rng.random(500) < sure).astype(float)
    bins = equal_width_bins(sure)
    accuracy, confidence = calibration_curve(right, sure, n_bins=10, strategy="uniform")
    ours = [(right[bins == b].mean(), sure[bins == b].mean()) for b in range(10)]
    assert np.array(ours) == pytest.approx(np.stack([accuracy, confidence], axis=1))


def simulate_errors(sure: np.ndarray, bins: np.ndarray, runs: int) -> np.ndarray:
    rng = np.random.default_rng(77)
    return np.array(
        [calibration_error(sure, (rng.random(len(sure)) < sure) * 1.0, bins) for _ in range(runs)]
    )


@pytest.mark.parametrize(("n", "mean"), [(12, 0.20), (42, 0.11)])
def test_calibrated_systems_have_an_expected_error(n: int, mean: float) -> None:
    # The sizes of the published headline: .20 at 12 replies and .11 at 42.
    sure = np.random.default_rng(1).uniform(0.6, 1, n)
    chance = simulate_chance_error(sure, equal_width_bins(sure), 0.0, simulations=4000)
    assert chance.mean == pytest.approx(mean, abs=0.05)
    theirs = simulate_errors(sure, equal_width_bins(sure), 4000)
    assert chance.mean == pytest.approx(theirs.mean(), rel=0.03)
    assert chance.high == pytest.approx(np.quantile(theirs, 0.95), rel=0.05)
    assert chance.p_value == 1.0
    assert simulate_chance_error(sure, equal_width_bins(sure), 0.9).p_value < 0.01


@pytest.mark.parametrize("seed", [1, 2])
def test_normal_approximation_holds_for_large_bins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sure = np.round(rng.random(1500), 3) if seed == 1 else rng.choice([0.5, 0.995], 1500)
    bins = equal_width_bins(sure)
    chance = simulate_chance_error(sure, bins, 0.0, simulations=3000)
    theirs = simulate_errors(sure, bins, 1500)
    assert chance.mean == pytest.approx(theirs.mean(), rel=0.04)
    assert chance.high == pytest.approx(np.quantile(theirs, 0.95), rel=0.06)


@pytest.mark.parametrize("right", [74, 75, 83, 94])
def test_normal_approximation_rounds_to_whole_replies(right: int) -> None:
    # One bin of equal confidences has an exact answer; without whole numbers .058 became .046.
    sure = np.full(120, 0.7)
    observed = abs(right / 120 - 0.7)
    exact = stats.binom.cdf(84 - abs(right - 84), 120, 0.7)
    exact += stats.binom.sf(84 + abs(right - 84) - 1, 120, 0.7)
    chance = simulate_chance_error(sure, equal_width_bins(sure), observed, simulations=200_000)
    assert chance.p_value == pytest.approx(exact, abs=0.003)


def test_full_confidence_has_no_chance_error() -> None:
    sure = np.array([1.0, 1.0, 0.0])
    chance = simulate_chance_error(sure, equal_width_bins(sure), 0.0)
    assert (chance.mean, chance.high, chance.p_value) == (0.0, 0.0, 1.0)


def test_very_large_low_variance_bins_are_simulated_in_groups() -> None:
    sure = np.linspace(0.9998, 1, 20_000)
    chance = simulate_chance_error(sure, equal_width_bins(sure), 0.0, simulations=4000)
    variance = float((sure * (1 - sure)).sum())
    # Nearly Poisson with a mean of 2: E|X - 2| = 4·e^-2·2^2/2! … about .54 / n.
    poisson = sum(
        abs(k - variance) * np.exp(-variance) * variance**k / np.prod(np.arange(1.0, k + 1))
        for k in range(40)
    )
    assert chance.mean == pytest.approx(poisson / len(sure), rel=0.05)


@pytest.mark.parametrize("observed", [0.05, 0.1, 0.15])
def test_p_value_is_uniform_for_calibrated_systems(observed: float) -> None:
    sure = np.random.default_rng(4).random(80)
    bins = equal_width_bins(sure)
    theirs = simulate_errors(sure, bins, 3000)
    p = simulate_chance_error(sure, bins, observed, simulations=3000).p_value
    assert p == pytest.approx(float((theirs >= observed).mean()), abs=0.03)
