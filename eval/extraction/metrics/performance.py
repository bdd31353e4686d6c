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

from eval.extraction.metrics.columns import select_columns, weighted_sum
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
    measured = {name: system_rows.floats[:, place] for place, name in enumerate(FLOAT_COLUMNS)}
    replied = integers[:, INTEGER_COLUMNS.index("outcome")] != ERROR
    latency, first = measured["latency_s"], measured["ttft_s"]
    times = _summarise_times(latency, sample, replied, resamples, confidence)
    times["mean"] = ratio_metrics["latency_mean_s"]
    timed = latency[replied & ~np.isnan(latency)]
    high = float(timed.max(initial=0.0))
    busy = _busy_seconds(measured["at_s"], latency, replied)
    tally = select_columns(integers, INTEGER_COLUMNS, TALLY_COLUMNS)
    fields = float(weighted_sum(tally, {"predicted": 1.0})[replied].sum())
    tokens = _count_tokens(measured)
    cost = (
        ratio_metrics["cost_usd_per_sample"].numerator
        if ratio_metrics["cost_usd_per_sample"].n
        else None
    )
    return Performance(
        latency_s=times,
        time_to_first_token_s=_summarise_times(first, sample, replied, None, confidence),
        generation_s=_summarise_times(latency - first, sample, replied, None, confidence),
        histogram=_latency_histogram(timed, high),
        histogram_high=round_significant(high),
        compliance={
            name: None if times[level].value is None else (times[level].value or 0.0) < limit
            for name, level, limit in LATENCY_LIMITS
        },
        busy_s=None if busy is None else round_significant(busy),
        throughput_rps=_divide_or_none(float(replied.sum()), busy),
        samples_per_minute=_divide_or_none(60 * float(replied.sum()), busy),
        tokens_per_second=_divide_or_none(tokens["total"], busy),
        fields_per_second=_divide_or_none(fields, busy),
        over_time=_rate_over_time(measured["at_s"], replied),
        tokens=tokens,
        tokens_known=int((~np.isnan(measured["output_tokens"])).sum()),
        token_efficiency=ratio_metrics["token_efficiency"],
        cost_usd=cost,
        cost_usd_per_sample=ratio_metrics["cost_usd_per_sample"],
        cost_usd_per_right_field=_divide_or_none(cost, n_correct_fields),
        cost_basis=_cost_basis(measured["cost_usd"], ratio_metrics["cost_usd_per_sample"]),
    )


def _summarise_times(
    values: Floats,
    sample: NDArray[np.int64],
    answered: NDArray[np.bool_],
    resamples: ClusterResamples | None,
    confidence: float,
) -> dict[str, Estimate]:
    """Returns mean, quantiles, min and max; with ``resamples``, quantiles have intervals."""
    known = answered & ~np.isnan(values)
    chosen = values[known]
    empty = Estimate(
        value=None, n=int(known.sum()), higher_is_better=False, why="no call was timed"
    )
    names = ("mean", *QUANTILE_LEVELS, "min", "max")
    if not chosen.size:
        return dict.fromkeys(names, empty)
    shown = msgspec.structs.replace(empty, why="")
    ordered = np.sort(chosen)
    estimates = {
        "mean": msgspec.structs.replace(shown, value=round_significant(float(chosen.mean()))),
        **{
            name: msgspec.structs.replace(
                shown, value=round_significant(_quantile_value(ordered, level))
            )
            for name, level in QUANTILE_LEVELS.items()
        },
        "min": msgspec.structs.replace(shown, value=round_significant(float(ordered[0]))),
        "max": msgspec.structs.replace(shown, value=round_significant(float(ordered[-1]))),
    }
    if resamples is not None:
        spread = bootstrap_quantiles(
            chosen, sample[known], SlicedResamples(resamples), tuple(QUANTILE_LEVELS.values())
        )
        for column, name in enumerate(QUANTILE_LEVELS):
            estimates[name] = estimate_column(
                spread, column, shown, confidence, in_unit_interval=False
            )
    return estimates


def _quantile_value(ordered: Floats, level: float) -> float:
    """Returns the smallest value that at least a share ``level`` of ``ordered`` does not exceed."""
    place = int(np.ceil(level * len(ordered) - 1e-9)) - 1
    return float(ordered[max(place, 0)])


def _latency_histogram(timed: Floats, high: float) -> tuple[int, ...]:
    if not timed.size:
        return ()
    counts, _ = np.histogram(timed, bins=_HISTOGRAM_BINS, range=(0.0, high or 1.0))
    return tuple(counts.tolist())


def _busy_seconds(
    completed_at: Floats, latency: Floats, answered: NDArray[np.bool_]
) -> float | None:
    """Seconds covered by answered calls, counting overlaps once; ``None`` if a time is missing."""
    known = ~(np.isnan(completed_at) | np.isnan(latency))
    if not answered.any() or not known[answered].all():
        return None
    chosen = known & answered
    order = np.argsort(completed_at[chosen] - latency[chosen], kind="stable")
    start, end = (completed_at[chosen] - latency[chosen])[order], completed_at[chosen][order]
    reached = np.maximum.accumulate(end)
    covered = end[0] - start[0]
    # Each call adds the time after the end of all calls that began before it.
    added = np.maximum(0.0, end[1:] - np.maximum(start[1:], reached[:-1]))
    return float(covered + added.sum())


def _rate_over_time(
    completed_at: Floats, answered: NDArray[np.bool_]
) -> tuple[tuple[float, float], ...]:
    known = completed_at[answered & ~np.isnan(completed_at)]
    if known.size < 2 or np.ptp(known) == 0:
        return ()
    since = known - known.min()
    edges = np.linspace(0.0, float(since.max()), _TIME_BINS + 1)
    counts, _ = np.histogram(since, bins=edges)
    width = float(edges[1])
    return tuple(
        (round_significant(float(end)), round_significant(count / width))
        for end, count in zip(edges[1:], counts.tolist(), strict=True)
    )


def _count_tokens(measured: Mapping[str, Floats]) -> dict[str, float | None]:
    counts: dict[str, float | None] = {}
    for side in ("input", "output"):
        counted = np.sort(measured[f"{side}_tokens"])
        counted = counted[~np.isnan(counted)]
        any_counted = bool(counted.size)
        counts[f"{side}_mean"] = round_significant(float(counted.mean())) if any_counted else None
        counts[f"{side}_median"] = _quantile_value(counted, 0.5) if any_counted else None
        counts[f"{side}_total"] = float(counted.sum()) if any_counted else None
    both = counts["input_total"], counts["output_total"]
    counts["total"] = None if None in both else sum(total or 0.0 for total in both)
    return counts


def _divide_or_none(numerator: float | None, denominator: float | None) -> float | None:
    return (
        round_significant(numerator / denominator)
        if numerator is not None and denominator
        else None
    )


def _cost_basis(stated: Floats, cost: Estimate) -> str:
    by_server = int((~np.isnan(stated)).sum())
    if not cost.n:
        return ""
    if not by_server:
        return "prices"
    return "stated" if by_server == cost.n else "stated, and prices"
