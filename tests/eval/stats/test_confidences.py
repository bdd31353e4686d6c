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
    rng = np.random.default_rng(seed)
    sure = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return ConfidentReplies(
        confidences=sure,
        right=(rng.random(n) < 0.2 + 0.6 * sure).astype(float),
        clusters=np.arange(n) // 3,
    )


def statistics_by_definition(all_replies: ConfidentReplies, draws: Floats) -> Floats:
    """Returns the statistics of one resample, reply by reply, with the original bins."""
    places = np.concatenate([np.flatnonzero(all_replies.clusters == c) for c in draws])
    sure, right = all_replies.confidences[places], all_replies.right[places]
    curve = compute_risk_coverage(sure, right)
    return np.array(
        [
            calibration_error(sure, right, all_replies.equal_width[places]),
            calibration_error(sure, right, all_replies.equal_mass[places]),
            ((sure - right) ** 2).mean(),
            curve.compute_aurc(),
            curve.compute_augrc(),
        ]
    )


@pytest.mark.parametrize(("levels", "tolerance"), [(10, 1e-12), (100, 1e-12), (None, 4e-3)])
def test_resample_statistics_match_their_replies(levels: int | None, tolerance: float) -> None:
    data = make_replies(5, 600, levels)
    found = data.compute_distribution(ClusterResamples(200, 40, 42))
    drawn = np.random.default_rng(42).integers(0, 200, (40, 200))
    expected = np.array([statistics_by_definition(data, row) for row in drawn])
    assert np.abs(found.replicates - expected).max() < tolerance
    assert found.values == pytest.approx(data.compute_values(), abs=1e-15)


def test_grouping_confidence_levels_barely_changes_intervals() -> None:
    data = make_replies(7, 900, None)
    found = data.compute_distribution(ClusterResamples(300, 300, 1))
    drawn = np.random.default_rng(1).integers(0, 300, (300, 300))
    expected = np.array([statistics_by_definition(data, row) for row in drawn])
    errors = found.replicates.std(axis=0)
    assert np.abs(found.replicates.mean(axis=0) - expected.mean(axis=0)).max() < errors.min() / 20
    assert errors == pytest.approx(expected.std(axis=0), rel=0.02)


def test_batched_resampling_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_replies(2, 90, 10)
    whole = data.compute_distribution(ClusterResamples(30, 50, 9))
    monkeypatch.setattr("eval.stats.bootstrap._MAX_CACHED_WEIGHTS", 0)
    monkeypatch.setattr("eval.stats.bootstrap._MAX_WEIGHTS_PER_BATCH", 30 * 7)
    monkeypatch.setattr("eval.stats.bootstrap._MAX_DRAWS_PER_STEP", 30 * 2)
    assert data.compute_distribution(ClusterResamples(30, 50, 9)).replicates == pytest.approx(
        whole.replicates
    )


def test_acceleration_matches_leave_one_cluster_out() -> None:
    data = make_replies(11, 300, 20)
    found = data.compute_distribution(ClusterResamples(100, 500, 3))
    left_out = np.array(
        [
            statistics_by_definition(data, np.array([c for c in range(100) if c != out]))
            for out in range(100)
        ]
    )

    def compute_acceleration(jackknife: Floats) -> Floats:
        apart = jackknife.mean(axis=0) - jackknife
        return (apart**3).sum(axis=0) / (6 * (apart**2).sum(axis=0) ** 1.5)

    ours, theirs = (
        compute_acceleration(found.jackknife[:, 2:]),
        compute_acceleration(left_out[:, 2:]),
    )
    assert ours == pytest.approx(theirs, abs=0.003)
    assert np.isnan(found.jackknife[:, :2]).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 4, 10]))
def test_statistics_are_bounded_for_any_replies(seed: int, n: int, levels: int) -> None:
    data = make_replies(seed, n, levels)
    found = data.compute_distribution(ClusterResamples(n // 3 + 1, 30, seed))
    known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
    assert len(found.values) == len(STATISTICS)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    assert ((known >= -1e-9) & (known <= 1 + 1e-9)).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_order_and_duplication_of_clusters_do_not_matter(
    seed: int,
) -> None:
    data = make_replies(seed, 45, 10)
    order = np.random.default_rng(seed).permutation(45)
    shuffled = ConfidentReplies(data.confidences[order], data.right[order], data.clusters[order])
    assert shuffled.compute_values() == pytest.approx(data.compute_values(), abs=1e-12)
    twice = ConfidentReplies(
        np.tile(data.confidences, 2),
        np.tile(data.right, 2),
        np.concatenate([data.clusters, data.clusters + 15]),
    )
    assert twice.compute_values() == pytest.approx(data.compute_values(), abs=1e-12)
