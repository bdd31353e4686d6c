from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.stats.calibration import calibration_error
from eval.stats.confidences import STATISTICS, ConfidentReplies
from eval.stats.intervals import Draws, Floats
from eval.stats.selective import risk_coverage


def replies(seed: int, n: int, levels: int | None) -> ConfidentReplies:
    rng = np.random.default_rng(seed)
    sure = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return ConfidentReplies(
        confidences=sure,
        right=(rng.random(n) < 0.2 + 0.6 * sure).astype(float),
        clusters=np.arange(n) // 3,
    )


def by_hand(all_replies: ConfidentReplies, draws: Floats) -> Floats:
    """The statistics of one resample, from its replies one by one, the bins as they were."""
    places = np.concatenate([np.flatnonzero(all_replies.clusters == c) for c in draws])
    sure, right = all_replies.confidences[places], all_replies.right[places]
    curve = risk_coverage(sure, right)
    return np.array(
        [
            calibration_error(sure, right, all_replies.equal_width[places]),
            calibration_error(sure, right, all_replies.equal_mass[places]),
            ((sure - right) ** 2).mean(),
            curve.aurc(),
            curve.augrc(),
        ]
    )


@pytest.mark.parametrize(("levels", "tolerance"), [(10, 1e-12), (100, 1e-12), (None, 4e-3)])
def test_resamples_are_what_their_replies_give(levels: int | None, tolerance: float) -> None:
    data = replies(5, 600, levels)
    found = data.distribution(Draws(200, 40, 42))
    drawn = np.random.default_rng(42).integers(0, 200, (40, 200))
    expected = np.array([by_hand(data, row) for row in drawn])
    assert np.abs(found.replicates - expected).max() < tolerance
    assert found.values == pytest.approx(data.values(), abs=1e-15)


def test_grouping_levels_moves_no_interval_worth_seeing() -> None:
    data = replies(7, 900, None)
    found = data.distribution(Draws(300, 300, 1))
    drawn = np.random.default_rng(1).integers(0, 300, (300, 300))
    expected = np.array([by_hand(data, row) for row in drawn])
    errors = found.replicates.std(axis=0)
    assert np.abs(found.replicates.mean(axis=0) - expected.mean(axis=0)).max() < errors.min() / 20
    assert errors == pytest.approx(expected.std(axis=0), rel=0.02)


def test_drawn_in_pieces_the_same_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = replies(2, 90, 10)
    whole = data.distribution(Draws(30, 50, 9))
    monkeypatch.setattr("eval.stats.intervals._KEPT_AT_MOST", 0)
    monkeypatch.setattr("eval.stats.intervals._HELD_AT_ONCE", 30 * 7)
    monkeypatch.setattr("eval.stats.intervals._DRAWN_AT_ONCE", 30 * 2)
    assert data.distribution(Draws(30, 50, 9)).replicates == pytest.approx(whole.replicates)


def test_acceleration_is_that_of_leaving_clusters_out() -> None:
    data = replies(11, 300, 20)
    found = data.distribution(Draws(100, 500, 3))
    left_out = np.array(
        [by_hand(data, np.array([c for c in range(100) if c != out])) for out in range(100)]
    )

    def acceleration(jackknife: Floats) -> Floats:
        apart = jackknife.mean(axis=0) - jackknife
        return (apart**3).sum(axis=0) / (6 * (apart**2).sum(axis=0) ** 1.5)

    ours, theirs = acceleration(found.jackknife[:, 2:]), acceleration(left_out[:, 2:])
    assert ours == pytest.approx(theirs, abs=0.003)
    assert np.isnan(found.jackknife[:, :2]).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 4, 10]))
def test_any_replies_give_bounded_statistics(seed: int, n: int, levels: int) -> None:
    data = replies(seed, n, levels)
    found = data.distribution(Draws(n // 3 + 1, 30, seed))
    known = found.replicates[~np.isnan(found.replicates).any(axis=1)]
    assert len(found.values) == len(STATISTICS)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    assert ((known >= -1e-9) & (known <= 1 + 1e-9)).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_neither_the_order_of_replies_nor_a_second_copy_of_all_clusters_changes_values(
    seed: int,
) -> None:
    data = replies(seed, 45, 10)
    order = np.random.default_rng(seed).permutation(45)
    shuffled = ConfidentReplies(data.confidences[order], data.right[order], data.clusters[order])
    assert shuffled.values() == pytest.approx(data.values(), abs=1e-12)
    twice = ConfidentReplies(
        np.tile(data.confidences, 2),
        np.tile(data.right, 2),
        np.concatenate([data.clusters, data.clusters + 15]),
    )
    assert twice.values() == pytest.approx(data.values(), abs=1e-12)
