"""Calibration: expected calibration error, Brier score, and what chance alone gives.

Sources: Brier, Monthly Weather Review 1950, 78:1; Murphy, J. Applied Meteorology 1973, 12:595 (the
partition of the Brier score); Stephenson, Coelho & Jolliffe, Weather and Forecasting 2008, 23:752
(its within-bin component); Naeini, Cooper & Hauskrecht, AAAI 2015 (expected calibration error);
Nguyen & O'Connor, EMNLP 2015 (bins of equal mass).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import SEED, Floats

N_BINS = 10
N_SIMULATIONS = 1000

_MIN_NORMAL_VARIANCE = 25.0
"""Minimum variance of the number of right replies of a bin for the normal approximation."""
_MAX_GROUPS = 2000
"""Maximum number of groups of equal probability that a bin is divided into for simulation."""

Bins = NDArray[np.int64]
"""The bin of each reply."""


def equal_width_bins(confidences: Floats, bins: int = N_BINS) -> Bins:
    """Assigns replies to the bins [0, .1), [.1, .2), … [.9, 1].

    The edges are k / bins, so that .3 falls into [.3, .4). ``numpy.linspace`` has rounding errors
    that would put .3, .6 and .7 into the bin below.

    Args:
        confidences: in [0, 1], shape (n,).
        bins: number of bins.

    Returns:
        Bin numbers from 0, shape (n,).
    """
    edges = np.array([k / bins for k in range(1, bins)])
    return np.searchsorted(edges, confidences, side="right").astype(np.int64)


def equal_mass_bins(confidences: Floats, bins: int = N_BINS) -> Bins:
    """Assigns replies to bins that are as equal in size as ties allow.

    Replies of equal confidence share the bin that the middle of their ranks falls into. Empty bins
    are left out, and the others are numbered without gaps.

    Args:
        confidences: shape (n,).
        bins: maximum number of bins.

    Returns:
        Bin numbers from 0, ascending with confidence, shape (n,).
    """
    _, level, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    n_below = np.cumsum(counts) - counts
    bin_of_level = (2 * n_below + counts) * bins // (2 * max(len(confidences), 1))
    gapless: Bins = np.unique(bin_of_level, return_inverse=True)[1].astype(np.int64)
    return gapless[level]


def calibration_error(confidences: Floats, right: Floats, bins: Bins) -> float:
    """Computes the expected calibration error.

    Σ over bins of (share of replies) · |accuracy - confidence|.

    Args:
        confidences: shape (n,), n at least 1.
        right: 1 where the reply is right, else 0; shape (n,).
        bins: shape (n,).

    Returns:
        In [0, 1].
    """
    gaps = np.bincount(bins, weights=right - confidences)
    return float(np.abs(gaps).sum()) / len(confidences)


def brier_score(confidences: Floats, right: Floats) -> float:
    """Computes the mean squared difference between confidence and being right (0 or 1)."""
    return float(np.mean((confidences - right) ** 2))


@dataclass(frozen=True)
class BrierPartition:
    """The terms of Brier score = reliability - resolution + uncertainty + within.

    Attributes:
        reliability: mean squared difference between mean confidence and accuracy of a bin.
        resolution: mean squared difference between the accuracy of a bin and that of all replies.
        uncertainty: variance of being right, over all replies.
        within: the rest, caused by different confidences in one bin.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float


def brier_partition(confidences: Floats, right: Floats, bins: Bins) -> BrierPartition:
    """Computes Murphy's partition of the Brier score over bins.

    Args:
        confidences: shape (n,), n at least 1.
        right: 0/1, shape (n,).
        bins: shape (n,).
    """
    return partition_brier_score(
        np.bincount(bins),
        np.bincount(bins, weights=confidences),
        np.bincount(bins, weights=right),
        base_rate=float(right.mean()),
        score=brier_score(confidences, right),
    )


def partition_brier_score(
    count: NDArray[np.int64],
    confidence_sums: NDArray[Any],
    n_right: NDArray[Any],
    *,
    base_rate: float,
    score: float,
) -> BrierPartition:
    """Computes Murphy's partition from the sums over the replies of each bin.

    Args:
        count: number of replies, shape (bins,).
        confidence_sums: sum of their confidences, shape (bins,).
        n_right: number of right ones, shape (bins,).
        base_rate: share of right replies.
        score: the Brier score.
    """
    is_used = count > 0
    share = count[is_used] / count.sum()
    mean_confidence = confidence_sums[is_used] / count[is_used]
    accuracy = n_right[is_used] / count[is_used]
    reliability = float((share * (mean_confidence - accuracy) ** 2).sum())
    resolution = float((share * (accuracy - base_rate) ** 2).sum())
    uncertainty = base_rate * (1 - base_rate)
    within = score - (reliability - resolution + uncertainty)
    return BrierPartition(reliability, resolution, uncertainty, within)


@dataclass(frozen=True)
class ChanceError:
    """The calibration errors that perfectly calibrated systems have by chance.

    Attributes:
        mean: mean of the simulated errors.
        high: quantile of the simulated errors at the requested level.
        p_value: share of simulated errors that are at least the observed error, with one added to
            numerator and denominator.
    """

    mean: float
    high: float
    p_value: float


def simulate_chance_error(
    confidences: Floats,
    bins: Bins,
    observed: float,
    *,
    level: float = 0.95,
    simulations: int = N_SIMULATIONS,
    seed: int = SEED,
    counts: NDArray[np.int64] | None = None,
) -> ChanceError:
    """Simulates the calibration error that chance alone gives at these confidences.

    Each reply is right with the probability that its confidence states, independently. In bins
    where the number of right replies has a variance of at least 25, it is sampled from the normal
    approximation.

    Args:
        confidences: shape (n,), n at least 1.
        bins: shape (n,).
        observed: the observed error, for the p-value.
        level: the level of the quantile ``high``.
        simulations: number of simulated systems.
        seed: seed of the simulation.
        counts: how many replies have each of the confidences; by default one.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros(simulations)
    for bin_number in range(int(bins.max()) + 1):
        is_in_bin = bins == bin_number
        bin_counts = None if counts is None else counts[is_in_bin]
        total += np.abs(_simulate_gaps(confidences[is_in_bin], bin_counts, simulations, rng))
    errors = total / (len(confidences) if counts is None else int(counts.sum()))
    n_reached = int((errors >= observed - 1e-12).sum())
    return ChanceError(
        mean=float(errors.mean()),
        high=float(np.quantile(errors, level)),
        p_value=(n_reached + 1) / (simulations + 1),
    )


def _simulate_gaps(
    confidences: Floats,
    counts: NDArray[np.int64] | None,
    simulations: int,
    rng: np.random.Generator,
) -> Floats:
    """Simulates (right replies - sum of confidences) of one bin, shape (simulations,)."""
    variances = confidences * (1 - confidences)
    variance = float(variances.sum() if counts is None else counts @ variances)
    if variance == 0:
        return np.zeros(simulations)
    if variance >= _MIN_NORMAL_VARIANCE:
        n = confidences.size if counts is None else int(counts.sum())
        expected = float(confidences.sum() if counts is None else counts @ confidences)
        # The number of right replies is whole: without rounding, p would be too small by half a
        # step.
        hits = np.rint(rng.normal(expected, math.sqrt(variance), simulations))
        return np.clip(hits, 0, n) - expected
    ordered = np.sort(confidences if counts is None else np.repeat(confidences, counts))
    # A bin with very many replies but little variance has nearly equal confidences, so groups of
    # neighbours are sampled with their mean.
    groups = np.array_split(ordered, min(_MAX_GROUPS, ordered.size))
    sizes = np.array([group.size for group in groups])
    means = np.array([group.mean() for group in groups])
    if sizes.max() == 1:
        hits = (rng.random((simulations, sizes.size)) < means).sum(axis=1)
    else:
        hits = rng.binomial(sizes, means, (simulations, sizes.size)).sum(axis=1)
    gaps: Floats = hits - float(ordered.sum())
    return gaps
