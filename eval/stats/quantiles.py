"""Bootstrap distributions of quantiles, used for latencies.

The quantile at level q is the smallest value that at least a share q of the rows does not exceed
(the inverse of the empirical distribution function; type 1 of Hyndman & Fan, The American
Statistician 1996, 50:361), so it is always an observed value. The jackknife is inconsistent for
quantiles, so BCa is not valid and the percentile interval is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats

QUANTILE_LEVELS = (0.5, 0.95)
_ROUNDING = 1e-9


def bootstrap_quantiles(
    values: Floats,
    clusters: NDArray[np.int64],
    resamples: ClusterResamples,
    levels: Sequence[float] = QUANTILE_LEVELS,
) -> Distribution:
    """Computes the bootstrap distribution of some quantiles.

    Args:
        values: one per row, finite, at least one; shape (n,).
        clusters: cluster of each row, shape (n,).
        resamples: number of times that each cluster occurs in each resample.
        levels: levels of the quantiles, each in (0, 1].

    Returns:
        A column per level; the jackknife is nan.
    """
    order = np.argsort(values, kind="stable")
    ordered, owner = values[order], clusters[order]
    replicates = np.full((resamples.n_resamples, len(levels)), np.nan)
    for rows, times in resamples.iter_weights():
        replicates[rows] = _weighted_quantiles(ordered, times[:, owner].astype(np.float64), levels)
    return Distribution(
        values=_weighted_quantiles(ordered, np.ones((1, len(ordered))), levels)[0],
        replicates=replicates,
        jackknife=np.full((resamples.n_clusters, len(levels)), np.nan),
        support=np.full(len(levels), float(np.unique(clusters).size)),
    )


def _weighted_quantiles(ordered: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Computes weighted quantiles, shape (rows of weights, levels); nan without rows."""
    reached = np.cumsum(weights, axis=1)
    total = reached[:, -1]
    found = np.full((len(weights), len(levels)), np.nan)
    for column, level in enumerate(levels):
        first = (reached >= (level * total - _ROUNDING)[:, None]).argmax(axis=1)
        found[:, column] = np.where(total > 0, ordered[first], np.nan)
    return found
