"""Calibration and selective prediction of very many replies, in little memory.

The confidences are counted in 100,000 bins of equal width, and those of one bin are treated as
equal. The calibration error over ten equal-width bins and the Brier score are sums, which the bins
do not change. The other values can change, by no more than ``max_errors``, which is computed from
the counts; it is 0 where no bin has different confidences, such as those of up to five decimals.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats
from eval.stats.calibration import (
    N_BINS,
    Bins,
    BrierPartition,
    ChanceError,
    equal_width_bins,
    partition_brier_score,
    simulate_chance_error,
)
from eval.stats.confidences import (
    MAX_LEVELS,
    STATISTICS,
    BinContents,
    LevelTable,
    count_by_level,
)
from eval.stats.selective_prediction import RiskCoverageCurve, compute_influence_parts

MAX_EXACT_REPLIES = 200_000
"""Maximum number of replies whose confidences are not counted in bins."""
N_FINE_BINS = 100_000
"""A multiple of the ten bins of the calibration error, so that none crosses their edges."""
_CHUNK = 100_000
"""Number of replies that are counted at once."""


class BinnedReplies:
    """At least one reply, each with a confidence, counted by bins of confidence.

    Nothing is kept of the single replies.

    Attributes:
        n: number of replies.
        count: number of replies in each bin that is not empty, by rising confidence, shape (k,).
        n_right: number of right ones.
        lowest, highest: lowest and highest confidence.
        max_errors: by statistic, by how much the value can differ from that without bins.
    """

    def __init__(
        self,
        confidences: Floats,
        right: Floats,
        clusters: NDArray[np.integer[Any]],
        cards: NDArray[np.integer[Any]],
        n_clusters: int,
    ) -> None:
        """Counts replies.

        Args:
            confidences: in [0, 1], shape (n,).
            right: 1 where the reply is right, else 0; shape (n,).
            clusters: cluster of each reply, shape (n,).
            cards: card of each reply, ascending, shape (n,).
            n_clusters: number of clusters, some of which may have no reply.
        """
        self.n = len(confidences)
        fine = np.empty(self.n, dtype=np.int32)
        sums = np.zeros((5, N_FINE_BINS))
        lowest, highest = np.full(N_FINE_BINS, np.inf), np.full(N_FINE_BINS, -np.inf)
        squared_error = 0.0
        self._cluster_squares = np.zeros((2, n_clusters))
        is_first = np.ones(self.n, dtype=np.bool_)
        is_first[1:] = cards[1:] != cards[:-1]
        for part in self._iter_parts():
            values, is_right = confidences[part], right[part]
            bins = equal_width_bins(values, N_FINE_BINS)
            fine[part] = bins
            for row, weights in enumerate((None, is_right, values, values**2, is_first[part])):
                sums[row] += np.bincount(bins, weights=weights, minlength=N_FINE_BINS)
            np.minimum.at(lowest, bins, values)
            np.maximum.at(highest, bins, values)
            squares = (values - is_right) ** 2
            squared_error += float(squares.sum())
            for row, weights in enumerate((None, squares)):
                self._cluster_squares[row] += np.bincount(
                    clusters[part], weights=weights, minlength=n_clusters
                )
        is_used = sums[0] > 0
        self.count, self.n_right, self._confidence_sums, self._square_sums, n_first = sums[
            :, is_used
        ]
        self._n_first = n_first.astype(np.int64)
        self.lowest, self.highest = lowest[is_used], highest[is_used]
        self._brier = squared_error / self.n
        levels = (np.cumsum(is_used, dtype=np.int32) - 1)[fine]
        del fine
        self._table = self._tabulate_levels(levels, right, clusters, n_clusters)
        self._influences = self._sum_area_influences(levels, right, clusters, n_clusters)
        self._n_cards: dict[str, dict[int, int]] = {}
        """Calibration error → bin → number of different cards, if cards have several replies."""
        if not is_first.all():
            for name in STATISTICS[:2]:
                bins = self._get_bins(name)[levels]
                self._n_cards[name] = {
                    number: int(np.unique(cards[bins == number]).size)
                    for number in np.unique(bins).tolist()
                }

    @property
    def accuracy(self) -> float:
        """Share of right replies."""
        return float(self.n_right.sum() / self.n)

    @property
    def mean_confidence(self) -> float:
        """Mean confidence."""
        return float(self._confidence_sums.sum() / self.n)

    @cached_property
    def curve(self) -> RiskCoverageCurve:
        """The risk–coverage curve, one point per bin."""
        n_wrong = self.count - self.n_right
        return RiskCoverageCurve(
            self.lowest[::-1], np.cumsum(self.count[::-1]), np.cumsum(n_wrong[::-1])
        )

    @cached_property
    def _equal_width(self) -> Bins:
        return equal_width_bins(self.lowest)

    @cached_property
    def _equal_mass(self) -> Bins:
        return self._divide_equally(N_BINS)

    def _divide_equally(self, n_bins: int) -> Bins:
        """Assigns each bin to the equal-mass bin that the middle of its ranks falls into."""
        count = self.count.astype(np.int64)
        middle = 2 * (np.cumsum(count) - count) + count
        numbers: Bins = np.unique(middle * n_bins // (2 * self.n), return_inverse=True)[1]
        return numbers.astype(np.int64)

    def _get_bins(self, name: str) -> Bins:
        return self._equal_width if name == "ece" else self._equal_mass

    def _iter_parts(self) -> Iterator[slice]:
        for start in range(0, self.n, _CHUNK):
            yield slice(start, start + _CHUNK)

    def compute_values(self) -> Floats:
        """Computes the ``STATISTICS``, shape (5,)."""
        gaps = self.n_right - self._confidence_sums
        errors = [
            float(np.abs(np.bincount(self._get_bins(name), weights=gaps)).sum()) / self.n
            for name in STATISTICS[:2]
        ]
        return np.array(
            [*errors, self._brier, self.curve.compute_aurc(), self.curve.compute_augrc()]
        )

    @cached_property
    def max_errors(self) -> dict[str, float]:
        """By how much each of the ``STATISTICS`` can differ from its value without bins.

        Only bins with different confidences matter. With the n replies of the bin in another order,

        * AUGRC: each pair of a right and a wrong reply counts 0 or 1 in place of 1/2, so that the
          value changes by at most Σ right · wrong / (2 n²);
        * AURC: the risk at each reply lies between that where the right replies of its bin come
          first, and that where the wrong ones do;
        * ECE over equal-mass bins: only bins of confidence across an edge can be split. If a part
          of one moves to another equal-mass bin, the gaps change by at most twice the sum of 1 -
          confidence over its right replies, or of the confidence over its wrong ones.
        """
        is_mixed = self.highest > self.lowest
        n_right, n_wrong = self.n_right * is_mixed, (self.count - self.n_right) * is_mixed
        count = self.count.astype(np.int64)
        before = np.cumsum(count) - count
        first, last = before * N_BINS // self.n, (before + count - 1) * N_BINS // self.n
        # The middle of the ranks of a few replies can lie half a rank further.
        last = np.maximum(last, (2 * (before + count) * N_BINS) // (2 * self.n))
        moved = np.maximum(n_right * (1 - self.lowest), n_wrong * self.highest)
        accepted, wrong = self.curve.accepted[::-1], self.curve.wrong[::-1]
        n_before, wrong_before = accepted - self.count, wrong - (self.count - self.n_right)
        lowest_risk = wrong_before / np.maximum(n_before + n_right, 1)
        highest_risk = wrong / np.maximum(n_before + (self.count - self.n_right), 1)
        risk = wrong / accepted
        weights = self.count * is_mixed
        return {
            "ece": 0.0,
            "ece_equal_mass": 2 * float(moved[first != last].sum()) / self.n,
            "brier": 0.0,
            "aurc": max(
                float(weights @ (highest_risk - risk)), float(weights @ (risk - lowest_risk))
            )
            / self.n,
            "augrc": float(n_right @ n_wrong) / (2 * self.n**2),
        }

    def compute_distribution(self, resamples: ClusterResamples) -> Distribution:
        """Computes the bootstrap distribution as that of fewer replies is."""
        values = self.compute_values()
        return self._table.compute_distribution(
            values,
            self._compute_jackknife(values),
            resamples,
            n_used_clusters=int(np.count_nonzero(self._cluster_squares[0])),
        )

    def _tabulate_levels(
        self,
        levels: NDArray[np.int32],
        right: Floats,
        clusters: NDArray[np.integer[Any]],
        n_clusters: int,
    ) -> LevelTable:
        """Groups the replies, of which the bin is given, by fewer levels of confidence."""
        width, mass = self._equal_width, self._equal_mass
        level = np.arange(len(self.count))
        if len(self.count) > MAX_LEVELS:
            numbers = self._divide_equally(MAX_LEVELS) + width + mass
            level = np.unique(numbers, return_inverse=True)[1]
        n_levels = int(level[-1]) + 1
        firsts = np.searchsorted(level, np.arange(n_levels))
        size, confidences, squares = (
            np.bincount(level, weights=column)
            for column in (self.count, self._confidence_sums, self._square_sums)
        )
        replies: Any = 0
        wrong: Any = 0
        shape = n_levels, n_clusters
        for part in self._iter_parts():
            rows, columns, is_wrong = level[levels[part]], clusters[part], right[part] == 0
            replies = count_by_level(rows, columns, shape) + replies
            wrong = count_by_level(rows[is_wrong], columns[is_wrong], shape) + wrong
        return LevelTable(
            mean_confidence=confidences / size,
            error_if_right=(size - 2 * confidences + squares) / size,
            error_if_wrong=squares / size,
            bin_starts=[np.unique(bins[firsts], return_index=True)[1] for bins in (width, mass)],
            replies=replies,
            wrong=wrong,
        )

    def _sum_area_influences(
        self,
        levels: NDArray[np.int32],
        right: Floats,
        clusters: NDArray[np.integer[Any]],
        n_clusters: int,
    ) -> Floats:
        """Sums the influences of each cluster's replies on AURC and AUGRC, shape (2, clusters)."""
        influences = np.empty((2, n_clusters))
        for row, parts in enumerate(compute_influence_parts(self.curve)):
            # The points of the curve are in the order of falling confidence.
            intercepts, slopes = parts.intercepts[::-1], parts.slopes[::-1]
            sums = np.zeros(n_clusters)
            for part in self._iter_parts():
                level = levels[part]
                weights = intercepts[level] + slopes[level] * (right[part] == 0)
                sums += np.bincount(clusters[part], weights, minlength=n_clusters)
            influences[row] = sums / parts.divisor - self._cluster_squares[0] * parts.area
        return influences

    def _compute_jackknife(self, values: Floats) -> Floats:
        """Computes the values minus the influence of each cluster, shape (clusters, 5)."""
        n_replies, squares = self._cluster_squares
        jackknife = np.full((n_replies.size, len(STATISTICS)), np.nan)
        jackknife[:, 2] = values[2] - (squares - n_replies * self._brier) / self.n
        jackknife[:, 3:] = values[3:] - self._influences.T / self.n
        return jackknife

    def partition_brier(self) -> BrierPartition:
        """Computes the partition of the Brier score over the equal-width bins."""
        bins = self._equal_width
        return partition_brier_score(
            np.bincount(bins, weights=self.count).astype(np.int64),
            np.bincount(bins, weights=self._confidence_sums),
            np.bincount(bins, weights=self.n_right),
            base_rate=self.accuracy,
            score=self._brier,
        )

    def simulate_chance_error(
        self,
        name: str,
        cards: NDArray[np.integer[Any]],
        observed: float,
        level: float,
        seed: int,
    ) -> ChanceError:
        """Simulates the calibration error ``name`` that chance gives, with one reply per card."""
        del cards  # whose first replies were counted
        return simulate_chance_error(
            self._confidence_sums / self.count,
            self._get_bins(name),
            observed,
            level=level,
            seed=seed,
            counts=self._n_first,
        )

    def list_bins(self, name: str, cards: NDArray[np.integer[Any]]) -> list[BinContents]:
        """Lists the bins of the calibration error ``name`` that are not empty."""
        del cards  # which were counted
        bins, n_cards = self._get_bins(name), self._n_cards.get(name)
        contents = []
        for number in np.unique(bins).tolist():
            is_in_bin = bins == number
            n, n_right = int(self.count[is_in_bin].sum()), int(self.n_right[is_in_bin].sum())
            contents.append(
                BinContents(
                    number=number,
                    n=n,
                    n_right=n_right,
                    n_cards=n_cards[number] if n_cards else n,
                    accuracy=n_right / n,
                    confidence=float(self._confidence_sums[is_in_bin].sum()) / n,
                    lowest=float(self.lowest[is_in_bin].min()),
                    highest=float(self.highest[is_in_bin].max()),
                )
            )
        return contents
