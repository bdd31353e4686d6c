"""What is shown of a statistic: its value, which interval under which name, and its bounds."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np

from eval.stats.intervals import (
    BootstrapIntervals,
    Distribution,
    Floats,
    Resampled,
    ratio_distribution,
    tidy,
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


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one system: a number with all that is known of it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    std: float | None = None
    """Standard deviation over the resamples, for ratios."""
    n: int = 0
    """Rows it is the mean over, or the rate of: its denominator, where that counts rows."""
    numerator: float | None = None
    denominator: float | None = None
    """Of a ratio; null where the number is none (calibration, quantiles)."""
    worst: float | None = None
    """The least favourable value attainable by what failed and unjudged rows could have been;
    equals ``best`` when there are none. Null for metrics that have no such bounds."""
    best: float | None = None
    higher_is_better: bool | None = None
    """Null for metrics that only describe."""
    missing: int = 0
    """Rows that ought to have a part in it and have none: failed, unjudged, or no count given."""
    why: str = ""
    """Why ``value`` is null."""


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


def with_interval(
    shown: Value, value: float, interval: Interval | None, error: float = float("nan")
) -> Value:
    """A value with its interval; no interval where there is none to be had."""
    return msgspec.structs.replace(
        shown,
        value=tidy(value),
        low=None if interval is None else tidy(interval.low),
        high=None if interval is None else tidy(interval.high),
        method="none" if interval is None else interval.method,
        std=None if np.isnan(error) else tidy(error),
    )


def spread_value(
    spread: Distribution, column: int, shown: Value, confidence: float, *, unit: bool = True
) -> Value:
    """The value of one column of a distribution, with its interval.

    Args:
        spread: over the shared draws.
        column: which.
        shown: what else is known of the value.
        confidence: coverage that the interval aims at.
        unit: whether it lies within 0 and 1.
    """
    value = float(spread.values[column])
    if np.isnan(value):
        return shown
    interval = interval_of(spread.intervals(confidence), column)
    if interval is None and unit:
        interval = edge(value, float(spread.support[column]), confidence)
    return with_interval(shown, value, interval, float(spread.standard_errors()[column]))


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
