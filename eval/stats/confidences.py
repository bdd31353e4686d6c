"""The cluster bootstrap of calibration and selective prediction, in one pass.

The sufficient statistics are the numbers of right and of wrong replies by cluster and confidence
level. Up to 256 distinct confidences are one level each, and replicates are exact. More distinct
confidences are grouped into levels of equally many replies, none of which crosses the edge of a
bin; the replicates are then shifted by the change of the value that the grouping causes. Values
are always exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats
from eval.stats.calibration import (
    Bins,
    brier_score,
    calibration_error,
    equal_mass_bins,
    equal_width_bins,
)
from eval.stats.selective_prediction import compute_area_influences, compute_risk_coverage

STATISTICS = ("ece", "ece_equal_mass", "brier", "aurc", "augrc")
"""The columns of the distribution. Lower is better in all of them."""

_MAX_LEVELS = 256
"""Maximum number of distinct confidences for which replicates are exact."""
_LESS_THAN_ONE_REPLY = 0.5
"""A number between 0 and 1: smaller counts are 0, and as a divisor it avoids 0 / 0."""


@dataclass(frozen=True)
class ConfidentReplies:
    """At least one reply, each with a confidence.

    Attributes:
        confidences: in [0, 1], shape (n,).
        right: 1 where the reply is right, else 0; shape (n,).
        clusters: cluster of each reply, shape (n,).
    """

    confidences: Floats
    right: Floats
    clusters: NDArray[np.integer[Any]]

    @cached_property
    def equal_width(self) -> Bins:
        """The equal-width bin of each reply, shape (n,)."""
        return equal_width_bins(self.confidences)

    @cached_property
    def equal_mass(self) -> Bins:
        """The equal-mass bin of each reply, shape (n,)."""
        return equal_mass_bins(self.confidences)

    def compute_values(self) -> Floats:
        """Computes the ``STATISTICS``, shape (5,)."""
        confidences, right = self.confidences, self.right
        curve = compute_risk_coverage(confidences, right)
        return np.array(
            [
                calibration_error(confidences, right, self.equal_width),
                calibration_error(confidences, right, self.equal_mass),
                brier_score(confidences, right),
                curve.compute_aurc(),
                curve.compute_augrc(),
            ]
        )

    def compute_distribution(self, resamples: ClusterResamples) -> Distribution:
        """Computes the bootstrap distribution of the ``STATISTICS``.

        All resamples use the same bins: the estimand is the error over these bins. The jackknife
        of the calibration errors is nan, because BCa is not valid for them: they are not smooth at
        zero, the value of calibrated systems.
        """
        levels = _ConfidenceLevels(self)
        replicates = np.full((resamples.n_resamples, len(STATISTICS)), np.nan)
        for batch, weights in resamples.iter_transposed_weights():
            replicates[batch] = levels.compute_statistics(weights)
        values = self.compute_values()
        unit_weights = np.ones((resamples.n_clusters, 1), dtype=np.float32)
        return Distribution(
            values=values,
            replicates=replicates + (values - levels.compute_statistics(unit_weights)[0]),
            jackknife=self._compute_jackknife(resamples.n_clusters, values),
            support=np.full(len(STATISTICS), float(np.unique(self.clusters).size)),
        )

    def _compute_jackknife(self, n_clusters: int, values: Floats) -> Floats:
        """Computes the values minus the influence of each cluster, shape (clusters, 5).

        This is the infinitesimal jackknife. The columns of the calibration errors are nan.
        """
        n = len(self.confidences)
        squares = (self.confidences - self.right) ** 2
        areas = compute_area_influences(self.confidences, self.right)
        influences = np.column_stack([squares - squares.mean(), areas])
        jackknife = np.full((n_clusters, len(STATISTICS)), np.nan)
        for column, influence in enumerate(influences.T, start=2):
            cluster_influences = np.bincount(self.clusters, weights=influence, minlength=n_clusters)
            jackknife[:, column] = values[column] - cluster_influences / n
        return jackknife


class _ConfidenceLevels:
    """Replies grouped by confidence level, so that resamples only need to count them."""

    def __init__(self, replies: ConfidentReplies) -> None:
        confidences, right = replies.confidences, replies.right
        width, mass = replies.equal_width, replies.equal_mass
        level = _assign_levels(confidences, width, mass)
        self.n_levels = int(level.max()) + 1
        self.level = level
        self.clusters = replies.clusters
        self.wrong = np.flatnonzero(right == 0)
        size = np.bincount(level).astype(np.float64)
        self.mean_confidence = np.bincount(level, weights=confidences) / size
        # Mean squared error of a right and of a wrong reply at each level, for the Brier score.
        self.error_if_right = np.bincount(level, weights=(1 - confidences) ** 2) / size
        self.error_if_wrong = np.bincount(level, weights=confidences**2) / size
        # Any reply of a level tells the bin of the level, because no level crosses an edge.
        example_index = np.zeros(self.n_levels, dtype=np.int64)
        example_index[level] = np.arange(len(level))
        self.bin_starts = [
            np.unique(bins[example_index], return_index=True)[1] for bins in (width, mass)
        ]

    def compute_statistics(self, weights: NDArray[np.float32]) -> Floats:
        """Computes the ``STATISTICS`` of some resamples.

        Args:
            weights: number of times that each cluster occurs, shape (clusters, resamples).

        Returns:
            Shape (resamples, 5); nan where a resample has no reply.
        """
        replies = self._sum_by_level(np.arange(len(self.level)), weights)
        wrong = self._sum_by_level(self.wrong, weights)
        total = replies.sum(axis=0, dtype=np.float64)
        n = np.where(total < _LESS_THAN_ONE_REPLY, np.nan, total)
        gaps = replies * (self.mean_confidence - 1)[:, None]
        gaps += wrong
        # The levels of a bin are adjacent, so ``reduceat`` sums each bin from its first level.
        errors = [
            np.abs(np.add.reduceat(gaps, starts, axis=0)).sum(axis=0) / n
            for starts in self.bin_starts
        ]
        brier = self.error_if_right @ replies + (self.error_if_wrong - self.error_if_right) @ wrong
        # Cumulated from the highest confidence down; sums of whole numbers are exact in floats.
        new_replies, new_wrong = replies[::-1], wrong[::-1]
        accepted, cumulated_wrong = np.cumsum(new_replies, axis=0), np.cumsum(new_wrong, axis=0)
        np.maximum(accepted, _LESS_THAN_ONE_REPLY, out=accepted)
        augrc = np.einsum("lr,lr->r", new_replies, 2 * cumulated_wrong - new_wrong) / 2 / n**2
        cumulated_wrong /= accepted
        aurc = np.einsum("lr,lr->r", new_replies, cumulated_wrong) / n
        return np.stack([*errors, brier / n, aurc, augrc], axis=1)

    def _sum_by_level(
        self, reply_indexes: NDArray[np.int64], weights: NDArray[np.float32]
    ) -> Floats:
        """Counts the replies with these indexes by level, shape (levels, resamples)."""
        from scipy.sparse import csr_array

        ones = np.ones(reply_indexes.size, dtype=np.float32)
        cells = (self.level[reply_indexes], self.clusters[reply_indexes])
        sums: Floats = csr_array((ones, cells), shape=(self.n_levels, len(weights))) @ weights
        return sums.astype(np.float64)


def _assign_levels(confidences: Floats, width: Bins, mass: Bins) -> NDArray[np.int64]:
    """Assigns a level to each reply: ascending with confidence, numbered without gaps."""
    distinct, rank = np.unique(confidences, return_inverse=True)
    if distinct.size > _MAX_LEVELS:
        # All three ascend with confidence, so their sum changes exactly where one of them does.
        rank = np.unique(
            equal_mass_bins(confidences, _MAX_LEVELS) + width + mass, return_inverse=True
        )[1]
    levels: NDArray[np.int64] = rank.astype(np.int64)
    return levels
