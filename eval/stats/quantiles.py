"""Quantiles of latency over rows, resampled with everything else.

A quantile is the smallest latency that at least so many of the rows do not exceed (the inverse of
the empirical distribution function; type 1 of Hyndman & Fan, The American Statistician 1996,
50:361): always one that was measured. Its jackknife does not vary as the bootstrap does, so BCa
does not hold for it, and the interval is the percentile one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eval.stats.intervals import Distribution, Draws, Floats

LEVELS = (0.5, 0.95)
_ROUNDING = 1e-9


def quantiles(
    values: Floats, clusters: NDArray[np.int64], draws: Draws, levels: Sequence[float] = LEVELS
) -> Distribution:
    """The bootstrap distribution of some quantiles.

    Args:
        values: one per row, finite, at least one; shape (n,).
        clusters: cluster of each row, shape (n,).
        draws: which clusters come up how often.
        levels: of the quantiles, each in (0, 1].

    Returns:
        A column per level; the jackknife is nan.
    """
    order = np.argsort(values, kind="stable")
    ordered, owner = values[order], clusters[order]
    replicates = np.full((draws.resamples, len(levels)), np.nan)
    for rows, times in draws.pieces():
        replicates[rows] = _weighted(ordered, times[:, owner].astype(np.float64), levels)
    return Distribution(
        values=_weighted(ordered, np.ones((1, len(ordered))), levels)[0],
        replicates=replicates,
        jackknife=np.full((draws.clusters, len(levels)), np.nan),
        support=np.full(len(levels), float(np.unique(clusters).size)),
    )


def _weighted(ordered: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Quantiles at some weights, shape (rows of weights, levels); nan where no row is drawn."""
    reached = np.cumsum(weights, axis=1)
    total = reached[:, -1]
    found = np.full((len(weights), len(levels)), np.nan)
    for column, level in enumerate(levels):
        place = (reached >= (level * total - _ROUNDING)[:, None]).argmax(axis=1)
        found[:, column] = np.where(total > 0, ordered[place], np.nan)
    return found
