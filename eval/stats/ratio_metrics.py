"""Metrics that are ratios of sums over rows, with their intervals and bounds.

Each row is a vector of named columns; a metric is a weighted sum of columns divided by another
weighted sum. All metrics are therefore resampled by one matrix product.

Plain proportions of samples that were asked once have Wilson's interval. All other metrics have the
interval of the cluster bootstrap over samples: BCa, or percentile where BCa is undefined. Where the
resamples are degenerate (all have the same value, or too many have none), metrics in [0, 1] have
Wilson's interval instead, because an interval of width zero would claim certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from eval.stats.bootstrap import Floats, ResampledCounts, round_significant
from eval.stats.estimates import (
    Estimate,
    Interval,
    add_interval,
    choose_interval,
    compute_edge_interval,
    compute_ratios,
)
from kg.base.proportions import wilson_interval

Counts = Mapping[str, float]
"""Sums over the rows, by column name."""

Bounds = tuple[float | None, float | None]
"""The lowest and the highest value attainable; ``None`` for both if a metric has no bounds."""


@dataclass(frozen=True)
class RatioMetric:
    """A metric that is a ratio of weighted sums of columns.

    Attributes:
        name: its name in the record.
        numerator: columns whose weighted sum is the numerator, with weights.
        denominator: the same for the denominator.
        higher_is_better: ``None`` for descriptive metrics.
        is_binary: whether each row is 0 or 1, so that the metric is a plain proportion.
        in_unit_interval: whether values lie in [0, 1].
        missing: column that counts rows which should be included and are not.
        worst_case: columns, with weights, of the amount that failed or missing rows would add to
            the denominator; to the numerator they would add between nothing and this amount.
        failed: column of rows that the denominator includes as failures, but that could have been
            hits.
        bounds: computes (lowest, highest) attainable value, for a metric with its own bounds.
        rows: column that counts the rows of the metric, if that is not the denominator.
        undefined_reason: why there is no value when the denominator is 0.
    """

    name: str
    numerator: Mapping[str, float]
    denominator: Mapping[str, float]
    higher_is_better: bool | None = None
    is_binary: bool = False
    in_unit_interval: bool = True
    missing: str = ""
    worst_case: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    bounds: Callable[[Counts], Bounds] | None = None
    rows: str = ""
    undefined_reason: str = "no row to measure"

    def build_weights(self, columns: Sequence[str]) -> tuple[Floats, Floats]:
        """Builds weights of numerator and denominator over ``columns``, shape (columns,) each."""
        column_index = {name: index for index, name in enumerate(columns)}
        weights = np.zeros((2, len(columns)))
        for row, side in enumerate((self.numerator, self.denominator)):
            for name, weight in side.items():
                weights[row, column_index[name]] = weight
        return weights[0], weights[1]

    @property
    def columns(self) -> set[str]:
        """Every column the metric needs, except those that only ``bounds`` uses."""
        optional_columns = {name for name in (self.rows, self.missing, self.failed) if name}
        return {*self.numerator, *self.denominator, *self.worst_case, *optional_columns}

    def compute_bounds(self, counts: Counts) -> Bounds:
        """Computes the lowest and highest value attainable if missing and failed rows had outcomes.

        Both are ``None`` if the metric has no bounds, or if no row could give it a value.
        """
        if self.bounds is not None:
            return self.bounds(counts)
        if not self.worst_case and not self.failed:
            return None, None
        numerator, denominator, worst_case_rows = (
            _weighted_sum(side, counts)
            for side in (self.numerator, self.denominator, self.worst_case)
        )
        total = denominator + worst_case_rows
        if total <= 0:
            return None, None
        failed = counts[self.failed] if self.failed else 0.0
        return numerator / total, (numerator + failed + worst_case_rows) / total


def build_weight_matrices(
    metrics: Sequence[RatioMetric], columns: Sequence[str]
) -> tuple[Floats, Floats]:
    """Builds weights of all numerators and denominators, shape (metrics, columns) each."""
    weights = np.array([metric.build_weights(columns) for metric in metrics])
    return weights[:, 0], weights[:, 1]


def _weighted_sum(columns: Mapping[str, float], counts: Counts) -> float:
    """Computes a weighted sum of totals."""
    return float(sum(weight * counts[name] for name, weight in columns.items()))


def compute_estimates(
    metrics: Sequence[RatioMetric],
    columns: Sequence[str],
    data: ResampledCounts,
    *,
    confidence: float,
    repeated: bool,
) -> dict[str, Estimate]:
    """Computes estimates of some metrics, by name.

    Args:
        metrics: the metrics.
        columns: the names of the columns of ``data``.
        data: the sums by sample, and their resampled sums.
        confidence: nominal coverage of the intervals.
        repeated: whether samples were asked more than once, so that rows are not independent.
    """
    distribution = compute_ratios(data, *build_weight_matrices(metrics, columns))
    totals = dict(zip(columns, data.totals.tolist(), strict=True))
    intervals = distribution.compute_intervals(confidence)
    errors = distribution.compute_standard_errors()
    estimates: dict[str, Estimate] = {}
    for column, metric in enumerate(metrics):
        estimate = _build_estimate(metric, totals)
        denominator = estimate.denominator or 0.0
        if denominator <= 0:
            estimates[metric.name] = msgspec.structs.replace(estimate, why=metric.undefined_reason)
            continue
        value = (estimate.numerator or 0.0) / denominator
        if metric.is_binary and not repeated:
            low, high = wilson_interval(estimate.numerator or 0.0, denominator, confidence)
            interval: Interval | None = Interval(low, high, "wilson")
        else:
            interval = choose_interval(intervals, column)
            if interval is None and metric.in_unit_interval:
                interval = compute_edge_interval(
                    value, float(intervals.support[column]), confidence
                )
        estimates[metric.name] = add_interval(estimate, value, interval, float(errors[column]))
    return estimates


def _build_estimate(metric: RatioMetric, totals: Mapping[str, float]) -> Estimate:
    lowest, highest = metric.compute_bounds(totals)
    bounds = (lowest, highest) if metric.higher_is_better is not False else (highest, lowest)
    worst, best = (None if bound is None else round_significant(bound) for bound in bounds)
    denominator = _weighted_sum(metric.denominator, totals)
    return Estimate(
        value=None,
        n=round(totals[metric.rows] if metric.rows else denominator),
        numerator=round_significant(_weighted_sum(metric.numerator, totals)),
        denominator=round_significant(denominator),
        worst=worst,
        best=best,
        higher_is_better=metric.higher_is_better,
        missing=round(totals[metric.missing]) if metric.missing else 0,
    )
