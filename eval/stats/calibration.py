"""Calibration: does a stated confidence of .8 mean right eight times in ten?

Sources: Brier, Monthly Weather Review 1950, 78:1; Murphy, J. Applied Meteorology 1973, 12:595 (the
partition of the Brier score), with what remains inside bins after Stephenson, Coelho & Jolliffe,
Weather and Forecasting 2008, 23:752; Naeini, Cooper & Hauskrecht, AAAI 2015 (expected calibration
error); Nguyen & O'Connor, EMNLP 2015 (bins of equal mass).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.stats.intervals import SEED, Floats

BINS = 10
SIMULATIONS = 1000

_NORMAL_ENOUGH = 25.0
_GROUPS_AT_MOST = 2000

Bins = NDArray[np.int64]
"""The bin of each reply."""


def equal_width_bins(confidences: Floats, bins: int = BINS) -> Bins:
    """Bins [0, .1), [.1, .2), … [.9, 1].

    The edges are the decimals k/bins as everyone writes them. (Those of ``numpy.linspace`` are
    not: it puts .3, .6 and .7 into the bin below.)

    Args:
        confidences: in [0, 1], shape (n,).
        bins: number of bins.

    Returns:
        Bin numbers from 0, shape (n,).
    """
    edges = np.array([k / bins for k in range(1, bins)])
    return np.searchsorted(edges, confidences, side="right").astype(np.int64)


def equal_mass_bins(confidences: Floats, bins: int = BINS) -> Bins:
    """Bins of as nearly equal numbers of replies as ties allow.

    Equal confidences share a bin, the one that the middle of their ranks falls into; bins that
    get none are left out, and the others numbered without gaps.

    Args:
        confidences: shape (n,).
        bins: number of bins at most.

    Returns:
        Bin numbers from 0, ascending with confidence, shape (n,).
    """
    _, level, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    middle = (2 * below + counts) * bins // (2 * max(len(confidences), 1))
    dense: Bins = np.unique(middle, return_inverse=True)[1].astype(np.int64)
    return dense[level]


def calibration_error(confidences: Floats, right: Floats, bins: Bins) -> float:
    """Expected calibration error: Σ over bins of (share of replies) · |accuracy - confidence|.

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
    """Mean squared difference of confidence and being right."""
    return float(np.mean((confidences - right) ** 2))


@dataclass(frozen=True)
class BrierPartition:
    """Brier score = reliability - resolution + uncertainty + within."""

    reliability: float
    resolution: float
    uncertainty: float
    within: float


def brier_partition(confidences: Floats, right: Floats, bins: Bins) -> BrierPartition:
    """Murphy's partition of the Brier score over bins.

    Args:
        confidences: shape (n,), n at least 1.
        right: 0/1, shape (n,).
        bins: shape (n,).
    """
    count = np.bincount(bins)
    used = count > 0
    share = count[used] / len(bins)
    sure = np.bincount(bins, weights=confidences)[used] / count[used]
    hit = np.bincount(bins, weights=right)[used] / count[used]
    base = float(right.mean())
    reliability = float((share * (sure - hit) ** 2).sum())
    resolution = float((share * (hit - base) ** 2).sum())
    uncertainty = base * (1 - base)
    rest = brier_score(confidences, right) - (reliability - resolution + uncertainty)
    return BrierPartition(reliability, resolution, uncertainty, rest)


@dataclass(frozen=True)
class ExpectedByChance:
    """The calibration errors of perfectly calibrated systems.

    Attributes:
        mean: on average.
        high: not exceeded with the probability asked for.
        p: share of them with the observed error or a greater one, one added to both parts.
    """

    mean: float
    high: float
    p: float


def expected_by_chance(
    confidences: Floats,
    bins: Bins,
    observed: float,
    *,
    confidence: float = 0.95,
    simulations: int = SIMULATIONS,
    seed: int = SEED,
) -> ExpectedByChance:
    """What calibration error chance alone gives at these confidences, by simulation.

    Each reply is right with the probability its confidence states, independently. In bins where
    the number of right replies has a variance of 25 or more, the normal limit stands for it.

    Args:
        confidences: shape (n,), n at least 1.
        bins: shape (n,).
        observed: the error to hold against them.
        confidence: level of ``high``.
        simulations: how many systems are simulated.
        seed: of the simulation.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros(simulations)
    for number in range(int(bins.max()) + 1):
        inside = confidences[bins == number]
        total += np.abs(_chance_gaps(inside, simulations, rng))
    errors = total / len(confidences)
    reached = int((errors >= observed - 1e-12).sum())
    return ExpectedByChance(
        mean=float(errors.mean()),
        high=float(np.quantile(errors, confidence)),
        p=(reached + 1) / (simulations + 1),
    )


def _chance_gaps(confidences: Floats, simulations: int, rng: np.random.Generator) -> Floats:
    """Simulated (right replies - sum of confidences) of one bin, shape (simulations,)."""
    variance = float((confidences * (1 - confidences)).sum())
    if variance == 0:
        return np.zeros(simulations)
    if variance >= _NORMAL_ENOUGH:
        expected = float(confidences.sum())
        # Replies are right in whole numbers: without rounding, p would be too small by half a step.
        hits = np.rint(rng.normal(expected, math.sqrt(variance), simulations))
        return np.clip(hits, 0, confidences.size) - expected
    ordered = np.sort(confidences)
    # A bin of very many replies and little variance has next to equal ones, drawn together.
    groups = np.array_split(ordered, min(_GROUPS_AT_MOST, ordered.size))
    sizes = np.array([group.size for group in groups])
    means = np.array([group.mean() for group in groups])
    if sizes.max() == 1:
        hits = (rng.random((simulations, sizes.size)) < means).sum(axis=1)
    else:
        hits = rng.binomial(sizes, means, (simulations, sizes.size)).sum(axis=1)
    gaps: Floats = hits - float(ordered.sum())
    return gaps
