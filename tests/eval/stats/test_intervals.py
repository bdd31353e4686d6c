"""Tests Wilson, percentile and BCa intervals against SciPy, and bootstrap resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.bootstrap import (
    ClusterResamples,
    ResampledCounts,
    compute_ratio_distribution,
    compute_resampled_sums,
    resample_blocks,
    round_significant,
)
from kg.base.proportions import wilson_interval

NUMERATORS = np.array([[1.0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
DENOMINATORS = np.array([[1.0, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]])
"""Three ratios: each row says which of a cluster's four counts are added up."""


@given(
    st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_wilson_matches_scipy(case: tuple[int, int], confidence: float) -> None:
    successes, trials = case
    expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(successes, trials, confidence)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= low <= successes / trials <= high <= 1


def test_wilson_at_0_and_1_has_one_exact_limit() -> None:
    assert wilson_interval(42, 42) == (pytest.approx(0.916, abs=5e-4), 1.0)
    assert wilson_interval(0, 42)[0] == 0.0
    assert wilson_interval(0, 42)[1] == pytest.approx(0.084, abs=5e-4)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_invalid_proportions(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="trials"):
        wilson_interval(successes, trials)


def make_clusters(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 4, (count, 4)).astype(float)


@pytest.mark.parametrize("seed", [42, 12345])
@pytest.mark.parametrize("count", [30, 173])
def test_percentile_and_bca_match_scipy(seed: int, count: int) -> None:
    cluster_counts = make_clusters(seed + count, count)
    distribution = compute_ratio_distribution(
        ResampledCounts(
            cluster_counts,
            compute_resampled_sums(
                cluster_counts, ClusterResamples(len(cluster_counts), 1000, seed)
            ),
        ),
        NUMERATORS,
        DENOMINATORS,
    )
    intervals = distribution.compute_intervals(0.95)
    for column in range(3):

        def compute_ratio(
            positions: np.ndarray, axis: int = -1, column: int = column
        ) -> np.ndarray:
            rows = cluster_counts[np.asarray(positions, dtype=int)]
            numerators = (rows @ NUMERATORS[column]).sum(axis=axis)
            return numerators / (rows @ DENOMINATORS[column]).sum(axis=axis)

        for method, bounds in (("percentile", intervals.percentile), ("BCa", intervals.bca)):
            scipy_result = stats.bootstrap(
                (np.arange(count),),
                compute_ratio,
                n_resamples=1000,
                method=method,
                rng=np.random.default_rng(seed),
                vectorized=True,
            )
            expected = tuple(scipy_result.confidence_interval)
            assert tuple(bounds[:, column]) == pytest.approx(expected, abs=1e-10)
        assert distribution.compute_standard_errors()[column] == pytest.approx(
            scipy_result.standard_error
        )


def test_random_stream_does_not_depend_on_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_counts = make_clusters(1, 37)
    draws = np.random.default_rng(42).integers(0, 37, (250, 37))
    expected = cluster_counts[draws].sum(axis=1)
    assert np.array_equal(
        compute_resampled_sums(cluster_counts, ClusterResamples(len(cluster_counts), 250, 42)),
        expected,
    )
    # Batches of one row, of some rows, and rows longer than a batch.
    for batch_size in (1, 37, 37 * 7):
        monkeypatch.setattr("eval.stats.bootstrap._MAX_WEIGHTS_PER_BATCH", batch_size)
        monkeypatch.setattr("eval.stats.bootstrap._MAX_DRAWS_PER_STEP", max(1, batch_size // 3))
        assert np.array_equal(
            compute_resampled_sums(cluster_counts, ClusterResamples(len(cluster_counts), 250, 42)),
            expected,
        )


def test_large_sums_stay_exact() -> None:
    cluster_counts = np.array([[2.0**24 + 1], [1.0]])
    draws = np.random.default_rng(3).integers(0, 2, (50, 2))
    assert np.array_equal(
        compute_resampled_sums(cluster_counts, ClusterResamples(len(cluster_counts), 50, 3)),
        cluster_counts[draws].sum(axis=1),
    )


def test_blocks_share_one_random_stream() -> None:
    first, second = make_clusters(5, 20), make_clusters(6, 20)
    second[:, 2] = 0
    blocks = resample_blocks([first, second], ClusterResamples(20, 100, 9))
    assert np.array_equal(
        blocks[0].sums, compute_resampled_sums(first, ClusterResamples(len(first), 100, 9))
    )
    assert np.array_equal(
        blocks[1].sums, compute_resampled_sums(second, ClusterResamples(len(second), 100, 9))
    )
    assert resample_blocks([], ClusterResamples(20, 100, 9)) == []


def test_no_clusters_give_no_values_and_no_warning() -> None:
    empty = np.zeros((0, 4))
    distribution = compute_ratio_distribution(
        ResampledCounts(empty, compute_resampled_sums(empty, ClusterResamples(len(empty), 10, 1))),
        NUMERATORS,
        DENOMINATORS,
    )
    assert np.isnan(distribution.values).all()
    assert distribution.degenerate.all()
    assert np.isnan(distribution.compute_standard_errors()).all()


def test_all_successes_are_marked_degenerate() -> None:
    cluster_counts = np.tile([2.0, 0, 0, 0], (12, 1))
    distribution = compute_ratio_distribution(
        ResampledCounts(
            cluster_counts,
            compute_resampled_sums(cluster_counts, ClusterResamples(len(cluster_counts), 200, 1)),
        ),
        NUMERATORS,
        DENOMINATORS,
    )
    intervals = distribution.compute_intervals()
    assert distribution.values[0] == 1
    assert intervals.degenerate[0]
    assert intervals.support[0] == 12
    assert np.isnan(intervals.bca[:, 0]).all()


def test_resamples_with_denominator_zero_are_left_out() -> None:
    cluster_counts = np.zeros((6, 4))
    cluster_counts[0], cluster_counts[1] = [1, 0, 0, 0], [1, 1, 0, 0]
    distribution = compute_ratio_distribution(
        ResampledCounts(
            cluster_counts,
            compute_resampled_sums(cluster_counts, ClusterResamples(len(cluster_counts), 400, 7)),
        ),
        NUMERATORS,
        DENOMINATORS,
    )
    undefined_share = distribution.undefined_share[0]
    # Neither of the two clusters is drawn in (4/6)^6 of the resamples.
    assert undefined_share == pytest.approx((4 / 6) ** 6, abs=0.05)
    # Two clusters are too few for the bootstrap, though its resamples do vary.
    assert distribution.degenerate[0]
    defined = distribution.replicates[:, 0][~np.isnan(distribution.replicates[:, 0])]
    assert distribution.compute_intervals().percentile[:, 0] == pytest.approx(
        np.quantile(defined, [0.025, 0.975])
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.8, 0.95]))
def test_quantiles_match_numpy(seed: int, confidence: float) -> None:
    cluster_counts = make_clusters(seed, 9)
    distribution = compute_ratio_distribution(
        ResampledCounts(
            cluster_counts,
            compute_resampled_sums(
                cluster_counts, ClusterResamples(len(cluster_counts), 101, seed)
            ),
        ),
        NUMERATORS,
        DENOMINATORS,
    )
    tails = [0.5 - confidence / 2, 0.5 + confidence / 2]
    for column in range(3):
        replicates = distribution.replicates[:, column]
        if np.isnan(replicates).any():
            continue
        expected = np.quantile(replicates, tails)
        assert distribution.compute_intervals(confidence).percentile[:, column] == pytest.approx(
            expected
        )


def test_values_are_rounded_to_twelve_digits() -> None:
    assert round_significant(1 / 3) == 0.333333333333
    assert round_significant(0.0) == 0.0


def test_underflowing_values_have_no_bca_interval() -> None:
    # The squares of such small deviations are above zero, but their cubes underflow to zero, so
    # BCa would divide zero by zero.
    tiny = np.column_stack([np.array([0.0, 1e-120, 3e-120, 2e-120]), np.ones(4)])
    resampled_counts = ResampledCounts(
        tiny, compute_resampled_sums(tiny, ClusterResamples(4, 200, 1))
    )
    distribution = compute_ratio_distribution(
        resampled_counts, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    )
    intervals = distribution.compute_intervals(0.95)
    assert np.isnan(intervals.bca).all()
    assert np.isfinite(intervals.percentile).all()
