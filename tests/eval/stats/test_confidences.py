"""Tests resampled calibration and selective-prediction statistics against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.stats.bootstrap import ClusterResamples, Floats
from eval.stats.calibration import calibration_error
from eval.stats.confidences import STATISTICS, ConfidentReplies
from eval.stats.selective_prediction import compute_risk_coverage


def make_replies(seed: int, n: int, levels: int | None) -> ConfidentReplies:
    """Makes random replies in clusters of three; ``levels`` limits the distinct confidences."""
    rng = np.random.default_rng(seed)
    confidences = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return ConfidentReplies(
        confidences=confidences,
        right=(rng.random(n) < 0.2 + 0.6 * confidences).astype(float),
        clusters=np.arange(n) // 3,
    )


def compute_statistics_by_definition(
    all_replies: ConfidentReplies, drawn_clusters: Floats
) -> Floats:
    """Returns the statistics of one resample, reply by reply, with the original bins."""
    positions = np.concatenate([np.flatnonzero(all_replies.clusters == c) for c in drawn_clusters])
    confidences, correct = all_replies.confidences[positions], all_replies.right[positions]
    curve = compute_risk_coverage(confidences, correct)
    return np.array(
        [
            calibration_error(confidences, correct, all_replies.equal_width[positions]),
            calibration_error(confidences, correct, all_replies.equal_mass[positions]),
            ((confidences - correct) ** 2).mean(),
            curve.compute_aurc(),
            curve.compute_augrc(),
        ]
    )


# Without levels, near confidences are grouped, so the statistics are only approximate.
@pytest.mark.parametrize(("levels", "tolerance"), [(10, 1e-12), (100, 1e-12), (None, 4e-3)])
def test_resample_statistics_match_their_replies(levels: int | None, tolerance: float) -> None:
    replies = make_replies(5, 600, levels)
    distribution = replies.compute_distribution(ClusterResamples(200, 40, 42))
    draws = np.random.default_rng(42).integers(0, 200, (40, 200))
    expected = np.array(
        [compute_statistics_by_definition(replies, drawn_clusters) for drawn_clusters in draws]
    )
    assert np.abs(distribution.replicates - expected).max() < tolerance
    assert distribution.values == pytest.approx(replies.compute_values(), abs=1e-15)


def test_grouping_confidence_levels_barely_changes_intervals() -> None:
    replies = make_replies(7, 900, None)
    distribution = replies.compute_distribution(ClusterResamples(300, 300, 1))
    draws = np.random.default_rng(1).integers(0, 300, (300, 300))
    expected = np.array(
        [compute_statistics_by_definition(replies, drawn_clusters) for drawn_clusters in draws]
    )
    standard_errors = distribution.replicates.std(axis=0)
    assert (
        np.abs(distribution.replicates.mean(axis=0) - expected.mean(axis=0)).max()
        < standard_errors.min() / 20
    )
    assert standard_errors == pytest.approx(expected.std(axis=0), rel=0.02)


def test_batched_resampling_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = make_replies(2, 90, 10)
    unbatched = replies.compute_distribution(ClusterResamples(30, 50, 9))
    # Limits so low that the 50 resamples of 30 clusters are drawn in batches of seven.
    monkeypatch.setattr("eval.stats.bootstrap._MAX_CACHED_WEIGHTS", 0)
    monkeypatch.setattr("eval.stats.bootstrap._MAX_WEIGHTS_PER_BATCH", 30 * 7)
    monkeypatch.setattr("eval.stats.bootstrap._MAX_DRAWS_PER_STEP", 30 * 2)
    assert replies.compute_distribution(ClusterResamples(30, 50, 9)).replicates == pytest.approx(
        unbatched.replicates
    )


def test_acceleration_matches_leave_one_cluster_out() -> None:
    replies = make_replies(11, 300, 20)
    distribution = replies.compute_distribution(ClusterResamples(100, 500, 3))
    expected_jackknife = np.array(
        [
            compute_statistics_by_definition(
                replies, np.array([c for c in range(100) if c != excluded])
            )
            for excluded in range(100)
        ]
    )

    def compute_acceleration(jackknife: Floats) -> Floats:
        deviations = jackknife.mean(axis=0) - jackknife
        return (deviations**3).sum(axis=0) / (6 * (deviations**2).sum(axis=0) ** 1.5)

    # The first two statistics, the calibration errors, have no jackknife values.
    actual = compute_acceleration(distribution.jackknife[:, 2:])
    expected = compute_acceleration(expected_jackknife[:, 2:])
    assert actual == pytest.approx(expected, abs=0.003)
    assert np.isnan(distribution.jackknife[:, :2]).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 4, 10]))
def test_statistics_are_bounded_for_any_replies(seed: int, n: int, levels: int) -> None:
    replies = make_replies(seed, n, levels)
    distribution = replies.compute_distribution(ClusterResamples(n // 3 + 1, 30, seed))
    defined = distribution.replicates[~np.isnan(distribution.replicates).any(axis=1)]
    assert len(distribution.values) == len(STATISTICS)
    assert ((distribution.values >= 0) & (distribution.values <= 1)).all()
    assert ((defined >= -1e-9) & (defined <= 1 + 1e-9)).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_order_and_duplication_of_clusters_do_not_matter(
    seed: int,
) -> None:
    replies = make_replies(seed, 45, 10)
    order = np.random.default_rng(seed).permutation(45)
    shuffled = ConfidentReplies(
        replies.confidences[order], replies.right[order], replies.clusters[order]
    )
    assert shuffled.compute_values() == pytest.approx(replies.compute_values(), abs=1e-12)
    doubled = ConfidentReplies(
        np.tile(replies.confidences, 2),
        np.tile(replies.right, 2),
        np.concatenate([replies.clusters, replies.clusters + 15]),
    )
    assert doubled.compute_values() == pytest.approx(replies.compute_values(), abs=1e-12)
