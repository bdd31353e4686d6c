"""The published benchmark's own definitions, faults included, so that its numbers can be checked.

Everything here follows ``src/evaluator.py`` of the published repository (MIT), written anew:

* calibration error over ten bins whose edges are ``numpy.linspace(0, 1, 11)``. Three of those are
  not the decimals they stand for (0.30000000000000004, 0.6000000000000001, 0.7000000000000001), so
  that confidences of .3, .6 and .7 fall into the bin below;
* percentile intervals of 1,000 resamples, seed 42, of each statistic for itself. They claim
  certainty where all values agree: 42 of 42 right give [1, 1];
* abstention by 31 substrings of the answer;
* an unreadable judgement of accuracy counts as wrong, of hallucination as none (favourable), of
  groundedness as none (unfavourable);
* a denominator of zero gives 0, and everything is rounded to four digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from eval.stats.calibration import calibration_error
from eval.stats.intervals import Floats

SEED = 42
RESAMPLES = 1000
BINS = 10

_DRAWN_AT_ONCE = 4_000_000


class Spread(TypedDict):
    """A mean with its percentile interval and the standard deviation of its resamples."""

    mean: float
    ci_low: float
    ci_high: float
    std: float


def bootstrap_ci(values: Sequence[float], n_bootstrap: int = 1000, ci: float = 0.95) -> Spread:
    """The published percentile interval of a mean, digit for digit.

    ``default_rng(42)`` draws one resample after the other there; drawn in pieces, its stream is
    the same.

    Args:
        values: one per sample; none gives zeros, as published.
        n_bootstrap: resamples.
        ci: coverage aimed at.

    Returns:
        Rounded to four digits.
    """
    if not len(values):
        return Spread(mean=0.0, ci_low=0.0, ci_high=0.0, std=0.0)
    known = np.asarray(values, dtype=np.float64)
    means = _resampled_means(known, n_bootstrap)
    tail = (1 - ci) / 2
    low, high = np.percentile(means, [100 * tail, 100 * (1 - tail)])
    return Spread(
        mean=round(float(known.mean()), 4),
        ci_low=round(float(low), 4),
        ci_high=round(float(high), 4),
        std=round(float(means.std()), 4),
    )


def _resampled_means(values: Floats, resamples: int) -> Floats:
    rng = np.random.default_rng(SEED)
    means = np.empty(resamples)
    step = max(1, _DRAWN_AT_ONCE // len(values))
    for start in range(0, resamples, step):
        rows = slice(start, min(start + step, resamples))
        drawn = rng.integers(0, len(values), (rows.stop - start, len(values)))
        means[rows] = values[drawn].mean(axis=1)
    return means


def published_ece(confidences: Floats, right: Floats) -> float:
    """The published calibration error; 0 where there is nothing.

    Args:
        confidences: shape (n,); one that is not in [0, 1] falls into no bin, and counts only in n.
        right: 1 where the answer is correct, else 0; shape (n,).
    """
    if not len(confidences):
        return 0.0
    edges = np.linspace(0.0, 1.0, BINS + 1)
    inside = (confidences >= 0.0) & (confidences <= 1.0)
    places = np.searchsorted(edges[1:-1], confidences[inside], side="right").astype(np.int64)
    if not len(places):
        return 0.0
    error = calibration_error(confidences[inside], right[inside], places)
    return error * len(places) / len(confidences)
