"""Bootstrap distributions of quantiles, used for latencies.

The quantile at level q is the smallest observed value that at least a share q of the rows does not
exceed: the inverse of the empirical distribution function (type 1 of Hyndman & Fan, The American
Statistician 1996, 50:361). The jackknife is inconsistent for quantiles, so BCa is not valid and the
percentile interval is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Distribution, Floats

QUANTILE_LEVELS = (0.5, 0.95)
_ROUNDING = 1e-9
"""Subtracted from the number of rows to reach, because ``level * total`` has rounding errors."""


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
        The distribution, with a column per level; its jackknife is nan.
    """
    order = np.argsort(values, kind="stable")
    ordered, row_clusters = values[order], clusters[order]
    replicates = np.full((resamples.n_resamples, len(levels)), np.nan)
    for batch, weights in resamples.iter_weights():
        replicates[batch] = _weighted_quantiles(
            ordered, weights[:, row_clusters].astype(np.float64), levels
        )
    return Distribution(
        values=_weighted_quantiles(ordered, np.ones((1, len(ordered))), levels)[0],
        replicates=replicates,
        jackknife=np.full((resamples.n_clusters, len(levels)), np.nan),
        support=np.full(len(levels), float(np.unique(clusters).size)),
    )


def _weighted_quantiles(ordered: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Computes weighted quantiles, shape (rows of weights, levels); nan if all weights are 0."""
    cumulated = np.cumsum(weights, axis=1)
    total = cumulated[:, -1]
    quantiles = np.full((len(weights), len(levels)), np.nan)
    for column, level in enumerate(levels):
        first_index = (cumulated >= (level * total - _ROUNDING)[:, None]).argmax(axis=1)
        quantiles[:, column] = np.where(total > 0, ordered[first_index], np.nan)
    return quantiles
