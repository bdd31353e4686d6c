"""How metrics go together with what schemas ask for, and latency with lengths.

Pearson's correlation, as the specification has it, and Spearman's beside it, since neither counts
of fields nor scores near 1 are anywhere near normal. Intervals are on Fisher's z scale: of Pearson
with the standard error that the sample's own fourth moments give (asymptotically distribution-free;
Bishara, Li & Nash, British J. Mathematical and Statistical Psychology 2018, 71:167), of Spearman
with √((1 + r²/2) / (n - 3)) (Bonett & Wright, Psychometrika 2000, 65:23). Samples count once: with
repeats it is their mean that is correlated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eval.extraction.record import Correlation
from eval.stats.intervals import Floats, tidy
from kg.base.proportions import normal_quantile

FEWEST = 3
"""Samples below which there is no correlation."""

_PERFECT = 1 - 1e-12
_CONSTANT = 1e-12


def correlations(
    metrics: Mapping[str, Floats], features: Mapping[str, Floats], confidence: float
) -> tuple[Correlation, ...]:
    """Every metric with every feature, in the order of both.

    Args:
        metrics: name → one number a sample, nan where there is none; shape (samples,) each.
        features: the same of what they may depend on.
        confidence: coverage that intervals aim at.
    """
    return tuple(
        correlation(metric, values, feature, given, confidence)
        for metric, values in metrics.items()
        for feature, given in features.items()
    )


def correlation(
    metric: str, values: Floats, feature: str, given: Floats, confidence: float
) -> Correlation:
    """One metric with one feature, over the samples that have both."""
    known = ~(np.isnan(values) | np.isnan(given))
    first, second = values[known], given[known]
    n = int(known.sum())
    why = _why(n, metric, first, feature, second)
    if why:
        return Correlation(metric=metric, feature=feature, n=n, why=why)
    pearson, error = _pearson(first, second)
    spearman, _ = _pearson(_ranks(first), _ranks(second))
    low, high = _interval(pearson, error, confidence)
    bonett = math.sqrt((1 + spearman * spearman / 2) / (n - 3)) if n > FEWEST else math.nan
    rank_low, rank_high = _interval(spearman, bonett, confidence)
    return Correlation(
        metric=metric,
        feature=feature,
        n=n,
        pearson=tidy(pearson),
        pearson_low=low,
        pearson_high=high,
        spearman=tidy(spearman),
        spearman_low=rank_low,
        spearman_high=rank_high,
    )


def _why(n: int, metric: str, first: Floats, feature: str, second: Floats) -> str:
    if n < FEWEST:
        return f"{n} samples have both"
    for name, column in ((metric, first), (feature, second)):
        if _constant(column):
            return f"{name} is the same for all samples"
    return ""


def _constant(column: Floats) -> bool:
    return bool(np.ptp(column) <= _CONSTANT * max(1.0, float(np.abs(column).max())))


def _pearson(first: Floats, second: Floats) -> tuple[float, float]:
    """Pearson's correlation, and its standard error on Fisher's z scale (nan where none)."""
    one, two = (_standard(column) for column in (first, second))
    value = float(np.clip((one * two).mean(), -1.0, 1.0))
    if len(first) <= FEWEST or abs(value) > _PERFECT:
        return value, math.nan
    influence = one * two - value * (one * one + two * two) / 2
    error = math.sqrt(float((influence * influence).mean()) / (len(first) - 3))
    return value, error / (1 - value * value)


def _standard(column: Floats) -> Floats:
    apart = column - column.mean()
    standard: Floats = apart / math.sqrt(float((apart * apart).mean()))
    return standard


def _ranks(column: Floats) -> Floats:
    """Ranks from 0, equal values sharing their mean rank, shape (n,)."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts + 1) / 2
    return middle[place]


def _interval(value: float, error: float, confidence: float) -> tuple[float | None, float | None]:
    if math.isnan(error) or abs(value) > _PERFECT:
        return None, None
    reach = normal_quantile(0.5 + confidence / 2) * error
    centre = math.atanh(value)
    return tidy(math.tanh(centre - reach)), tidy(math.tanh(centre + reach))
