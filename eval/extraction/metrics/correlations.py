"""Computes Pearson's and Spearman's correlations with confidence intervals.

The specification requires Pearson's; Spearman's is added because counts of fields and scores near 1
are far from normally distributed. Intervals are computed on Fisher's z scale: for Pearson with the
standard error from the sample's fourth moments (asymptotically distribution-free; Bishara, Li &
Nash, British J. Mathematical and Statistical Psychology 2018, 71:167), for Spearman with
√((1 + r²/2) / (n - 3)) (Bonett & Wright, Psychometrika 2000, 65:23). Each sample counts once; with
repeats, the mean over the repeats is used.
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
_CONSTANT_TOLERANCE = 1e-12


def correlate_all(
    metrics: Mapping[str, Floats], features: Mapping[str, Floats], confidence: float
) -> tuple[Correlation, ...]:
    """Correlates every metric with every feature, in the order of both.

    Args:
        metrics: name → one number per sample, nan if there is none; shape (samples,) each.
        features: name → one number per sample, likewise.
        confidence: nominal coverage of intervals.
    """
    return tuple(
        correlate_pair(metric, values, feature, given, confidence)
        for metric, values in metrics.items()
        for feature, given in features.items()
    )


def correlate_pair(
    metric: str, values: Floats, feature: str, feature_values: Floats, confidence: float
) -> Correlation:
    """Correlates one metric with one feature, over the samples that have both."""
    known = ~(np.isnan(values) | np.isnan(feature_values))
    first, second = values[known], feature_values[known]
    n = int(known.sum())
    why = _undefined_reason(n, metric, first, feature, second)
    if why:
        return Correlation(metric=metric, feature=feature, n=n, why=why)
    pearson, error = _pearson_correlation(first, second)
    spearman, _ = _pearson_correlation(_mean_ranks(first), _mean_ranks(second))
    low, high = _fisher_interval(pearson, error, confidence)
    bonett = math.sqrt((1 + spearman * spearman / 2) / (n - 3)) if n > MIN_SAMPLES else math.nan
    rank_low, rank_high = _fisher_interval(spearman, bonett, confidence)
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


def _undefined_reason(n: int, metric: str, first: Floats, feature: str, second: Floats) -> str:
    if n < MIN_SAMPLES:
        return f"{n} samples have both"
    for name, column in ((metric, first), (feature, second)):
        if _is_constant(column):
            return f"{name} is the same for all samples"
    return ""


def _is_constant(column: Floats) -> bool:
    return bool(np.ptp(column) <= _CONSTANT_TOLERANCE * max(1.0, float(np.abs(column).max())))


def _pearson_correlation(first: Floats, second: Floats) -> tuple[float, float]:
    """Returns Pearson's correlation and its standard error on Fisher's z scale (or nan)."""
    one, two = (_standardise_column(column) for column in (first, second))
    value = float(np.clip((one * two).mean(), -1.0, 1.0))
    if len(first) <= MIN_SAMPLES or abs(value) > _MAX_CORRELATION:
        return value, math.nan
    influence = one * two - value * (one * one + two * two) / 2
    error = math.sqrt(float((influence * influence).mean()) / (len(first) - 3))
    return value, error / (1 - value * value)


def _standardise_column(column: Floats) -> Floats:
    centred = column - column.mean()
    standard: Floats = centred / math.sqrt(float((centred * centred).mean()))
    return standard


def _mean_ranks(column: Floats) -> Floats:
    """Returns ranks from 0; ties get their mean rank; shape (n,)."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts + 1) / 2
    return middle[place]


def _fisher_interval(
    value: float, standard_error: float, confidence: float
) -> tuple[float | None, float | None]:
    if math.isnan(standard_error) or abs(value) > _MAX_CORRELATION:
        return None, None
    reach = normal_quantile(0.5 + confidence / 2) * standard_error
    centre = math.atanh(value)
    return round_significant(math.tanh(centre - reach)), round_significant(
        math.tanh(centre + reach)
    )
