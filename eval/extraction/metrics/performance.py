"""Measures latency, throughput, tokens and cost of a system's calls.

Latency is measured over calls that did not fail. Quantiles are observed latencies (type 1 of
Hyndman & Fan, The American Statistician 1996, 50:361). Throughput is relative to the seconds in
which at least one request was in flight, so that pauses between two sessions of a run do not count.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.columns import compute_weighted_sum, select_columns
from eval.extraction.metrics.resampler import SlicedResamples
from eval.extraction.metrics.system_rows import (
    ERROR,
    FLOAT_COLUMNS,
    INTEGER_COLUMNS,
    TALLY_COLUMNS,
    SystemRows,
)
from eval.extraction.record import Estimate, Performance
from eval.stats.bootstrap import ClusterResamples, Floats, round_significant
from eval.stats.estimates import estimate_column
from eval.stats.quantiles import bootstrap_quantiles

QUANTILE_LEVELS: Mapping[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LATENCY_LIMITS = (("p95_under_2s", "p95", 2.0), ("p99_under_5s", "p99", 5.0))
"""Latency limits of the specification (4.3.1): name, quantile, and limit in seconds (exclusive)."""

_HISTOGRAM_BINS = 30
_TIME_BINS = 30


def measure_performance(
    system_rows: SystemRows,
    sample: NDArray[np.int64],
    resamples: ClusterResamples,
    confidence: float,
    ratio_metrics: Mapping[str, Estimate],
    *,
    n_correct_fields: float,
) -> Performance:
    """Measures the performance of one system.

    Args:
        system_rows: rows of the system.
        sample: position of each row's sample, shape (rows,).
        resamples: bootstrap resamples over the samples.
        confidence: nominal coverage of intervals.
        ratio_metrics: the metrics ``latency_mean_s``, ``token_efficiency`` and
            ``cost_usd_per_sample``, which are ratios of sums and already computed.
        n_correct_fields: number of correct fields (partial credit) in the replies of known cost.
    """
    integers = system_rows.integers
    float_columns = {name: system_rows.floats[:, index] for index, name in enumerate(FLOAT_COLUMNS)}
    has_reply = integers[:, INTEGER_COLUMNS.index("outcome")] != ERROR
    latency, first_token_s = float_columns["latency_s"], float_columns["ttft_s"]
    latency_estimates = _summarise_times(latency, sample, has_reply, resamples, confidence)
    latency_estimates["mean"] = ratio_metrics["latency_mean_s"]
    timed_latencies = latency[has_reply & ~np.isnan(latency)]
    max_latency = float(timed_latencies.max(initial=0.0))
    busy_seconds = _busy_seconds(float_columns["at_s"], latency, has_reply)
    tallies = select_columns(integers, INTEGER_COLUMNS, TALLY_COLUMNS)
    n_fields = float(compute_weighted_sum(tallies, {"predicted": 1.0})[has_reply].sum())
    tokens = _count_tokens(float_columns)
    cost = (
        ratio_metrics["cost_usd_per_sample"].numerator
        if ratio_metrics["cost_usd_per_sample"].n
        else None
    )
    return Performance(
        latency_s=latency_estimates,
        time_to_first_token_s=_summarise_times(first_token_s, sample, has_reply, None, confidence),
        generation_s=_summarise_times(latency - first_token_s, sample, has_reply, None, confidence),
        histogram=_latency_histogram(timed_latencies, max_latency),
        histogram_high=round_significant(max_latency),
        compliance={
            name: None
            if latency_estimates[level].value is None
            else (latency_estimates[level].value or 0.0) < limit
            for name, level, limit in LATENCY_LIMITS
        },
        busy_s=None if busy_seconds is None else round_significant(busy_seconds),
        throughput_rps=_divide_or_none(float(has_reply.sum()), busy_seconds),
        samples_per_minute=_divide_or_none(60 * float(has_reply.sum()), busy_seconds),
        tokens_per_second=_divide_or_none(tokens["total"], busy_seconds),
        fields_per_second=_divide_or_none(n_fields, busy_seconds),
        over_time=_rate_over_time(float_columns["at_s"], has_reply),
        tokens=tokens,
        tokens_known=int((~np.isnan(float_columns["output_tokens"])).sum()),
        token_efficiency=ratio_metrics["token_efficiency"],
        cost_usd=cost,
        cost_usd_per_sample=ratio_metrics["cost_usd_per_sample"],
        cost_usd_per_right_field=_divide_or_none(cost, n_correct_fields),
        cost_basis=_cost_basis(float_columns["cost_usd"], ratio_metrics["cost_usd_per_sample"]),
    )


def _summarise_times(
    values: Floats,
    sample: NDArray[np.int64],
    has_reply: NDArray[np.bool_],
    resamples: ClusterResamples | None,
    confidence: float,
) -> dict[str, Estimate]:
    """Returns mean, quantiles, min and max; with ``resamples``, quantiles have intervals."""
    is_measured = has_reply & ~np.isnan(values)
    measured_times = values[is_measured]
    undefined = Estimate(
        value=None, n=int(is_measured.sum()), higher_is_better=False, why="no call was timed"
    )
    names = ("mean", *QUANTILE_LEVELS, "min", "max")
    if not measured_times.size:
        return dict.fromkeys(names, undefined)
    template = msgspec.structs.replace(undefined, why="")
    sorted_times = np.sort(measured_times)
    estimates = {
        "mean": msgspec.structs.replace(
            template, value=round_significant(float(measured_times.mean()))
        ),
        **{
            name: msgspec.structs.replace(
                template, value=round_significant(_quantile_value(sorted_times, level))
            )
            for name, level in QUANTILE_LEVELS.items()
        },
        "min": msgspec.structs.replace(template, value=round_significant(float(sorted_times[0]))),
        "max": msgspec.structs.replace(template, value=round_significant(float(sorted_times[-1]))),
    }
    if resamples is not None:
        distribution = bootstrap_quantiles(
            measured_times,
            sample[is_measured],
            SlicedResamples(resamples),
            tuple(QUANTILE_LEVELS.values()),
        )
        for column, name in enumerate(QUANTILE_LEVELS):
            estimates[name] = estimate_column(
                distribution, column, template, confidence, in_unit_interval=False
            )
    return estimates


def _quantile_value(sorted_values: Floats, level: float) -> float:
    """Returns the smallest observed value that a share ``level`` of the values does not exceed.

    Args:
        sorted_values: the values in ascending order, at least one.
        level: the quantile's level, between 0 and 1.
    """
    # The 1e-9 undoes rounding errors: 0.07 * 100 is 7.000000000000001.
    index = int(np.ceil(level * len(sorted_values) - 1e-9)) - 1
    return float(sorted_values[max(index, 0)])


def _latency_histogram(latencies: Floats, max_latency: float) -> tuple[int, ...]:
    if not latencies.size:
        return ()
    counts, _ = np.histogram(latencies, bins=_HISTOGRAM_BINS, range=(0.0, max_latency or 1.0))
    return tuple(counts.tolist())


def _busy_seconds(
    completed_at: Floats, latency: Floats, has_reply: NDArray[np.bool_]
) -> float | None:
    """Returns the seconds in which an answered call was in flight; ``None`` if a time is missing.

    Seconds in which several calls were in flight are counted once.
    """
    is_timed = ~(np.isnan(completed_at) | np.isnan(latency))
    if not has_reply.any() or not is_timed[has_reply].all():
        return None
    is_counted = is_timed & has_reply
    order = np.argsort(completed_at[is_counted] - latency[is_counted], kind="stable")
    start, end = (
        (completed_at[is_counted] - latency[is_counted])[order],
        completed_at[is_counted][order],
    )
    latest_end = np.maximum.accumulate(end)
    first_duration = end[0] - start[0]
    # Each call adds the time after the end of all calls that began before it.
    added_durations = np.maximum(0.0, end[1:] - np.maximum(start[1:], latest_end[:-1]))
    return float(first_duration + added_durations.sum())


def _rate_over_time(
    completed_at: Floats, has_reply: NDArray[np.bool_]
) -> tuple[tuple[float, float], ...]:
    """Returns replies per second over time, in the format of ``Performance.over_time``."""
    completion_times = completed_at[has_reply & ~np.isnan(completed_at)]
    if completion_times.size < 2 or np.ptp(completion_times) == 0:
        return ()
    elapsed = completion_times - completion_times.min()
    edges = np.linspace(0.0, float(elapsed.max()), _TIME_BINS + 1)
    counts, _ = np.histogram(elapsed, bins=edges)
    width = float(edges[1])
    return tuple(
        (round_significant(float(end)), round_significant(count / width))
        for end, count in zip(edges[1:], counts.tolist(), strict=True)
    )


def _count_tokens(float_columns: Mapping[str, Floats]) -> dict[str, float | None]:
    counts: dict[str, float | None] = {}
    for side in ("input", "output"):
        token_counts = np.sort(float_columns[f"{side}_tokens"])
        token_counts = token_counts[~np.isnan(token_counts)]
        is_known = bool(token_counts.size)
        counts[f"{side}_mean"] = round_significant(float(token_counts.mean())) if is_known else None
        counts[f"{side}_median"] = _quantile_value(token_counts, 0.5) if is_known else None
        counts[f"{side}_total"] = float(token_counts.sum()) if is_known else None
    totals = counts["input_total"], counts["output_total"]
    counts["total"] = None if None in totals else sum(total or 0.0 for total in totals)
    return counts


def _divide_or_none(numerator: float | None, denominator: float | None) -> float | None:
    return (
        round_significant(numerator / denominator)
        if numerator is not None and denominator
        else None
    )


def _cost_basis(server_costs: Floats, cost: Estimate) -> str:
    """Returns where the costs come from, in the words of ``Performance.cost_basis``."""
    n_by_server = int((~np.isnan(server_costs)).sum())
    if not cost.n:
        return ""
    if not n_by_server:
        return "prices"
    return "stated" if n_by_server == cost.n else "stated, and prices"
