"""What the cluster bootstrap says of calibration and selective prediction, in one pass.

Sufficient statistics are the numbers of right and of wrong replies by cluster and level of
confidence. Up to 256 distinct confidences are a level each, and the replicates exact. More are
grouped into levels of equally many replies, which cross the edge of no bin, and the replicates of
the grouped replies are shifted by what grouping changes of the values. Values are always exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eval.stats.calibration import (
    Bins,
    brier_score,
    calibration_error,
    equal_mass_bins,
    equal_width_bins,
)
from eval.stats.intervals import Distribution, Draws, Floats
from eval.stats.selective import area_influences, risk_coverage

STATISTICS = ("ece", "ece_equal_mass", "brier", "aurc", "augrc")
"""The columns of the distribution. Lower is better in each."""

_LEVELS = 256
_NONE_DRAWN = 0.5


@dataclass(frozen=True)
class ConfidentReplies:
    """Replies that carry a confidence, at least one.

    Attributes:
        confidences: in [0, 1], shape (n,).
        right: 1 where the reply is right, else 0; shape (n,).
        clusters: cluster of each reply, shape (n,).
    """

    confidences: Floats
    right: Floats
    clusters: NDArray[np.int64]

    @cached_property
    def equal_width(self) -> Bins:
        """The equal-width bin of each reply."""
        return equal_width_bins(self.confidences)

    @cached_property
    def equal_mass(self) -> Bins:
        """The equal-mass bin of each reply."""
        return equal_mass_bins(self.confidences)

    def values(self) -> Floats:
        """The ``STATISTICS``, shape (5,)."""
        sure, right = self.confidences, self.right
        curve = risk_coverage(sure, right)
        return np.array(
            [
                calibration_error(sure, right, self.equal_width),
                calibration_error(sure, right, self.equal_mass),
                brier_score(sure, right),
                curve.aurc(),
                curve.augrc(),
            ]
        )

    def distribution(self, draws: Draws) -> Distribution:
        """The bootstrap distribution of the ``STATISTICS``.

        Bins stay as they are in every resample: what is estimated is the error over these bins.
        The jackknife of the calibration errors is nan, because BCa does not hold for them: they
        have a corner at zero, where calibrated systems are.
        """
        levels = _Levels(self)
        replicates = np.full((draws.resamples, len(STATISTICS)), np.nan)
        for rows, times in draws.transposed():
            replicates[rows] = levels.statistics(times)
        values = self.values()
        once = np.ones((draws.clusters, 1), dtype=np.float32)
        return Distribution(
            values=values,
            replicates=replicates + (values - levels.statistics(once)[0]),
            jackknife=self._jackknife(draws.clusters, values),
            support=np.full(len(STATISTICS), float(np.unique(self.clusters).size)),
        )

    def _jackknife(self, clusters: int, values: Floats) -> Floats:
        """Values less each cluster's influence (infinitesimal jackknife), shape (clusters, 5)."""
        n = len(self.confidences)
        squares = (self.confidences - self.right) ** 2
        areas = area_influences(self.confidences, self.right)
        moved = np.column_stack([squares - squares.mean(), areas])
        out = np.full((clusters, len(STATISTICS)), np.nan)
        for column, influence in enumerate(moved.T, start=2):
            own = np.bincount(self.clusters, weights=influence, minlength=clusters)
            out[:, column] = values[column] - own / n
        return out


class _Levels:
    """Replies counted by level of confidence, ready to be counted again in resamples."""

    def __init__(self, replies: ConfidentReplies) -> None:
        sure, right = replies.confidences, replies.right
        width, mass = replies.equal_width, replies.equal_mass
        level = _levels(sure, width, mass)
        self.count = int(level.max()) + 1
        self.level = level
        self.clusters = replies.clusters
        self.wrong = np.flatnonzero(right == 0)
        size = np.bincount(level).astype(np.float64)
        self.sure = np.bincount(level, weights=sure) / size
        # Mean squared error of a wrong and of a right reply at each level, and their difference.
        self.if_right = np.bincount(level, weights=(1 - sure) ** 2) / size
        self.if_wrong = np.bincount(level, weights=sure**2) / size
        first = np.zeros(self.count, dtype=np.int64)
        first[level] = np.arange(len(level))
        self.starts = [np.unique(bins[first], return_index=True)[1] for bins in (width, mass)]

    def statistics(self, times: NDArray[np.float32]) -> Floats:
        """The ``STATISTICS`` of some resamples.

        Args:
            times: how often each cluster comes up, shape (clusters, resamples).

        Returns:
            Shape (resamples, 5); nan where no reply is drawn.
        """
        replies = self._summed(np.arange(len(self.level)), times)
        wrong = self._summed(self.wrong, times)
        total = replies.sum(axis=0, dtype=np.float64)
        n = np.where(total < _NONE_DRAWN, np.nan, total)
        gaps = replies * (self.sure - 1)[:, None]
        gaps += wrong
        # The levels of a bin stand together, so a bin is summed from where it starts.
        errors = [np.abs(np.add.reduceat(gaps, at, axis=0)).sum(axis=0) / n for at in self.starts]
        brier = self.if_right @ replies + (self.if_wrong - self.if_right) @ wrong
        # From the surest level down; sums of whole numbers, exact in single precision too.
        new, failed = replies[::-1], wrong[::-1]
        accepted, failures = np.cumsum(new, axis=0), np.cumsum(failed, axis=0)
        np.maximum(accepted, _NONE_DRAWN, out=accepted)
        augrc = np.einsum("lr,lr->r", new, 2 * failures - failed) / 2 / n**2
        failures /= accepted
        aurc = np.einsum("lr,lr->r", new, failures) / n
        return np.stack([*errors, brier / n, aurc, augrc], axis=1)

    def _summed(self, chosen: NDArray[np.int64], times: NDArray[np.float32]) -> Floats:
        """Some replies counted by level in each resample, shape (levels, resamples)."""
        from scipy.sparse import csr_array

        ones = np.ones(chosen.size, dtype=np.float32)
        places = (self.level[chosen], self.clusters[chosen])
        summed: Floats = csr_array((ones, places), shape=(self.count, len(times))) @ times
        return summed.astype(np.float64)


def _levels(sure: Floats, width: Bins, mass: Bins) -> NDArray[np.int64]:
    """Level of each reply, ascending with confidence, without gaps."""
    distinct, rank = np.unique(sure, return_inverse=True)
    if distinct.size > _LEVELS:
        # All three ascend with confidence, so their sum changes just where one of them does.
        rank = np.unique(equal_mass_bins(sure, _LEVELS) + width + mass, return_inverse=True)[1]
    levels: NDArray[np.int64] = rank.astype(np.int64)
    return levels
