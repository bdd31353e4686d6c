"""Metrics with their intervals and bounds, made of resampled sums.

Wilson's interval for plain proportions of samples that were put once; for all else the cluster
bootstrap over samples, BCa where it can be had and percentile where not. Where the resamples say
nothing (all give one value, or too many give none), Wilson's stands in for what lies within 0 and
1: an interval without width would claim certainty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from eval.extraction.measuring.measures import Measure, dot
from eval.extraction.record import Share, Value
from eval.stats.intervals import Distribution, Resampled, tidy
from eval.stats.shown import Interval, edge, interval_of, ratios
from kg.base.proportions import wilson


def values(
    measures: Sequence[Measure],
    columns: Sequence[str],
    data: Resampled,
    *,
    confidence: float,
    repeated: bool,
) -> dict[str, Value]:
    """Some metrics by name.

    Args:
        measures: which.
        columns: what the columns of ``data`` hold.
        data: sums by sample, and resampled.
        confidence: coverage that intervals aim at.
        repeated: whether samples were put more than once, so that rows are not independent.
    """
    sides = [measure.weights(columns) for measure in measures]
    spread = ratios(data, *(np.array(side) for side in zip(*sides, strict=True)))
    totals = dict(zip(columns, data.totals.tolist(), strict=True))
    intervals = spread.intervals(confidence)
    errors = spread.standard_errors()
    found: dict[str, Value] = {}
    for column, measure in enumerate(measures):
        shown = _counted(measure, totals)
        bottom = shown.denominator or 0.0
        if bottom <= 0:
            found[measure.name] = msgspec.structs.replace(shown, why=measure.nothing)
            continue
        value = (shown.numerator or 0.0) / bottom
        if measure.binary and not repeated:
            low, high = wilson(shown.numerator or 0.0, bottom, confidence)
            interval: Interval | None = Interval(low, high, "wilson")
        else:
            interval = interval_of(intervals, column)
            if interval is None and measure.unit:
                interval = edge(value, float(intervals.support[column]), confidence)
        found[measure.name] = with_interval(shown, value, interval, float(errors[column]))
    return found


def _counted(measure: Measure, totals: Mapping[str, float]) -> Value:
    lowest, highest = measure.attainable(totals)
    ends = (lowest, highest) if measure.higher_is_better is not False else (highest, lowest)
    worst, best = (None if end is None else tidy(end) for end in ends)
    bottom = dot(measure.bottom, totals)
    return Value(
        value=None,
        n=round(totals[measure.rows] if measure.rows else bottom),
        numerator=tidy(dot(measure.top, totals)),
        denominator=tidy(bottom),
        worst=worst,
        best=best,
        higher_is_better=measure.higher_is_better,
        missing=round(totals[measure.missing]) if measure.missing else 0,
    )


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


def as_share(one: Value) -> Share:
    """A value that is a share of a whole, as a count with its share."""
    return Share(
        count=round(one.numerator or 0.0),
        share=one.value,
        low=one.low,
        high=one.high,
        method=one.method,
    )
