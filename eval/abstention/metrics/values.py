"""Computes the value of a metric with all its intervals and chooses the interval to show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.abstention.metrics.definitions import Metric
from eval.abstention.metrics.outcomes import Floats, as_number
from eval.metrics.metric_value import MetricValue
from eval.metrics.signature import Signature
from eval.stats.bootstrap import BootstrapIntervals, round_significant
from eval.stats.estimates import IntervalMethod, compute_edge_interval
from kg.base.proportions import wilson_interval


def compute_metric_value(
    metric: Metric,
    counts: Floats,
    signature: Signature,
    resampled: BootstrapIntervals | None = None,
    column: int = 0,
    *,
    interval: bool = True,
    n_clusters_if_repeated: int = 0,
) -> MetricValue:
    """Computes one metric with its bounds and all intervals that are defined.

    Args:
        metric: the metric to compute.
        counts: cell counts.
        signature: signature of this computation; its metric is filled in.
        resampled: bootstrap intervals of several metrics, or ``None`` for Wilson alone.
        column: this metric's column in ``resampled``.
        interval: ``False`` for a control, whose counts are not a sample.
        n_clusters_if_repeated: number of clusters if each card was answered several times, else 0.
            Replies to one card are not independent, so Wilson's interval over them would be too
            narrow.
    """
    numerator, denominator = metric.compute_parts(counts)
    value = metric.compute_value(counts)
    worst, best = metric.compute_bounds(counts)
    intervals: dict[str, tuple[float, float]] = {}
    method: IntervalMethod = "none"
    if value is not None and interval:
        proportion = metric.is_proportion(counts)
        if n_clusters_if_repeated and resampled is None:
            intervals = {
                "wilson-edge": _round_pair(
                    compute_edge_interval(
                        numerator / denominator, n_clusters_if_repeated, signature.confidence
                    )[:2]
                )
            }
            method = "wilson-edge"
        else:
            proportion = proportion and not n_clusters_if_repeated
            intervals, method = _compute_intervals(
                proportion, numerator, denominator, signature.confidence, resampled, column
            )
    low, high = intervals.get(method, (None, None))
    return MetricValue(
        value=value,
        low=low,
        high=high,
        method=method,
        n=round(denominator),
        numerator=as_number(numerator),
        denominator=as_number(denominator),
        worst=worst,
        best=best,
        higher_is_better=metric.higher_is_better,
        missing=round(metric.count_missing(counts)),
        signature=str(signature.with_metric(metric.name, group=signature.group)),
        intervals=intervals,
    )


def _compute_intervals(
    is_proportion: bool,
    numerator: float,
    denominator: float,
    confidence: float,
    resampled: BootstrapIntervals | None,
    column: int,
) -> tuple[dict[str, tuple[float, float]], IntervalMethod]:
    """Computes all intervals and chooses the one to show; see ``docs/reference/metrics.md``."""
    intervals: dict[str, tuple[float, float]] = {}
    if is_proportion or resampled is None:
        intervals["wilson"] = _round_pair(wilson_interval(numerator, denominator, confidence))
    if resampled is not None and not resampled.degenerate[column]:
        intervals["bootstrap-percentile"] = _round_pair(resampled.percentile[:, column])
        if not np.isnan(resampled.bca[:, column]).any():
            intervals["bootstrap-bca"] = _round_pair(resampled.bca[:, column])
    elif resampled is not None and not is_proportion:
        # All resamples have the same value, so the bootstrap has no interval. Use Wilson's
        # interval over the clusters that the metric counts.
        support = float(resampled.support[column])
        intervals["wilson-edge"] = _round_pair(
            compute_edge_interval(numerator / denominator, support, confidence)[:2]
        )
    preferred: tuple[IntervalMethod, ...] = (
        "wilson",
        "wilson-edge",
        "bootstrap-bca",
        "bootstrap-percentile",
    )
    return intervals, next(method for method in preferred if method in intervals)


def _round_pair(interval: Sequence[float] | Floats) -> tuple[float, float]:
    return round_significant(interval[0]), round_significant(interval[1])
