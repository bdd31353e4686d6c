"""Computes the value of a metric with all its intervals, and where a control does as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.abstention.metrics.definitions import HEADLINE_METRICS, Metric
from eval.abstention.metrics.outcomes import Floats, as_number
from eval.abstention.metrics.record import ControlWin
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
            share = _to_share(metric, value), denominator
            intervals, method = _compute_intervals(
                proportion, share, signature.confidence, resampled, column, metric.minimum
            )
    low, high = intervals.get(method, (None, None))
    has_parts = len(metric.ratios) == 1
    return MetricValue(
        value=value,
        low=low,
        high=high,
        method=method,
        n=round(denominator),
        numerator=as_number(numerator) if has_parts else None,
        denominator=as_number(denominator) if has_parts else None,
        worst=worst,
        best=best,
        higher_is_better=metric.higher_is_better,
        missing=round(metric.count_missing(counts)),
        signature=str(signature.with_metric(metric.name, group=signature.group)),
        intervals=intervals,
    )


def _compute_intervals(
    is_proportion: bool,
    share: tuple[float, float],
    confidence: float,
    resampled: BootstrapIntervals | None,
    column: int,
    minimum: float,
) -> tuple[dict[str, tuple[float, float]], IntervalMethod]:
    """Computes all intervals and chooses the one to show; see ``docs/reference/metrics.md``.

    Args:
        is_proportion: whether Wilson's interval over the cards applies.
        share: the value as a share of the range from ``minimum`` to 1, and of how many.
        confidence: nominal coverage.
        resampled: bootstrap intervals of several metrics, or ``None`` for Wilson alone.
        column: this metric's column in ``resampled``.
        minimum: the lowest possible value.
    """
    intervals: dict[str, tuple[float, float]] = {}
    value, n = share
    if is_proportion or resampled is None:
        intervals["wilson"] = _round_pair(wilson_interval(value * n, n, confidence))
    if resampled is not None and not resampled.degenerate[column]:
        intervals["bootstrap-percentile"] = _round_pair(resampled.percentile[:, column])
        if not np.isnan(resampled.bca[:, column]).any():
            intervals["bootstrap-bca"] = _round_pair(resampled.bca[:, column])
    elif resampled is not None and not is_proportion:
        # All resamples have the same value, so the bootstrap has no interval. Use Wilson's
        # interval over the clusters that the metric counts.
        support = float(resampled.support[column])
        low, high, _ = compute_edge_interval(value, support, confidence)
        scale = 1 - minimum
        intervals["wilson-edge"] = _round_pair((minimum + scale * low, minimum + scale * high))
    preferred: tuple[IntervalMethod, ...] = (
        "wilson",
        "wilson-edge",
        "bootstrap-bca",
        "bootstrap-percentile",
    )
    return intervals, next(method for method in preferred if method in intervals)


def _to_share(metric: Metric, value: float) -> float:
    """Returns a value as a share of the metric's range; a ratio is one already."""
    return value if not metric.minimum else (value - metric.minimum) / (1 - metric.minimum)


def _round_pair(interval: Sequence[float] | Floats) -> tuple[float, float]:
    return round_significant(interval[0]), round_significant(interval[1])


def find_control_wins(
    systems: Mapping[str, Mapping[str, MetricValue]],
    controls: Mapping[str, Mapping[str, MetricValue]],
) -> tuple[ControlWin, ...]:
    """Finds the headline metrics on which the best control does as well as some system, or better.

    A system without a value on a metric is neither beaten nor tied there.

    Args:
        systems: the values of each system by metric.
        controls: the same of the controls.
    """
    wins = []
    for metric in HEADLINE_METRICS:
        control_values = _collect_values(metric, controls)
        system_values = _collect_values(metric, systems)
        if not control_values:
            continue
        best = max(control_values.values())
        beaten = tuple(name for name, value in system_values.items() if value < best)
        tied = tuple(name for name, value in system_values.items() if value == best)
        if beaten or tied:
            wins.append(
                ControlWin(
                    metric=metric,
                    value=best,
                    controls=tuple(name for name, value in control_values.items() if value == best),
                    won=len(beaten) + len(tied) == len(system_values),
                    beaten=beaten,
                    tied=tied,
                )
            )
    return tuple(wins)


def _collect_values(
    metric: str, metrics_by_system: Mapping[str, Mapping[str, MetricValue]]
) -> dict[str, float]:
    """Returns the values of a metric by system, without the systems that have none."""
    return {
        name: value
        for name, metrics in metrics_by_system.items()
        if metric in metrics and (value := metrics[metric].value) is not None
    }
