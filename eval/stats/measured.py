"""Metrics that are ratios of sums over rows, with their intervals and bounds.

Each row is a vector of named columns; a metric is a weighted sum of some of them over a weighted
sum of others. So all metrics are resampled by one product of matrices.

Wilson's interval for plain proportions of samples that were put once; for all else the cluster
bootstrap over samples, BCa where it can be had and percentile where not. Where the resamples say
nothing (all give one value, or too many give none), Wilson's stands in for what lies within 0 and
1: an interval without width would claim certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from eval.stats.intervals import Floats, Resampled, tidy
from eval.stats.shown import Interval, Value, edge, interval_of, ratios, with_interval
from kg.base.proportions import wilson

Counts = Mapping[str, float]
"""Sums over the rows, by column."""

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Measure:
    """One metric.

    Attributes:
        name: as in the record.
        top: columns whose sum is the numerator, with weights.
        bottom: the same for the denominator.
        higher_is_better: null where it only describes.
        binary: whether each row says yes or no, so that it is a plain proportion.
        unit: whether it lies within 0 and 1.
        missing: column that counts rows which ought to be in it and are not.
        lost: columns, with weights, of what failed or missing rows would add to the denominator,
            and at most to the numerator.
        failed: column of rows that are in the denominator, as failures, and could have been hits.
        bounds: for a metric that needs its own; lowest and highest attainable value.
        rows: column of the rows it is about, where that is not the denominator.
        nothing: why there is no value where the denominator is 0.
    """

    name: str
    top: Mapping[str, float]
    bottom: Mapping[str, float]
    higher_is_better: bool | None = None
    binary: bool = False
    unit: bool = True
    missing: str = ""
    lost: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    bounds: Callable[[Counts], Bounds] | None = None
    rows: str = ""
    nothing: str = "no row to measure"

    def weights(self, columns: Sequence[str]) -> tuple[Floats, Floats]:
        """Weights of numerator and denominator over ``columns``, shape (columns,) each."""
        place = {name: number for number, name in enumerate(columns)}
        found = np.zeros((2, len(columns)))
        for row, side in enumerate((self.top, self.bottom)):
            for name, weight in side.items():
                found[row, place[name]] = weight
        return found[0], found[1]

    @property
    def columns(self) -> set[str]:
        """Every column it needs, but for what ``bounds`` looks at."""
        named = {name for name in (self.rows, self.missing, self.failed) if name}
        return {*self.top, *self.bottom, *self.lost, *named}

    def attainable(self, counts: Counts) -> Bounds:
        """Lowest and highest value, whatever the missing and failed rows could have been.

        Null for both where the metric has no bounds, or where no row could give it a value.
        """
        if self.bounds is not None:
            return self.bounds(counts)
        if not self.lost and not self.failed:
            return None, None
        top, bottom, lost = (_dot(side, counts) for side in (self.top, self.bottom, self.lost))
        if bottom + lost <= 0:
            return None, None
        failed = counts[self.failed] if self.failed else 0.0
        return top / (bottom + lost), (top + failed + lost) / (bottom + lost)


def sides(measures: Sequence[Measure], columns: Sequence[str]) -> tuple[Floats, Floats]:
    """Weights of all numerators and of all denominators, shape (measures, columns) each."""
    found = np.array([measure.weights(columns) for measure in measures])
    return found[:, 0], found[:, 1]


def _dot(columns: Mapping[str, float], counts: Counts) -> float:
    """A weighted sum of totals."""
    return float(sum(weight * counts[name] for name, weight in columns.items()))


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
    spread = ratios(data, *sides(measures, columns))
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
    bottom = _dot(measure.bottom, totals)
    return Value(
        value=None,
        n=round(totals[measure.rows] if measure.rows else bottom),
        numerator=tidy(_dot(measure.top, totals)),
        denominator=tidy(bottom),
        worst=worst,
        best=best,
        higher_is_better=measure.higher_is_better,
        missing=round(totals[measure.missing]) if measure.missing else 0,
    )
