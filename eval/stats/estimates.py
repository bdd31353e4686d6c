"""Estimates: values of statistics with their intervals, the methods of these, and bounds."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np

from eval.stats.bootstrap import (
    BootstrapIntervals,
    Distribution,
    Floats,
    ResampledCounts,
    compute_ratio_distribution,
    round_significant,
)
from kg.base.proportions import wilson_interval

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
"""The method of the interval [``low``, ``high``].

``bootstrap-union`` is used for calibration errors (union of percentile and basic). ``wilson-edge``
and, for differences, the two ``newcombe`` methods replace the bootstrap where the resamples are
degenerate. Either all resamples have the same value, so that the bootstrap would claim certainty,
or more than one in twenty has no value. ``none`` means that there is no interval: the value is
null, or it belongs to a control, which is not a sample."""

_ROUNDING = 1e-12
"""Maximum relative difference of two values that counts as rounding error."""


class Interval(NamedTuple):
    """An interval and its method."""

    low: float
    high: float
    method: IntervalMethod


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimate of one metric of one system: value, interval, denominator and bounds."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    std: float | None = None
    """Standard deviation over the resamples, for ratios."""
    n: int = 0
    """Number of rows the metric is a mean or rate over: the denominator, if that counts rows."""
    numerator: float | None = None
    denominator: float | None = None
    """Null where the metric is not a ratio (calibration, quantiles)."""
    worst: float | None = None
    """The least favourable value attainable if failed and unjudged rows had other outcomes;
    equals ``best`` when there are none. Null for metrics that have no such bounds."""
    best: float | None = None
    higher_is_better: bool | None = None
    """Null for descriptive metrics."""
    missing: int = 0
    """Number of rows that should be included but are failed, unjudged, or without a count."""
    why: str = ""
    """The reason why ``value`` is null."""


def choose_interval(intervals: BootstrapIntervals, column: int) -> Interval | None:
    """Returns the BCa interval, or percentile where BCa is undefined; None if degenerate."""
    if intervals.degenerate[column]:
        return None
    if np.isnan(intervals.bca[:, column]).any():
        low, high = intervals.percentile[:, column].tolist()
        return Interval(low, high, "bootstrap-percentile")
    low, high = intervals.bca[:, column].tolist()
    return Interval(low, high, "bootstrap-bca")


def compute_edge_interval(
    value: float, support: float, confidence: float, minimum: float = 0.0
) -> Interval:
    """Computes Wilson's interval over the contributing samples, for degenerate resamples.

    Args:
        value: value of the statistic, from ``minimum`` to 1 except for rounding errors.
        support: number of samples that contribute.
        confidence: nominal coverage of the interval.
        minimum: the lowest possible value.
    """
    scale = 1 - minimum
    share = min(max((value - minimum) / scale, 0.0), 1.0)
    low, high = wilson_interval(share * support, support, confidence)
    return Interval(minimum + scale * low, minimum + scale * high, "wilson-edge")


def add_interval(
    estimate: Estimate,
    value: float,
    interval: Interval | None,
    standard_error: float = float("nan"),
) -> Estimate:
    """Returns the estimate with its value, standard error and interval.

    Args:
        estimate: the estimate's other fields.
        value: the value.
        interval: the interval; None for none.
        standard_error: standard deviation over the resamples; nan for none.
    """
    return msgspec.structs.replace(
        estimate,
        value=round_significant(value),
        low=None if interval is None else round_significant(interval.low),
        high=None if interval is None else round_significant(interval.high),
        method="none" if interval is None else interval.method,
        std=None if np.isnan(standard_error) else round_significant(standard_error),
    )


def estimate_column(
    distribution: Distribution,
    column: int,
    estimate: Estimate,
    confidence: float,
    *,
    in_unit_interval: bool = True,
) -> Estimate:
    """Returns the estimate of one column of a distribution, with its interval.

    Args:
        distribution: the distribution over the shared resamples.
        column: index of the column.
        estimate: the estimate's other fields.
        confidence: nominal coverage of the interval.
        in_unit_interval: whether values lie in [0, 1].
    """
    value = float(distribution.values[column])
    if np.isnan(value):
        return estimate
    interval = choose_interval(distribution.compute_intervals(confidence), column)
    if interval is None and in_unit_interval:
        interval = compute_edge_interval(value, float(distribution.support[column]), confidence)
    return add_interval(
        estimate, value, interval, float(distribution.compute_standard_errors()[column])
    )


def compute_ratios(data: ResampledCounts, numerators: Floats, denominators: Floats) -> Distribution:
    """Computes the bootstrap distribution of ratios without the rounding errors of sums.

    The mean of a hundred values of .8 is .8 in every resample, but not to the last bit. Such
    resamples must be recognised as degenerate, since an interval of width zero claims certainty.
    """
    unrounded = compute_ratio_distribution(data, numerators, denominators)
    return Distribution(
        unrounded.values,
        _snap_to_values(unrounded.replicates, unrounded.values),
        _snap_to_values(unrounded.jackknife, unrounded.values),
        unrounded.support,
    )


def _snap_to_values(replicates: Floats, values: Floats) -> Floats:
    """Replaces replicates that differ from the value by rounding errors only with the value."""
    is_same = np.abs(replicates - values) <= _ROUNDING * np.maximum(1.0, np.abs(values))
    return np.where(is_same, values, replicates)


class BoxPlot(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a box plot. Quartiles are observed values (type 1 of Hyndman & Fan)."""

    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float
