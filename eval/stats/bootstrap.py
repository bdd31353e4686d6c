"""The cluster bootstrap, for ratios with random denominators.

Plain proportions use Wilson's interval instead (``kg.base.proportions``).

The bootstrap works on sufficient statistics: counts per cluster and cell, computed once. The same
resamples, ``default_rng(seed).integers(0, clusters, (resamples, clusters))``, are used for all
metrics and systems, so that every comparison is paired. The counts of all resamples are computed
by one matrix product.

Sources: Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13
(percentile) and 14 (BCa); resampling whole clusters: Davison & Hinkley, 1997, §3.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg.base.proportions import normal_quantile

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]

RESAMPLES = 2000
SEED = 12345
MIN_CLUSTERS = 10
"""Minimum number of clusters; with fewer, bootstrap intervals are known to be too narrow."""

_NORMAL = NormalDist()
_MAX_WEIGHTS_PER_BATCH = 4_000_000
"""Maximum number of weights of one batch, which bounds the memory of a batch (four bytes each)."""
_MAX_DRAWS_PER_STEP = 100_000
"""Maximum number of draws counted at once, so that they fit into the processor's cache."""
_MAX_CACHED_WEIGHTS = 32_000_000
"""Maximum number of weights kept in memory, four bytes each. If there are more, they are sampled
again whenever they are needed."""
_MAX_EXACT_FLOAT32 = 2**24
"""Single precision represents all whole numbers up to this one."""
_MAX_UNDEFINED_SHARE = 0.05
"""Maximum share of resamples without a value; with more, the resamples are degenerate."""


def round_significant(number: float) -> float:
    """Rounds to 12 significant digits, because the last bits of a sum differ between processors."""
    return float(f"{number:.12g}")


class ClusterResamples:
    """Resamples of clusters: the number of times that each cluster occurs in each resample.

    All statistics, metrics and systems that use the same object are resampled in the same way,
    which makes comparisons paired. The resamples are those of a single call
    ``default_rng(seed).integers(0, clusters, (resamples, clusters))``.

    Args:
        n_clusters: number of clusters.
        n_resamples: number of resamples.
        seed: seed of the random generator.
        cached: keep few enough weights in memory, for repeated use.
    """

    def __init__(
        self,
        n_clusters: int,
        n_resamples: int = RESAMPLES,
        seed: int = SEED,
        *,
        cached: bool = True,
    ) -> None:
        self._cached = cached
        self.n_clusters = n_clusters
        self.n_resamples = n_resamples
        self.seed = seed
        self._weights: Weights | None = None
        self._transposed: Weights | None = None

    def iter_weights(self) -> Iterator[tuple[slice, Weights]]:
        """Yields batches of consecutive resamples: their slice of all resamples, and their weights.

        The weights of a batch have shape (resamples in batch, clusters) and are whole numbers. If
        there are few enough, they are sampled once and cached.
        """
        if not self._cached or self.n_resamples * self.n_clusters > _MAX_CACHED_WEIGHTS:
            yield from self._draw_weights()
            return
        if self._weights is None:
            self._weights = np.empty((self.n_resamples, self.n_clusters), dtype=np.float32)
            for batch, weights in self._draw_weights():
                self._weights[batch] = weights
        yield slice(0, self.n_resamples), self._weights

    def iter_transposed_weights(self) -> Iterator[tuple[slice, Weights]]:
        """Yields the same weights transposed, shape (clusters, resamples in batch), in C order."""
        for batch, weights in self.iter_weights():
            if weights is not self._weights:
                yield batch, np.ascontiguousarray(weights.T)
                continue
            if self._transposed is None:
                self._transposed = np.ascontiguousarray(weights.T)
            yield batch, self._transposed

    def _draw_weights(self) -> Iterator[tuple[slice, Weights]]:
        """Yields the same as ``iter_weights``, newly sampled."""
        if not self.n_clusters:
            return
        rng = np.random.default_rng(self.seed)
        batch_size = max(1, _MAX_WEIGHTS_PER_BATCH // self.n_clusters)
        step = max(1, _MAX_DRAWS_PER_STEP // self.n_clusters)
        for start in range(0, self.n_resamples, batch_size):
            weights = np.empty(
                (min(batch_size, self.n_resamples - start), self.n_clusters), dtype=np.float32
            )
            for first in range(0, len(weights), step):
                rows = weights[first : first + step]
                # numpy gives the same numbers in several calls as in one (a test checks this).
                draws = rng.integers(0, self.n_clusters, rows.shape)
                # Each row gets its own range of numbers, so that one call counts all rows.
                draws += (np.arange(len(rows)) * self.n_clusters)[:, None]
                rows[:] = np.bincount(draws.ravel(), minlength=rows.size).reshape(rows.shape)
            yield slice(start, start + len(weights)), weights


def compute_resampled_sums(per_cluster: Floats, resamples: ClusterResamples) -> Floats:
    """Computes the sum of each column over the clusters, in each resample.

    Args:
        per_cluster: shape (clusters, columns).
        resamples: number of times that each cluster occurs in each resample.

    Returns:
        Sums, shape (resamples, columns); exact where the columns are whole numbers.
    """
    clusters, columns = per_cluster.shape
    sums = np.zeros((resamples.n_resamples, columns))
    used_columns = np.flatnonzero(per_cluster.any(axis=0))
    if clusters == 0 or used_columns.size == 0:
        return sums
    used_values = per_cluster[:, used_columns]
    # Single precision is twice as fast and exact for whole numbers as long as no sum reaches 2**24.
    is_integral = bool((used_values == np.floor(used_values)).all())
    is_exact = is_integral and float(np.abs(used_values).max()) * clusters < _MAX_EXACT_FLOAT32
    dtype: type[np.floating[Any]] = np.float32 if is_exact else np.float64
    values = used_values.astype(dtype)
    for batch, weights in resamples.iter_weights():
        sums[batch, used_columns] = weights.astype(dtype, copy=False) @ values
    return sums


@dataclass(frozen=True)
class ResampledCounts:
    """Counts per cluster and their resampled sums, for some columns (cells).

    Attributes:
        per_cluster: shape (clusters, columns).
        sums: shape (resamples, columns).
    """

    per_cluster: Floats
    sums: Floats

    @property
    def totals(self) -> Floats:
        """Sums over all clusters, shape (columns,)."""
        total: Floats = self.per_cluster.sum(axis=0)
        return total


def resample_blocks(blocks: Sequence[Floats], resamples: ClusterResamples) -> list[ResampledCounts]:
    """Resamples several blocks of columns over the same clusters with the same resamples.

    Args:
        blocks: counts per cluster, shape (clusters, columns) each.
        resamples: number of times that each cluster occurs in each resample.

    Returns:
        The resampled counts of each block.
    """
    if not blocks:
        return []
    sums = compute_resampled_sums(np.concatenate(blocks, axis=1), resamples)
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = np.split(sums, ends[:-1], axis=1)
    return [ResampledCounts(block, part) for block, part in zip(blocks, parts, strict=True)]


def merge_resampled(parts: Sequence[ResampledCounts]) -> ResampledCounts:
    """Sums counts of different items in the same columns and clusters."""
    if len(parts) == 1:
        return parts[0]
    return ResampledCounts(
        np.sum([part.per_cluster for part in parts], axis=0),
        np.sum([part.sums for part in parts], axis=0),
    )


@dataclass(frozen=True)
class BootstrapIntervals:
    """Bootstrap intervals of some ratios, one column each.

    Attributes:
        percentile: lower bounds in row 0, upper bounds in row 1, shape (2, m); nan where no
            resample has a value.
        bca: the BCa bounds in the same form; nan also where BCa is undefined (no variation in the
            jackknife, or all replicates on one side of the value).
        degenerate: mask of the ratios whose resamples do not reflect the uncertainty, shape (m,);
            their intervals must not be shown.
        support: number of clusters that contribute to each denominator, shape (m,).
    """

    percentile: Floats
    bca: Floats
    degenerate: NDArray[np.bool_]
    support: Floats


@dataclass(frozen=True)
class Distribution:
    """The bootstrap distribution of some statistics, one column each.

    Attributes:
        values: the statistics themselves, shape (m,); nan where undefined (zero denominator).
        replicates: resampled statistics, shape (resamples, m); nan where undefined.
        jackknife: statistics with one cluster left out, shape (clusters, m); nan where undefined.
            Clusters with equal rows may share one row (see ``row_counts``).
        support: number of clusters that contribute to each denominator, shape (m,).
        row_counts: number of clusters that share each row of ``jackknife``; ``None`` if every
            cluster has its own row.
    """

    values: Floats
    replicates: Floats
    jackknife: Floats
    support: Floats
    row_counts: Floats | None = None

    def __sub__(self, other: Distribution) -> Distribution:
        """Computes the distribution of the paired difference; both must use the same resamples.

        Raises:
            ValueError: equal rows of a jackknife were merged, so clusters cannot be paired.
        """
        if self.row_counts is not None or other.row_counts is not None:
            raise ValueError("merged jackknives cannot be paired")
        return Distribution(
            self.values - other.values,
            self.replicates - other.replicates,
            self.jackknife - other.jackknife,
            np.minimum(self.support, other.support),
        )

    @cached_property
    def _sorted_replicates(self) -> Floats:
        """Replicates in ascending order, nan at the end."""
        return np.ascontiguousarray(np.sort(self.replicates.T, axis=1).T)

    @cached_property
    def _n_defined(self) -> NDArray[np.int64]:
        """Number of replicates that have a value, shape (m,)."""
        n_defined: NDArray[np.int64] = (~np.isnan(self.replicates)).sum(axis=0)
        return n_defined

    @property
    def undefined_share(self) -> Floats:
        """Share of resamples without a value, shape (m,)."""
        share: Floats = 1 - self._n_defined / max(len(self.replicates), 1)
        return share

    @property
    def often_undefined(self) -> NDArray[np.bool_]:
        """Mask of the statistics of which more than one resample in twenty has no value."""
        return np.asarray(self.undefined_share > _MAX_UNDEFINED_SHARE, dtype=np.bool_)

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """Mask of the statistics whose resamples do not reflect the uncertainty, shape (m,).

        Either the resamples do not vary (for instance because every item is right), or so few
        clusters contribute that more than one resample in twenty has no value.
        """
        last_index = np.maximum(self._n_defined - 1, 0)
        column = np.arange(self.values.size)
        is_constant = ~(self._sorted_replicates[last_index, column] > self._sorted_replicates[0])
        return np.asarray(is_constant | self.often_undefined, dtype=np.bool_)

    def compute_standard_errors(self) -> Floats:
        """Computes the standard deviation of the replicates, shape (m,); nan for fewer than two."""
        is_defined = self._n_defined > 1
        errors = np.full(is_defined.shape, np.nan)
        if is_defined.any():
            errors[is_defined] = np.nanstd(self.replicates[:, is_defined], axis=0, ddof=1)
        return errors

    def compute_quantiles(self, levels: Sequence[float]) -> Floats:
        """Computes quantiles of the replicates that have a value, shape (levels, m)."""
        width = self.values.shape[0]
        return _compute_column_quantiles(
            self._sorted_replicates, np.repeat(np.array(levels)[:, None], width, axis=1)
        )

    def compute_intervals(self, confidence: float = 0.95) -> BootstrapIntervals:
        """Computes the percentile and BCa intervals of every statistic."""
        tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
        return BootstrapIntervals(
            percentile=self.compute_quantiles(tails.tolist()),
            bca=_compute_column_quantiles(self._sorted_replicates, self._compute_bca_levels(tails)),
            degenerate=self.degenerate,
            support=self.support,
        )

    def _compute_bca_levels(self, tails: Floats) -> Floats:
        """Computes the levels of the quantiles that are the BCa bounds, shape (2, m)."""
        n_defined = np.maximum(self._n_defined, 1)
        n_below = (self.replicates < self.values).sum(axis=0)
        n_equal = (self.replicates == self.values).sum(axis=0)
        shares = (n_below + n_equal / 2) / n_defined
        levels = np.full((tails.size, shares.size), np.nan)
        if not len(self.jackknife):
            return levels
        squares, cubes = _compute_moments(_zero_nan_columns(self.jackknife), self.row_counts)
        for column in range(shares.size):
            scale = 6 * squares[column] ** 1.5  # also 0 when this product underflows
            if not 0 < shares[column] < 1 or scale == 0:
                continue
            bias = normal_quantile(shares[column])
            acceleration = cubes[column] / scale
            for row, tail in enumerate(tails):
                shift = bias + normal_quantile(tail)
                levels[row, column] = _NORMAL.cdf(bias + shift / (1 - acceleration * shift))
        return levels


def compute_ratio_distribution(
    data: ResampledCounts, numerators: Floats, denominators: Floats, *, merge: bool = False
) -> Distribution:
    """Computes the bootstrap distribution of ratios of weighted sums of columns.

    Args:
        data: the resampled columns.
        numerators: weights, shape (m, columns).
        denominators: weights of the denominators, shape (m, columns).
        merge: compute the jackknife once for all clusters with equal counts. Much faster, but the
            result cannot be subtracted from another.
    """
    rows, row_counts = _merge_equal_rows(data.per_cluster) if merge else (data.per_cluster, None)
    row_numerators, row_denominators = rows @ numerators.T, rows @ denominators.T
    totals = data.totals
    numerator, denominator = totals @ numerators.T, totals @ denominators.T
    contributes = row_denominators > 0
    return Distribution(
        values=_divide_or_nan(numerator, denominator),
        replicates=_divide_or_nan(data.sums @ numerators.T, data.sums @ denominators.T),
        jackknife=_divide_or_nan(numerator - row_numerators, denominator - row_denominators),
        support=(contributes if row_counts is None else contributes * row_counts[:, None])
        .sum(axis=0)
        .astype(np.float64),
        row_counts=row_counts,
    )


def _merge_equal_rows(rows: Floats) -> tuple[Floats, Floats | None]:
    """Returns distinct rows and how often each occurs, or all rows if they cannot be encoded."""
    used_columns = np.flatnonzero(rows.any(axis=0))
    base = float(rows.max(initial=0)) + 1
    # Double precision represents whole numbers exactly below 2**53.
    if not used_columns.size or base**used_columns.size >= 2**53:
        return rows, None
    # Each row is encoded as one number in this base: comparing numbers is much faster than rows.
    keys = rows[:, used_columns] @ (base ** np.arange(used_columns.size))
    _, first_indexes, counts = np.unique(keys, return_index=True, return_counts=True)
    return rows[first_indexes], counts.astype(np.float64)


def _compute_moments(jackknife: Floats, row_counts: Floats | None) -> tuple[Floats, Floats]:
    """Computes the sums of squares and cubes of mean - value over the clusters, shape (m,) each."""
    if row_counts is None:
        deviations = np.nanmean(jackknife, axis=0) - jackknife
        squares = deviations * deviations
        return np.nansum(squares, axis=0), np.nansum(squares * deviations, axis=0)
    is_defined = ~np.isnan(jackknife)
    values = np.where(is_defined, jackknife, 0.0)
    count = row_counts @ is_defined
    deviations = np.where(is_defined, (row_counts @ values) / np.maximum(count, 1) - values, 0.0)
    squares = deviations * deviations
    return row_counts @ squares, row_counts @ (squares * deviations)


def _divide_or_nan(numerator: Floats, denominator: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


def _zero_nan_columns(values: Floats) -> Floats:
    """Sets columns that are nan throughout to zero, so that numpy does not warn."""
    is_all_nan = np.isnan(values).all(axis=0)
    return np.where(is_all_nan, 0.0, values) if is_all_nan.any() else values


def _compute_column_quantiles(ordered: Floats, levels: Floats) -> Floats:
    """Computes linear quantiles (numpy's default) of sorted columns with nan at the end.

    Args:
        ordered: shape (n, m), each column ascending.
        levels: shape (k, m); nan gives nan.

    Returns:
        Shape (k, m).
    """
    n_defined = (~np.isnan(ordered)).sum(axis=0)
    position = np.where(np.isnan(levels), 0.0, levels) * np.maximum(n_defined - 1, 0)
    lower_index = np.floor(position).astype(np.int64)
    upper_index = np.minimum(lower_index + 1, np.maximum(n_defined - 1, 0))
    column = np.arange(ordered.shape[1])
    low, high = ordered[lower_index, column], ordered[upper_index, column]
    return np.where(np.isnan(levels), np.nan, low + (high - low) * (position - lower_index))
