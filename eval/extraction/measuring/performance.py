"""What calls took: latency, throughput, tokens and cost.

Latency is that of the calls that came back. Quantiles are latencies that were measured (type 1 of
Hyndman & Fan, The American Statistician 1996, 50:361). Throughput is over the seconds in which at
least one request was under way, so that a pause between two sessions of one run does not count.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.columns import combined, cut
from eval.extraction.measuring.gathering import ERROR, MEASURED, TALLY, WHOLE, Gathered
from eval.extraction.measuring.resampling import Slices
from eval.extraction.record import Performance, Value
from eval.stats.intervals import Draws, Floats, tidy
from eval.stats.quantiles import quantiles
from eval.stats.shown import spread_value

LEVELS: Mapping[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
COMPLIANCE = (("p95_under_2s", "p95", 2.0), ("p99_under_5s", "p99", 5.0))
"""The specification's (4.3.1): name, quantile, and the seconds that it must stay below."""

_BINS = 30
_STRETCHES = 30


def performance(
    gathered: Gathered,
    sample: NDArray[np.int64],
    draws: Draws,
    confidence: float,
    known: Mapping[str, Value],
    *,
    right: float,
) -> Performance:
    """All of one system's performance.

    Args:
        gathered: its rows.
        sample: place of each row's sample, shape (rows,).
        draws: over the samples.
        confidence: coverage that intervals aim at.
        known: ``latency_mean_s``, ``token_efficiency`` and ``cost_usd_per_sample``, which are
            ratios of sums and come with the others.
        right: fields earned by the replies whose cost is known.
    """
    whole = gathered.whole
    measured = {name: gathered.measured[:, place] for place, name in enumerate(MEASURED)}
    came = whole[:, WHOLE.index("outcome")] != ERROR
    latency, first = measured["latency_s"], measured["ttft_s"]
    times = _times(latency, sample, came, draws, confidence)
    times["mean"] = known["latency_mean_s"]
    timed = latency[came & ~np.isnan(latency)]
    high = float(timed.max(initial=0.0))
    busy = _busy(measured["at_s"], latency, came)
    tally = cut(whole, WHOLE, TALLY)
    fields = float(combined(tally, {"predicted": 1.0})[came].sum())
    tokens = _tokens(measured)
    cost = known["cost_usd_per_sample"].numerator if known["cost_usd_per_sample"].n else None
    return Performance(
        latency_s=times,
        time_to_first_token_s=_times(first, sample, came, None, confidence),
        generation_s=_times(latency - first, sample, came, None, confidence),
        histogram=_histogram(timed, high),
        histogram_high=tidy(high),
        compliance={
            name: None if times[level].value is None else (times[level].value or 0.0) < limit
            for name, level, limit in COMPLIANCE
        },
        busy_s=None if busy is None else tidy(busy),
        throughput_rps=_over(float(came.sum()), busy),
        samples_per_minute=_over(60 * float(came.sum()), busy),
        tokens_per_second=_over(tokens["total"], busy),
        fields_per_second=_over(fields, busy),
        over_time=_over_time(measured["at_s"], came),
        tokens=tokens,
        tokens_known=int((~np.isnan(measured["output_tokens"])).sum()),
        token_efficiency=known["token_efficiency"],
        cost_usd=cost,
        cost_usd_per_sample=known["cost_usd_per_sample"],
        cost_usd_per_right_field=_over(cost, right),
        cost_basis=_basis(measured["cost_usd"], known["cost_usd_per_sample"]),
    )


def _times(
    values: Floats,
    sample: NDArray[np.int64],
    came: NDArray[np.bool_],
    draws: Draws | None,
    confidence: float,
) -> dict[str, Value]:
    """``mean``, quantiles, ``min`` and ``max``; quantiles with intervals where draws are given."""
    known = came & ~np.isnan(values)
    chosen = values[known]
    empty = Value(value=None, n=int(known.sum()), higher_is_better=False, why="no call was timed")
    names = ("mean", *LEVELS, "min", "max")
    if not chosen.size:
        return dict.fromkeys(names, empty)
    shown = msgspec.structs.replace(empty, why="")
    ordered = np.sort(chosen)
    found = {
        "mean": msgspec.structs.replace(shown, value=tidy(float(chosen.mean()))),
        **{
            name: msgspec.structs.replace(shown, value=tidy(_quantile(ordered, level)))
            for name, level in LEVELS.items()
        },
        "min": msgspec.structs.replace(shown, value=tidy(float(ordered[0]))),
        "max": msgspec.structs.replace(shown, value=tidy(float(ordered[-1]))),
    }
    if draws is not None:
        spread = quantiles(chosen, sample[known], Slices(draws), tuple(LEVELS.values()))
        for column, name in enumerate(LEVELS):
            found[name] = spread_value(spread, column, shown, confidence, unit=False)
    return found


def _quantile(ordered: Floats, level: float) -> float:
    """The smallest of the values, ascending, that at least ``level`` of them do not exceed."""
    place = int(np.ceil(level * len(ordered) - 1e-9)) - 1
    return float(ordered[max(place, 0)])


def _histogram(timed: Floats, high: float) -> tuple[int, ...]:
    if not timed.size:
        return ()
    counts, _ = np.histogram(timed, bins=_BINS, range=(0.0, high or 1.0))
    return tuple(counts.tolist())


def _busy(at: Floats, latency: Floats, came: NDArray[np.bool_]) -> float | None:
    """Seconds covered by the calls that came back, overlaps once; null if not all say when."""
    known = ~(np.isnan(at) | np.isnan(latency))
    if not came.any() or not known[came].all():
        return None
    chosen = known & came
    order = np.argsort(at[chosen] - latency[chosen], kind="stable")
    start, end = (at[chosen] - latency[chosen])[order], at[chosen][order]
    reached = np.maximum.accumulate(end)
    covered = end[0] - start[0]
    # What each call adds beyond the end of all that began before it.
    added = np.maximum(0.0, end[1:] - np.maximum(start[1:], reached[:-1]))
    return float(covered + added.sum())


def _over_time(at: Floats, came: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    known = at[came & ~np.isnan(at)]
    if known.size < 2 or np.ptp(known) == 0:
        return ()
    since = known - known.min()
    edges = np.linspace(0.0, float(since.max()), _STRETCHES + 1)
    counts, _ = np.histogram(since, bins=edges)
    width = float(edges[1])
    return tuple(
        (tidy(float(end)), tidy(count / width))
        for end, count in zip(edges[1:], counts.tolist(), strict=True)
    )


def _tokens(measured: Mapping[str, Floats]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for side in ("input", "output"):
        counted = np.sort(measured[f"{side}_tokens"])
        counted = counted[~np.isnan(counted)]
        any_counted = bool(counted.size)
        found[f"{side}_mean"] = tidy(float(counted.mean())) if any_counted else None
        found[f"{side}_median"] = _quantile(counted, 0.5) if any_counted else None
        found[f"{side}_total"] = float(counted.sum()) if any_counted else None
    both = found["input_total"], found["output_total"]
    found["total"] = None if None in both else sum(one or 0.0 for one in both)
    return found


def _over(amount: float | None, whole: float | None) -> float | None:
    return tidy(amount / whole) if amount is not None and whole else None


def _basis(stated: Floats, cost: Value) -> str:
    by_server = int((~np.isnan(stated)).sum())
    if not cost.n:
        return ""
    if not by_server:
        return "prices"
    return "stated" if by_server == cost.n else "stated, and prices"
