"""The cluster bootstrap of calibration and selective prediction, in one pass.

The sufficient statistics are the numbers of right and of wrong replies by cluster and confidence
level. Up to 256 distinct confidences are one level each, and replicates are exact. More distinct
confidences are grouped into levels of equally many replies, none of which crosses the edge of a
bin; the replicates are then shifted by the change of the value that the grouping causes. Values
are exact here; ``binned_confidences`` has those of very many replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats
from eval.stats.calibration import (
    Bins,
    BrierPartition,
    ChanceError,
    brier_partition,
    brier_score,
    calibration_error,
    equal_mass_bins,
    equal_width_bins,
    simulate_chance_error,
)
from eval.stats.selective_prediction import (
    RiskCoverageCurve,
    compute_area_influences,
    compute_risk_coverage,
)

STATISTICS = ("ece", "ece_equal_mass", "brier", "aurc", "augrc")
"""The columns of the distribution. Lower is better in all of them."""

MAX_LEVELS = 256
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
        values = self.compute_values()
        return tabulate_levels(self, resamples.n_clusters).compute_distribution(
            values,
            self._compute_jackknife(resamples.n_clusters, values),
            resamples,
            n_used_clusters=int(np.unique(self.clusters).size),
        )

    @property
    def n(self) -> int:
        """Number of replies."""
        return len(self.confidences)

    @property
    def accuracy(self) -> float:
        """Share of right replies."""
        return float(self.right.mean())

    @property
    def mean_confidence(self) -> float:
        """Mean confidence."""
        return float(self.confidences.mean())

    @property
    def curve(self) -> RiskCoverageCurve:
        """The risk–coverage curve."""
        return compute_risk_coverage(self.confidences, self.right)

    def partition_brier(self) -> BrierPartition:
        """Computes the partition of the Brier score over the equal-width bins."""
        return brier_partition(self.confidences, self.right, self.equal_width)

    def simulate_chance_error(
        self, name: str, cards: NDArray[np.integer[Any]], observed: float, level: float, seed: int
    ) -> ChanceError:
        """Simulates the calibration error ``name`` that chance gives, with one reply per card."""
        _, first_reply_index = np.unique(cards, return_index=True)
        return simulate_chance_error(
            self.confidences[first_reply_index],
            self._get_bins(name)[first_reply_index],
            observed,
            level=level,
            seed=seed,
        )

    def list_bins(self, name: str, cards: NDArray[np.integer[Any]]) -> list[BinContents]:
        """Lists the bins of the calibration error ``name`` that are not empty."""
        bins = self._get_bins(name)
        contents = []
        for number in np.unique(bins).tolist():
            is_in_bin = bins == number
            confidences, right = self.confidences[is_in_bin], self.right[is_in_bin]
            contents.append(
                BinContents(
                    number=number,
                    n=confidences.size,
                    n_right=int(right.sum()),
                    n_cards=len(set(cards[is_in_bin].tolist())),
                    accuracy=float(right.mean()),
                    confidence=float(confidences.mean()),
                    lowest=float(confidences.min()),
                    highest=float(confidences.max()),
                )
            )
        return contents

    def _get_bins(self, name: str) -> Bins:
        return self.equal_width if name == "ece" else self.equal_mass

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


@dataclass(frozen=True)
class BinContents:
    """The replies of one bin, at least one.

    Attributes:
        number: the number of the bin.
        n: number of replies.
        n_right: number of right ones.
        n_cards: number of different cards that they answer.
        accuracy: share of right ones.
        confidence: mean confidence.
        lowest, highest: the lowest and the highest confidence.
    """

    number: int
    n: int
    n_right: int
    n_cards: int
    accuracy: float
    confidence: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class LevelTable:
    """Replies grouped by confidence level, so that resamples only need to count them.

    Attributes:
        mean_confidence: by level, ascending, shape (levels,).
        error_if_right: mean squared error of the level's replies if they were right, shape
            (levels,).
        error_if_wrong: the same if they were wrong.
        bin_starts: the first level of each equal-width and of each equal-mass bin.
        replies: sparse matrix of the number of replies, shape (levels, clusters).
        wrong: the same of the wrong replies.
    """

    mean_confidence: Floats
    error_if_right: Floats
    error_if_wrong: Floats
    bin_starts: Sequence[NDArray[np.int64]]
    replies: Any
    wrong: Any

    def compute_distribution(
        self, values: Floats, jackknife: Floats, resamples: ClusterResamples, n_used_clusters: int
    ) -> Distribution:
        """Computes the bootstrap distribution of the ``STATISTICS``, whose values are given."""
        replicates = np.full((resamples.n_resamples, len(STATISTICS)), np.nan)
        for batch, weights in resamples.iter_transposed_weights():
            replicates[batch] = self.compute_statistics(weights)
        unit_weights = np.ones((resamples.n_clusters, 1), dtype=np.float32)
        return Distribution(
            values=values,
            replicates=replicates + (values - self.compute_statistics(unit_weights)[0]),
            jackknife=jackknife,
            support=np.full(len(STATISTICS), float(n_used_clusters)),
        )

    def compute_statistics(self, weights: NDArray[np.float32]) -> Floats:
        """Computes the ``STATISTICS`` of some resamples.

        Args:
            weights: number of times that each cluster occurs, shape (clusters, resamples).

        Returns:
            Shape (resamples, 5); nan where a resample has no reply.
        """
        replies = (self.replies @ weights).astype(np.float64)
        wrong = (self.wrong @ weights).astype(np.float64)
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


def tabulate_levels(replies: ConfidentReplies, n_clusters: int) -> LevelTable:
    """Groups replies by confidence level."""
    confidences = replies.confidences
    width, mass = replies.equal_width, replies.equal_mass
    level = _assign_levels(confidences, width, mass)
    n_levels = int(level.max()) + 1
    size = np.bincount(level).astype(np.float64)
    # Any reply of a level tells the bin of the level, because no level crosses an edge.
    example_index = np.zeros(n_levels, dtype=np.int64)
    example_index[level] = np.arange(len(level))
    is_wrong = replies.right == 0
    shape = n_levels, n_clusters
    return LevelTable(
        mean_confidence=np.bincount(level, weights=confidences) / size,
        error_if_right=np.bincount(level, weights=(1 - confidences) ** 2) / size,
        error_if_wrong=np.bincount(level, weights=confidences**2) / size,
        bin_starts=[np.unique(bins[example_index], return_index=True)[1] for bins in (width, mass)],
        replies=count_by_level(level, replies.clusters, shape),
        wrong=count_by_level(level[is_wrong], replies.clusters[is_wrong], shape),
    )


def count_by_level(
    levels: NDArray[np.integer[Any]], clusters: NDArray[np.integer[Any]], shape: tuple[int, int]
) -> Any:
    """Counts replies, as a sparse matrix of shape (levels, clusters)."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(levels.size, dtype=np.float32), (levels, clusters)), shape=shape)


def _assign_levels(confidences: Floats, width: Bins, mass: Bins) -> NDArray[np.int64]:
    """Assigns a level to each reply: ascending with confidence, numbered without gaps."""
    distinct, rank = np.unique(confidences, return_inverse=True)
    if distinct.size > MAX_LEVELS:
        # All three ascend with confidence, so their sum changes exactly where one of them does.
        rank = np.unique(
            equal_mass_bins(confidences, MAX_LEVELS) + width + mass, return_inverse=True
        )[1]
    levels: NDArray[np.int64] = rank.astype(np.int64)
    return levels
