"""Which interval of a statistic is shown, and under which name."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from eval.stats.intervals import (
    BootstrapIntervals,
    Distribution,
    Floats,
    Resampled,
    ratio_distribution,
)
from kg.base.proportions import wilson

IntervalMethod = Literal[
    "wilson",
    "bootstrap-bca",
    "bootstrap-percentile",
    "bootstrap-union",
    "bootstrap-basic",
    "wilson-edge",
    "newcombe-paired",
    "newcombe",
    "none",
]
"""How ``low`` and ``high`` came about.

``bootstrap-union`` is the calibration error's (percentile and basic together). ``wilson-edge``
and, for differences, the two ``newcombe`` ones stand in where the resamples
say nothing (all give the same value, so that the bootstrap would claim certainty, or more than one
in twenty gives none); ``none`` means that there is no interval (null value, or a control, which is
not a sample)."""

_ROUNDING = 1e-12


class Interval(NamedTuple):
    """An interval and how it came about."""

    low: float
    high: float
    method: IntervalMethod


def interval_of(intervals: BootstrapIntervals, column: int) -> Interval | None:
    """The bootstrap interval to show, BCa where it can be had; None where resamples say nothing."""
    if intervals.degenerate[column]:
        return None
    if np.isnan(intervals.bca[:, column]).any():
        low, high = intervals.percentile[:, column].tolist()
        return Interval(low, high, "bootstrap-percentile")
    low, high = intervals.bca[:, column].tolist()
    return Interval(low, high, "bootstrap-bca")


def edge(value: float, support: float, confidence: float) -> Interval:
    """Wilson's interval over the samples that take part, where the resamples say nothing.

    Args:
        value: of the statistic, which lies within 0 and 1 but for rounding.
        support: how many samples take part.
        confidence: coverage that the interval aims at.
    """
    low, high = wilson(min(max(value, 0.0), 1.0) * support, support, confidence)
    return Interval(low, high, "wilson-edge")


def ratios(data: Resampled, numerators: Floats, denominators: Floats) -> Distribution:
    """``ratio_distribution`` without the rounding errors of sums.

    The mean of a hundred values of .8 is .8 in every resample, but not to the last bit, and what
    does not vary must be seen not to: an interval of no width claims certainty.
    """
    found = ratio_distribution(data, numerators, denominators)
    return Distribution(
        found.values,
        _settled(found.replicates, found.values),
        _settled(found.jackknife, found.values),
        found.support,
    )


def _settled(near: Floats, values: Floats) -> Floats:
    same = np.abs(near - values) <= _ROUNDING * np.maximum(1.0, np.abs(values))
    return np.where(same, values, near)
