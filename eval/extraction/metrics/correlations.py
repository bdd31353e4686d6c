"""Computes Pearson's and Spearman's correlations with confidence intervals.

The specification requires Pearson's correlation. Spearman's is added because counts of fields and
scores near 1 are far from normally distributed. Intervals are computed on Fisher's z scale. The
standard error is

* for Pearson, computed from the sample's fourth moments, which assumes no distribution (Bishara,
  Li & Nash, British J. Mathematical and Statistical Psychology 2018, 71:167);
* for Spearman, √((1 + r²/2) / (n - 3)) (Bonett & Wright, Psychometrika 2000, 65:23).

Each sample counts once; with repeats, the mean over the repeats is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eval.extraction.record import Correlation
from eval.stats.bootstrap import Floats, round_significant
from kg.base.proportions import normal_quantile

MIN_SAMPLES = 3
"""Minimum number of samples for a correlation."""

_MAX_CORRELATION = 1 - 1e-12
"""Correlations closer to 1 or -1 have no interval, because Fisher's z is infinite there."""
_CONSTANT_TOLERANCE = 1e-12
"""Values that differ by less (relative to the largest) count as equal, as rounding errors."""


def correlate_all(
    metrics: Mapping[str, Floats], features: Mapping[str, Floats], confidence: float
) -> tuple[Correlation, ...]:
    """Correlates every metric with every feature, in the order of both.

    Args:
        metrics: name → one number per sample, nan if there is none; shape (samples,) each.
        features: name → one number per sample, nan if there is none; shape (samples,) each.
        confidence: nominal coverage of intervals.
    """
    return tuple(
        correlate_pair(metric, values, feature, feature_values, confidence)
        for metric, values in metrics.items()
        for feature, feature_values in features.items()
    )


def correlate_pair(
    metric: str, values: Floats, feature: str, feature_values: Floats, confidence: float
) -> Correlation:
    """Correlates one metric with one feature, over the samples that have both."""
    has_both = ~(np.isnan(values) | np.isnan(feature_values))
    first, second = values[has_both], feature_values[has_both]
    n = int(has_both.sum())
    undefined_reason = _explain_undefined(n, metric, first, feature, second)
    if undefined_reason:
        return Correlation(metric=metric, feature=feature, n=n, why=undefined_reason)
    pearson, pearson_error = _compute_pearson(first, second)
    spearman, _ = _compute_pearson(_compute_ranks(first), _compute_ranks(second))
    low, high = _compute_fisher_interval(pearson, pearson_error, confidence)
    spearman_error = (
        math.sqrt((1 + spearman * spearman / 2) / (n - 3)) if n > MIN_SAMPLES else math.nan
    )
    rank_low, rank_high = _compute_fisher_interval(spearman, spearman_error, confidence)
    return Correlation(
        metric=metric,
        feature=feature,
        n=n,
        pearson=round_significant(pearson),
        pearson_low=low,
        pearson_high=high,
        spearman=round_significant(spearman),
        spearman_low=rank_low,
        spearman_high=rank_high,
    )


def _explain_undefined(n: int, metric: str, first: Floats, feature: str, second: Floats) -> str:
    if n < MIN_SAMPLES:
        return f"{n} samples have both"
    for name, column in ((metric, first), (feature, second)):
        if _is_constant(column):
            return f"{name} is the same for all samples"
    return ""


def _is_constant(values: Floats) -> bool:
    return bool(np.ptp(values) <= _CONSTANT_TOLERANCE * max(1.0, float(np.abs(values).max())))


def _compute_pearson(first: Floats, second: Floats) -> tuple[float, float]:
    """Returns Pearson's correlation and its standard error on Fisher's z scale (or nan)."""
    first_z, second_z = (_standardise_column(column) for column in (first, second))
    correlation = float(np.clip((first_z * second_z).mean(), -1.0, 1.0))
    if len(first) <= MIN_SAMPLES or abs(correlation) > _MAX_CORRELATION:
        return correlation, math.nan
    # Contribution of each sample to the correlation; its variance is the asymptotic variance.
    influence = first_z * second_z - correlation * (first_z * first_z + second_z * second_z) / 2
    error = math.sqrt(float((influence * influence).mean()) / (len(first) - 3))
    return correlation, error / (1 - correlation * correlation)


def _standardise_column(column: Floats) -> Floats:
    centred = column - column.mean()
    standard: Floats = centred / math.sqrt(float((centred * centred).mean()))
    return standard


def _compute_ranks(column: Floats) -> Floats:
    """Returns ranks from 0, where equal values get the mean of their ranks; shape (n,)."""
    _, value_index, counts = np.unique(column, return_inverse=True, return_counts=True)
    mean_ranks: Floats = np.cumsum(counts) - (counts + 1) / 2
    return mean_ranks[value_index]


def _compute_fisher_interval(
    value: float, standard_error: float, confidence: float
) -> tuple[float | None, float | None]:
    if math.isnan(standard_error) or abs(value) > _MAX_CORRELATION:
        return None, None
    half_width = normal_quantile(0.5 + confidence / 2) * standard_error
    centre = math.atanh(value)
    return round_significant(math.tanh(centre - half_width)), round_significant(
        math.tanh(centre + half_width)
    )
