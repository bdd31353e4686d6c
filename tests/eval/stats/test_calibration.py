"""Tests calibration errors, bins and Brier scores against definitions, SciPy and scikit-learn."""

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


def compute_ece_by_definition(
    confidences: np.ndarray, correct: np.ndarray, bins: np.ndarray
) -> float:
    total = 0.0
    for bin_number in set(bins.tolist()):
        in_bin = bins == bin_number
        total += in_bin.mean() * abs(correct[in_bin].mean() - confidences[in_bin].mean())
    return total


@pytest.mark.parametrize("count", [5, 10, 20])
def test_decimal_edges_start_their_own_bin(count: int) -> None:
    # With edges made by numpy.linspace, 0.3, 0.6 and 0.7 would fall into the bin below.
    edges = np.array([float(f"{k / count:.10g}") for k in range(count)])
    assert equal_width_bins(edges, count).tolist() == list(range(count))
    assert equal_width_bins(np.array([1.0]), count).tolist() == [count - 1]
    values_below = np.nextafter(edges[1:], 0)
    assert equal_width_bins(values_below, count).tolist() == list(range(count - 1))


def test_confidence_on_an_edge_belongs_to_the_upper_bin() -> None:
    confidences = np.array([0.7] * 10 + [0.65] * 10)
    correct = np.array([1.0] * 10 + [0.0] * 10)
    assert calibration_error(confidences, correct, equal_width_bins(confidences)) == pytest.approx(
        0.475
    )


@settings(deadline=None)
@given(REPLIES)
def test_calibration_error_matches_its_definition(
    replies: tuple[np.ndarray, np.ndarray],
) -> None:
    confidences, correct = replies
    for bins in (equal_width_bins(confidences), equal_mass_bins(confidences)):
        error = calibration_error(confidences, correct, bins)
        assert error == pytest.approx(
            compute_ece_by_definition(confidences, correct, bins), abs=1e-12
        )
        assert -1e-12 <= error <= 1 + 1e-12
        order = np.random.default_rng(len(confidences)).permutation(len(confidences))
        assert calibration_error(confidences[order], correct[order], bins[order]) == pytest.approx(
            error
        )
        # The error is at most that of single replies and at least that of one bin.
        assert error <= np.abs(confidences - correct).mean() + 1e-12
        assert error >= abs(confidences.mean() - correct.mean()) - 1e-12


@settings(deadline=None)
@given(REPLIES, st.integers(1, 12))
def test_equal_mass_bins_keep_ties_together(
    replies: tuple[np.ndarray, np.ndarray], count: int
) -> None:
    confidences, _ = replies
    bins = equal_mass_bins(confidences, count)
    assert set(bins.tolist()) == set(range(int(bins.max()) + 1))
    assert int(bins.max()) < count
    order = np.argsort(confidences, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()
    for confidence in set(confidences.tolist()):
        assert len(set(bins[confidences == confidence].tolist())) == 1


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
    confidences, correct = replies
    score = brier_score(confidences, correct)
    assert score == pytest.approx(brier_score_loss(correct, confidences, pos_label=1), abs=1e-12)
    parts = brier_partition(confidences, correct, equal_width_bins(confidences))
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert total == pytest.approx(score, abs=1e-12)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    # If each bin has one confidence, the within-bin part is zero.
    single_value_partition = brier_partition(
        confidences, correct, np.unique(confidences, return_inverse=True)[1]
    )
    assert single_value_partition.within == pytest.approx(0, abs=1e-12)


def test_bins_match_scikit_learn_without_edge_confidences() -> None:
    rng = np.random.default_rng(3)
    confidences = rng.random(500)
    correct = (rng.random(500) < confidences).astype(float)
    bins = equal_width_bins(confidences)
    accuracy, confidence = calibration_curve(correct, confidences, n_bins=10, strategy="uniform")
    bin_means = [(correct[bins == b].mean(), confidences[bins == b].mean()) for b in range(10)]
    assert np.array(bin_means) == pytest.approx(np.stack([accuracy, confidence], axis=1))


def simulate_errors(confidences: np.ndarray, bins: np.ndarray, runs: int) -> np.ndarray:
    rng = np.random.default_rng(77)
    return np.array(
        [
            calibration_error(confidences, (rng.random(len(confidences)) < confidences) * 1.0, bins)
            for _ in range(runs)
        ]
    )


@pytest.mark.parametrize(("n", "mean"), [(12, 0.20), (42, 0.11)])
def test_calibrated_systems_have_an_expected_error(n: int, mean: float) -> None:
    # The published results have 12 and 42 replies. Even a calibrated system then has an expected
    # error of about .20 and .11.
    confidences = np.random.default_rng(1).uniform(0.6, 1, n)
    chance_error = simulate_chance_error(
        confidences, equal_width_bins(confidences), 0.0, simulations=4000
    )
    assert chance_error.mean == pytest.approx(mean, abs=0.05)
    simulated = simulate_errors(confidences, equal_width_bins(confidences), 4000)
    assert chance_error.mean == pytest.approx(simulated.mean(), rel=0.03)
    assert chance_error.high == pytest.approx(np.quantile(simulated, 0.95), rel=0.05)
    assert chance_error.p_value == 1.0
    assert simulate_chance_error(confidences, equal_width_bins(confidences), 0.9).p_value < 0.01


@pytest.mark.parametrize("seed", [1, 2])
def test_normal_approximation_holds_for_large_bins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidences = np.round(rng.random(1500), 3) if seed == 1 else rng.choice([0.5, 0.995], 1500)
    bins = equal_width_bins(confidences)
    chance_error = simulate_chance_error(confidences, bins, 0.0, simulations=3000)
    simulated_errors = simulate_errors(confidences, bins, 1500)
    assert chance_error.mean == pytest.approx(simulated_errors.mean(), rel=0.04)
    assert chance_error.high == pytest.approx(np.quantile(simulated_errors, 0.95), rel=0.06)


@pytest.mark.parametrize("correct_count", [74, 75, 83, 94])
def test_normal_approximation_rounds_to_whole_replies(correct_count: int) -> None:
    # With one bin of equal confidences, the exact p-value is a sum of binomial probabilities (84 of
    # 120 replies are expected to be right). Without rounding, the result was .046 instead of .058.
    confidences = np.full(120, 0.7)
    observed = abs(correct_count / 120 - 0.7)
    exact = stats.binom.cdf(84 - abs(correct_count - 84), 120, 0.7)
    exact += stats.binom.sf(84 + abs(correct_count - 84) - 1, 120, 0.7)
    chance_error = simulate_chance_error(
        confidences, equal_width_bins(confidences), observed, simulations=200_000
    )
    assert chance_error.p_value == pytest.approx(exact, abs=0.003)


def test_full_confidence_has_no_chance_error() -> None:
    confidences = np.array([1.0, 1.0, 0.0])
    chance_error = simulate_chance_error(confidences, equal_width_bins(confidences), 0.0)
    assert (chance_error.mean, chance_error.high, chance_error.p_value) == (0.0, 0.0, 1.0)


def test_very_large_low_variance_bins_are_simulated_in_groups() -> None:
    confidences = np.linspace(0.9998, 1, 20_000)
    chance_error = simulate_chance_error(
        confidences, equal_width_bins(confidences), 0.0, simulations=4000
    )
    variance = float((confidences * (1 - confidences)).sum())
    # The number of wrong replies is nearly Poisson with a mean of about 2, so the expected error is
    # its mean absolute deviation divided by the number of replies.
    mean_absolute_deviation = sum(
        abs(k - variance) * np.exp(-variance) * variance**k / np.prod(np.arange(1.0, k + 1))
        for k in range(40)
    )
    assert chance_error.mean == pytest.approx(mean_absolute_deviation / len(confidences), rel=0.05)


@pytest.mark.parametrize("observed", [0.05, 0.1, 0.15])
def test_p_value_is_uniform_for_calibrated_systems(observed: float) -> None:
    confidences = np.random.default_rng(4).random(80)
    bins = equal_width_bins(confidences)
    simulated_errors = simulate_errors(confidences, bins, 3000)
    p_value = simulate_chance_error(confidences, bins, observed, simulations=3000).p_value
    assert p_value == pytest.approx(float((simulated_errors >= observed).mean()), abs=0.03)
