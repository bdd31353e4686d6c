"""One metric as a value with every interval that can be had, and the one to show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.metrics.abstention import Metric
from eval.metrics.outcomes import Floats, as_number
from eval.metrics.record import MetricValue
from eval.metrics.signature import Signature
from eval.stats.intervals import BootstrapIntervals, tidy
from eval.stats.shown import IntervalMethod, edge
from kg.base.proportions import wilson


def metric_value(
    metric: Metric,
    counts: Floats,
    signature: Signature,
    resampled: BootstrapIntervals | None = None,
    column: int = 0,
    *,
    interval: bool = True,
    repeated_in: int = 0,
) -> MetricValue:
    """One metric with bounds and every interval that can be had.

    Args:
        metric: what to compute.
        counts: cell counts.
        signature: of this computation; its metric is filled in.
        resampled: bootstrap intervals of several metrics, or ``None`` for Wilson alone.
        column: this metric's column in ``resampled``.
        interval: ``False`` for a control, whose cells are no sample.
        repeated_in: where each card was answered several times, the number of clusters; replies
            are then not independent, and Wilson's interval over them would be too narrow.
    """
    top, bottom = metric.parts(counts)
    value = metric.value(counts)
    worst, best = metric.bounds(counts)
    found: dict[str, tuple[float, float]] = {}
    chosen: IntervalMethod = "none"
    if value is not None and interval:
        proportion = metric.is_proportion(counts)
        if repeated_in and resampled is None:
            found = {
                "wilson-edge": _pair(edge(top / bottom, repeated_in, signature.confidence)[:2])
            }
            chosen = "wilson-edge"
        else:
            proportion = proportion and not repeated_in
            found, chosen = _intervals(
                proportion, top, bottom, signature.confidence, resampled, column
            )
    low, high = found.get(chosen, (None, None))
    return MetricValue(
        value=value,
        low=low,
        high=high,
        method=chosen,
        numerator=as_number(top),
        denominator=as_number(bottom),
        worst=worst,
        best=best,
        higher_is_better=metric.higher_is_better,
        signature=str(signature.of(metric.name, group=signature.group)),
        intervals=found,
    )


def _intervals(
    proportion: bool,
    top: float,
    bottom: float,
    confidence: float,
    resampled: BootstrapIntervals | None,
    column: int,
) -> tuple[dict[str, tuple[float, float]], IntervalMethod]:
    """All intervals by method, and the one to show: see ``docs/metrics.md``."""
    found: dict[str, tuple[float, float]] = {}
    if proportion or resampled is None:
        found["wilson"] = _pair(wilson(top, bottom, confidence))
    if resampled is not None and not resampled.degenerate[column]:
        found["bootstrap-percentile"] = _pair(resampled.percentile[:, column])
        if not np.isnan(resampled.bca[:, column]).any():
            found["bootstrap-bca"] = _pair(resampled.bca[:, column])
    elif resampled is not None and not proportion:
        # The resamples say nothing: the clusters that take part are all the evidence there is.
        support = float(resampled.support[column])
        found["wilson-edge"] = _pair(edge(top / bottom, support, confidence)[:2])
    order: tuple[IntervalMethod, ...] = (
        *("wilson", "wilson-edge", "bootstrap-bca", "bootstrap-percentile"),
    )
    return found, next(method for method in order if method in found)


def _pair(interval: Sequence[float] | Floats) -> tuple[float, float]:
    return tidy(interval[0]), tidy(interval[1])
