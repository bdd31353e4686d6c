"""Intervals of ratios with random parts: the cluster bootstrap (plain proportions have Wilson's).

The bootstrap works on sufficient statistics, counts per cluster and cell, taken once. One stream
of draws, ``default_rng(seed).integers(0, clusters, (resamples, clusters))``, serves all metrics
and systems, which makes every comparison paired; a resample re-adds counts by a matrix product.

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
FEW_CLUSTERS = 10
"""Below this many clusters a bootstrap interval is known to be too narrow."""

_NORMAL = NormalDist()
_HELD_AT_ONCE = 4_000_000
_DRAWN_AT_ONCE = 100_000
"""So few draws stay in the processor's cache while they are counted."""
_KEPT_AT_MOST = 32_000_000
"""A stream of so many draws is kept in memory, four bytes each; a longer one is drawn anew."""
_EXACT_IN_FLOAT32 = 2**24
_OFTEN_UNDEFINED = 0.05


def tidy(number: float) -> float:
    """``number`` to 12 significant digits: the last bits of a sum differ between processors."""
    return float(f"{number:.12g}")


class Draws:
    """One stream of draws: how often each cluster comes up in each resample.

    Every statistic, metric and system resampled by the same ``Draws`` is resampled alike, which
    is what makes comparisons paired. The stream is that of a single
    ``default_rng(seed).integers(0, clusters, (resamples, clusters))``.

    Args:
        clusters: number of clusters.
        resamples: number of resamples.
        seed: of the stream.
    """

    def __init__(self, clusters: int, resamples: int = RESAMPLES, seed: int = SEED) -> None:
        self.clusters = clusters
        self.resamples = resamples
        self.seed = seed
        self._kept: Weights | None = None
        self._turned: Weights | None = None

    def pieces(self) -> Iterator[tuple[slice, Weights]]:
        """Consecutive resamples and their weights, shape (resamples in this piece, clusters).

        Weights are whole numbers. A short stream is drawn once and kept.
        """
        if self.resamples * self.clusters > _KEPT_AT_MOST:
            yield from self._drawn()
            return
        if self._kept is None:
            self._kept = np.empty((self.resamples, self.clusters), dtype=np.float32)
            for rows, piece in self._drawn():
                self._kept[rows] = piece
        yield slice(0, self.resamples), self._kept

    def transposed(self) -> Iterator[tuple[slice, Weights]]:
        """The same with weights of shape (clusters, resamples in this piece), in C order."""
        for rows, piece in self.pieces():
            if piece is not self._kept:
                yield rows, np.ascontiguousarray(piece.T)
                continue
            if self._turned is None:
                self._turned = np.ascontiguousarray(piece.T)
            yield rows, self._turned

    def _drawn(self) -> Iterator[tuple[slice, Weights]]:
        if not self.clusters:
            return
        rng = np.random.default_rng(self.seed)
        step = max(1, _HELD_AT_ONCE // self.clusters)
        few = max(1, _DRAWN_AT_ONCE // self.clusters)
        for start in range(0, self.resamples, step):
            piece = np.empty((min(step, self.resamples - start), self.clusters), dtype=np.float32)
            for first in range(0, len(piece), few):
                rows = piece[first : first + few]
                # Drawn in pieces, the stream is that drawn at once (a test holds numpy to it).
                draws = rng.integers(0, self.clusters, rows.shape)
                draws += (np.arange(len(rows)) * self.clusters)[:, None]
                rows[:] = np.bincount(draws.ravel(), minlength=rows.size).reshape(rows.shape)
            yield slice(start, start + len(piece)), piece


def resampled_sums(per_cluster: Floats, draws: Draws) -> Floats:
    """Column sums over the clusters drawn.

    Args:
        per_cluster: shape (clusters, columns).
        draws: which clusters come up how often.

    Returns:
        Sums, shape (resamples, columns); exact where the columns are whole numbers.
    """
    clusters, columns = per_cluster.shape
    sums = np.zeros((draws.resamples, columns))
    used = np.flatnonzero(per_cluster.any(axis=0))
    if clusters == 0 or used.size == 0:
        return sums
    dense = per_cluster[:, used]
    # Single precision is twice as fast and still exact while no sum can reach 2**24.
    whole = bool((dense == np.floor(dense)).all())
    exact = whole and float(np.abs(dense).max()) * clusters < _EXACT_IN_FLOAT32
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    values = dense.astype(kind)
    for rows, times in draws.pieces():
        sums[rows, used] = times.astype(kind, copy=False) @ values
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


def resample_blocks(blocks: Sequence[Floats], draws: Draws) -> list[Resampled]:
    """Resamples several blocks of columns over the same clusters by the same draws.

    Args:
        blocks: counts per cluster, shape (clusters, columns) each.
        draws: which clusters come up how often.

    Returns:
        One per block.
    """
    if not blocks:
        return []
    sums = resampled_sums(np.concatenate(blocks, axis=1), draws)
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = np.split(sums, ends[:-1], axis=1)
    return [Resampled(block, part) for block, part in zip(blocks, parts, strict=True)]


def joined(parts: Sequence[Resampled]) -> Resampled:
    """The whole of some parts that count different items in the same columns."""
    if len(parts) == 1:
        return parts[0]
    return Resampled(
        np.sum([part.per_cluster for part in parts], axis=0),
        np.sum([part.sums for part in parts], axis=0),
    )


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
    """What the bootstrap knows of some statistics, one column each.

    Attributes:
        values: the statistics themselves, shape (m,); nan where undefined (zero denominator).
        replicates: resampled statistics, shape (resamples, m); nan likewise.
        jackknife: statistics with one cluster left out, shape (clusters, m); nan likewise. Equal
            rows may stand there once (``times``).
        support: clusters that take part in each denominator, shape (m,).
        times: how many clusters each row of ``jackknife`` stands for; ``None``: one each.
    """

    values: Floats
    replicates: Floats
    jackknife: Floats
    support: Floats
    times: Floats | None = None

    def __sub__(self, other: Distribution) -> Distribution:
        """The distribution of the paired difference; both must come from the same draws.

        Raises:
            ValueError: equal rows of a jackknife were merged, so clusters cannot be paired.
        """
        if self.times is not None or other.times is not None:
            raise ValueError("merged jackknives cannot be paired")
        return Distribution(
            self.values - other.values,
            self.replicates - other.replicates,
            self.jackknife - other.jackknife,
            np.minimum(self.support, other.support),
        )

    @cached_property
    def _ordered(self) -> Floats:
        """Replicates in ascending order, nan at the end."""
        return np.ascontiguousarray(np.sort(self.replicates.T, axis=1).T)

    @cached_property
    def _known(self) -> NDArray[np.int64]:
        """Replicates that have a value, shape (m,)."""
        known: NDArray[np.int64] = (~np.isnan(self.replicates)).sum(axis=0)
        return known

    @property
    def undefined_share(self) -> Floats:
        """Share of resamples without a value, shape (m,)."""
        share: Floats = 1 - self._known / max(len(self.replicates), 1)
        return share

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """Where the resamples say nothing of uncertainty, shape (m,).

        Either they do not vary at all (every item right, say), or so few clusters take part that
        more than one resample in twenty has no value.
        """
        last = np.maximum(self._known - 1, 0)
        column = np.arange(self.values.size)
        still = ~(self._ordered[last, column] > self._ordered[0])
        return np.asarray(still | (self.undefined_share > _OFTEN_UNDEFINED), dtype=np.bool_)

    def standard_errors(self) -> Floats:
        """Standard deviation of the replicates, shape (m,); nan where fewer than two have one."""
        enough = self._known > 1
        errors = np.full(enough.shape, np.nan)
        if enough.any():
            errors[enough] = np.nanstd(self.replicates[:, enough], axis=0, ddof=1)
        return errors

    def quantiles(self, levels: Sequence[float]) -> Floats:
        """Quantiles of the replicates that have a value, shape (levels, m)."""
        width = self.values.shape[0]
        return _quantiles(self._ordered, np.repeat(np.array(levels)[:, None], width, axis=1))

    def intervals(self, confidence: float = 0.95) -> BootstrapIntervals:
        """Percentile and BCa intervals of every statistic."""
        tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
        return BootstrapIntervals(
            percentile=self.quantiles(tails.tolist()),
            bca=_quantiles(self._ordered, self._bca_levels(tails)),
            degenerate=self.degenerate,
            support=self.support,
        )

    def _bca_levels(self, tails: Floats) -> Floats:
        """Which quantiles of the replicates BCa takes, shape (2, m)."""
        known = np.maximum(self._known, 1)
        below = (self.replicates < self.values).sum(axis=0)
        equal = (self.replicates == self.values).sum(axis=0)
        shares = (below + equal / 2) / known
        levels = np.full((tails.size, shares.size), np.nan)
        if not len(self.jackknife):
            return levels
        squares, cubes = _moments(_never_all_nan(self.jackknife), self.times)
        for column in range(shares.size):
            scale = 6 * squares[column] ** 1.5  # 0 also for values too small for their cube
            if not 0 < shares[column] < 1 or scale == 0:
                continue
            bias = normal_quantile(shares[column])
            acceleration = cubes[column] / scale
            for row, tail in enumerate(tails):
                shift = bias + normal_quantile(tail)
                levels[row, column] = _NORMAL.cdf(bias + shift / (1 - acceleration * shift))
        return levels


def ratio_distribution(
    data: Resampled, numerators: Floats, denominators: Floats, *, merge: bool = False
) -> Distribution:
    """The bootstrap distribution of ratios of weighted sums of columns.

    Args:
        data: the resampled columns.
        numerators: weights, shape (m, columns).
        denominators: the same.
        merge: reckon the jackknife once for all clusters of equal counts. Much faster, but the
            result cannot be subtracted from another.
    """
    rows, times = _merged(data.per_cluster) if merge else (data.per_cluster, None)
    tops, bottoms = rows @ numerators.T, rows @ denominators.T
    totals = data.totals
    top, bottom = totals @ numerators.T, totals @ denominators.T
    takes_part = bottoms > 0
    return Distribution(
        values=_divide(top, bottom),
        replicates=_divide(data.sums @ numerators.T, data.sums @ denominators.T),
        jackknife=_divide(top - tops, bottom - bottoms),
        support=(takes_part if times is None else takes_part * times[:, None])
        .sum(axis=0)
        .astype(np.float64),
        times=times,
    )


def _merged(rows: Floats) -> tuple[Floats, Floats | None]:
    """Distinct rows and how often each occurs; all rows where telling them apart is too dear."""
    used = np.flatnonzero(rows.any(axis=0))
    base = float(rows.max(initial=0)) + 1
    if not used.size or base**used.size >= 2**53:
        return rows, None
    # Rows are digits of one number each, which is told from others at once.
    keys = rows[:, used] @ (base ** np.arange(used.size))
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return rows[first], times.astype(np.float64)


def _moments(left_out: Floats, times: Floats | None) -> tuple[Floats, Floats]:
    """Sums of squares and cubes of mean - value over the clusters, shape (m,) each."""
    if times is None:
        apart = np.nanmean(left_out, axis=0) - left_out
        squared = apart * apart
        return np.nansum(squared, axis=0), np.nansum(squared * apart, axis=0)
    known = ~np.isnan(left_out)
    values = np.where(known, left_out, 0.0)
    count = times @ known
    apart = np.where(known, (times @ values) / np.maximum(count, 1) - values, 0.0)
    squared = apart * apart
    return times @ squared, times @ (squared * apart)


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
