"""Intervals of ratios with random parts: the cluster bootstrap (plain proportions have Wilson's).

The bootstrap works on sufficient statistics, counts per cluster and cell, taken once. One stream
of draws, ``default_rng(seed).integers(0, clusters, (resamples, clusters))``, serves all metrics
and systems, which makes every comparison paired; a resample re-adds counts by a matrix product.

Sources: Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13
(percentile) and 14 (BCa); resampling whole clusters: Davison & Hinkley, 1997, §3.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg.base.proportions import normal_quantile

Floats = NDArray[np.float64]

RESAMPLES = 2000
SEED = 12345
FEW_CLUSTERS = 10
"""Below this many clusters a bootstrap interval is known to be too narrow."""

_NORMAL = NormalDist()
_DRAWS_AT_ONCE = 4_000_000
_EXACT_IN_FLOAT32 = 2**24
_OFTEN_UNDEFINED = 0.05


def tidy(number: float) -> float:
    """``number`` to 12 significant digits: the last bits of a sum differ between processors."""
    return float(f"{number:.12g}")


def resampled_sums(per_cluster: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Column sums over clusters drawn with replacement, as many times as asked.

    Args:
        per_cluster: whole, non-negative numbers, shape (clusters, columns).
        resamples: number of resamples.
        seed: of the stream of draws.

    Returns:
        Sums, shape (resamples, columns): exact, since they are sums of whole numbers.
    """
    clusters, columns = per_cluster.shape
    sums = np.zeros((resamples, columns))
    used = np.flatnonzero(per_cluster.any(axis=0))
    if clusters == 0 or used.size == 0:
        return sums
    rng = np.random.default_rng(seed)
    dense = per_cluster[:, used]
    # Single precision is twice as fast and still exact while no sum can reach 2**24.
    exact = float(dense.max()) * clusters < _EXACT_IN_FLOAT32
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    values = dense.astype(kind)
    step = max(1, _DRAWS_AT_ONCE // clusters)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        # Drawn in pieces, the stream is the same as drawn at once (a test holds numpy to that).
        draws = rng.integers(0, clusters, (rows, clusters))
        draws += (np.arange(rows) * clusters)[:, None]
        times = np.bincount(draws.ravel(), minlength=rows * clusters)
        weights: NDArray[Any] = times.reshape(rows, clusters).astype(kind)
        sums[start : start + rows, used] = weights @ values
    return sums


@dataclass(frozen=True)
class Resampled:
    """Counts per cluster beside their resampled sums, for some columns (cells).

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


def resample_blocks(
    blocks: Sequence[Floats], resamples: int = RESAMPLES, seed: int = SEED
) -> list[Resampled]:
    """Resamples several blocks of columns over the same clusters by the same draws.

    Args:
        blocks: counts per cluster, shape (clusters, columns) each.
        resamples: number of resamples.
        seed: of the stream of draws.

    Returns:
        One per block.
    """
    used = [np.flatnonzero(block.any(axis=0)) for block in blocks]
    columns = [block[:, keep] for block, keep in zip(blocks, used, strict=True)]
    sums = resampled_sums(np.concatenate(columns, axis=1), resamples, seed) if blocks else None
    out, start = [], 0
    for block, keep in zip(blocks, used, strict=True):
        own = np.zeros((resamples, block.shape[1]))
        if sums is not None:
            own[:, keep] = sums[:, start : start + keep.size]
        start += keep.size
        out.append(Resampled(block, own))
    return out


@dataclass(frozen=True)
class BootstrapIntervals:
    """Bootstrap intervals of some ratios, one column each.

    Attributes:
        percentile: low above high, shape (2, m); nan where no resample has a value.
        bca: the same; nan also where BCa has no meaning (no variation in the jackknife, or all
            replicates on one side of the value).
        degenerate: where the resamples say nothing of uncertainty, shape (m,); the intervals
            must not be shown there.
        support: clusters that take part in each denominator, shape (m,).
    """

    percentile: Floats
    bca: Floats
    degenerate: NDArray[np.bool_]
    support: Floats


@dataclass(frozen=True)
class Distribution:
    """What the bootstrap knows of some ratios, one column each.

    Attributes:
        values: the ratios themselves, shape (m,); nan where the denominator is zero.
        replicates: resampled ratios, shape (resamples, m); nan likewise.
        jackknife: ratios with one cluster left out, shape (clusters, m); nan likewise.
        support: clusters that take part in each denominator, shape (m,).
    """

    values: Floats
    replicates: Floats
    jackknife: Floats
    support: Floats

    def __sub__(self, other: Distribution) -> Distribution:
        """The distribution of the paired difference; both must come from the same draws."""
        return Distribution(
            self.values - other.values,
            self.replicates - other.replicates,
            self.jackknife - other.jackknife,
            np.minimum(self.support, other.support),
        )

    @property
    def undefined_share(self) -> Floats:
        """Share of resamples without a value, shape (m,)."""
        share: Floats = np.isnan(self.replicates).mean(axis=0)
        return share

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """Where the resamples say nothing of uncertainty, shape (m,).

        Either they do not vary at all (every card right, say), or so few clusters take part that
        more than one resample in twenty has no value.
        """
        values = _never_all_nan(self.replicates)
        still = ~(np.nanmax(values, axis=0) > np.nanmin(values, axis=0))
        return np.asarray(still | (self.undefined_share > _OFTEN_UNDEFINED), dtype=np.bool_)

    def standard_errors(self) -> Floats:
        """Standard deviation of the replicates, shape (m,); nan where there are none."""
        deviations: Floats = np.nanstd(_never_all_nan(self.replicates), axis=0, ddof=1)
        return np.where(self.undefined_share == 1, np.nan, deviations)

    def intervals(self, confidence: float = 0.95) -> BootstrapIntervals:
        """Percentile and BCa intervals of every ratio."""
        ordered = np.sort(self.replicates, axis=0)
        tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
        width = self.values.shape[0]
        return BootstrapIntervals(
            percentile=_quantiles(ordered, np.repeat(tails[:, None], width, axis=1)),
            bca=_quantiles(ordered, self._bca_levels(tails)),
            degenerate=self.degenerate,
            support=self.support,
        )

    def _bca_levels(self, tails: Floats) -> Floats:
        """Which quantiles of the replicates BCa takes, shape (2, m)."""
        known = np.maximum((~np.isnan(self.replicates)).sum(axis=0), 1)
        below = (self.replicates < self.values).sum(axis=0)
        equal = (self.replicates == self.values).sum(axis=0)
        shares = (below + equal / 2) / known
        levels = np.full((tails.size, shares.size), np.nan)
        if not len(self.jackknife):
            return levels
        left_out = _never_all_nan(self.jackknife)
        apart = np.nanmean(left_out, axis=0) - left_out
        squared = apart * apart
        squares, cubes = np.nansum(squared, axis=0), np.nansum(squared * apart, axis=0)
        for column in range(shares.size):
            if not 0 < shares[column] < 1 or squares[column] == 0:
                continue
            bias = normal_quantile(shares[column])
            acceleration = cubes[column] / (6 * squares[column] ** 1.5)
            for row, tail in enumerate(tails):
                shift = bias + normal_quantile(tail)
                levels[row, column] = _NORMAL.cdf(bias + shift / (1 - acceleration * shift))
        return levels


def ratio_distribution(data: Resampled, numerators: Floats, denominators: Floats) -> Distribution:
    """The bootstrap distribution of ratios of weighted sums of columns.

    Args:
        data: the resampled columns.
        numerators: weights, shape (m, columns).
        denominators: the same.
    """
    tops, bottoms = data.per_cluster @ numerators.T, data.per_cluster @ denominators.T
    top, bottom = tops.sum(axis=0), bottoms.sum(axis=0)
    return Distribution(
        values=_divide(top, bottom),
        replicates=_divide(data.sums @ numerators.T, data.sums @ denominators.T),
        jackknife=_divide(top - tops, bottom - bottoms),
        support=(bottoms > 0).sum(axis=0).astype(np.float64),
    )


def _divide(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)


def _never_all_nan(values: Floats) -> Floats:
    """``values`` with columns of nothing but nan set to zero, so that numpy does not warn."""
    empty = np.isnan(values).all(axis=0)
    return np.where(empty, 0.0, values) if empty.any() else values


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """Linear quantiles (numpy's default) of sorted columns whose nan stand at the end.

    Args:
        ordered: shape (n, m), each column ascending.
        levels: shape (k, m); nan gives nan.

    Returns:
        Shape (k, m).
    """
    known = (~np.isnan(ordered)).sum(axis=0)
    place = np.where(np.isnan(levels), 0.0, levels) * np.maximum(known - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(known - 1, 0))
    column = np.arange(ordered.shape[1])
    low, high = ordered[below, column], ordered[above, column]
    return np.where(np.isnan(levels), np.nan, low + (high - low) * (place - below))
