"""What is measured: every metric that is a ratio of sums, and its bounds over failed calls.

A failed call is no empty extraction: it is left out, counted, and every metric of accuracy is given
with its worst-case bounds, whatever the replies that did not come could have been. For metrics of
fields such a reply is taken to hold as many fields as were expected: without a limit it could hold
any number of wrong ones, and every lower bound would be 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eval.extraction.measuring.columns import LOWER_IS_BETTER, RATIOS
from eval.extraction.record import Average
from eval.stats.intervals import Floats

Counts = Mapping[str, float]
Bounds = tuple[float | None, float | None]

AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")


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
        lost: what failed calls would add to the denominator, and at most to the numerator.
        rows: column of the rows it is about, where that is not the denominator.
        missing: column of the rows that ought to be in it and are not.
        nothing: why there is no value where the denominator is 0.
    """

    name: str
    top: Mapping[str, float]
    bottom: Mapping[str, float]
    higher_is_better: bool | None = True
    binary: bool = False
    unit: bool = True
    lost: Mapping[str, float] = field(default_factory=dict)
    rows: str = ""
    missing: str = "error"
    nothing: str = "no sample was scored"

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
        """Every column it needs."""
        named = {name for name in (self.rows, self.missing) if name}
        return {*self.top, *self.bottom, *self.lost, *named}

    def attainable(self, counts: Counts) -> Bounds:
        """Lowest and highest value, whatever the failed calls could have brought."""
        if not self.lost:
            return None, None
        top, bottom, lost = (dot(side, counts) for side in (self.top, self.bottom, self.lost))
        if bottom + lost <= 0:
            return None, None
        return top / (bottom + lost), (top + lost) / (bottom + lost)


def dot(columns: Mapping[str, float], counts: Counts) -> float:
    """A weighted sum of totals."""
    return float(sum(weight * counts[name] for name, weight in columns.items()))


_NOTHING = {
    "precision": "no field was extracted",
    "recall": "no field is expected",
    "f1": "no field is expected and none was extracted",
    "type_accuracy": "no extracted field has a type to compare with",
    "hallucination_rate": "no field was extracted",
    "omission_rate": "no field is expected",
}


def _of_fields(name: str, average: Average) -> Measure:
    top, bottom = RATIOS[name]
    nothing = next(why for part, why in _NOTHING.items() if part in name)
    better = name not in LOWER_IS_BETTER
    if average == "micro":
        lost = {"lost_fields": float(len(bottom))}
        return Measure(name, top, bottom, better, lost=lost, rows="scored", nothing=nothing)
    if average == "macro":
        sums = ({f"{name}:sum": 1.0}, {f"{name}:n": 1.0})
        return Measure(name, *sums, better, lost={"error": 1.0}, nothing=nothing)
    sums = ({f"{name}:weighted": 1.0}, {f"{name}:weight": 1.0})
    return Measure(
        name, *sums, better, lost={"lost_fields": 1.0}, rows=f"{name}:n", nothing=nothing
    )


OF_FIELDS: Mapping[Average, tuple[Measure, ...]] = {
    average: tuple(_of_fields(name, average) for name in RATIOS) for average in AVERAGES
}
"""The metrics of fields, by how they are averaged."""

_SCORE = "extraction_quality_score"
_OF_ONE_SCORED: Mapping[str, float] = {"scored": 1.0}
_FAILED: Mapping[str, float] = {"error": 1.0}

OF_SAMPLES: tuple[Measure, ...] = (
    Measure(
        _SCORE,
        {f"{_SCORE}:sum": 1.0},
        {f"{_SCORE}:n": 1.0},
        lost=_FAILED,
        nothing="no scored sample has a field on either side",
    ),
    Measure("schema_validity", {"ok": 1.0}, _OF_ONE_SCORED, binary=True, lost=_FAILED),
    Measure("exact_match", {"match": 1.0}, _OF_ONE_SCORED, binary=True, lost=_FAILED),
    Measure(
        "exact_match_of_valid",
        {"match": 1.0},
        {"ok": 1.0},
        binary=True,
        lost=_FAILED,
        nothing="no reply is valid",
    ),
)
"""The metrics that each sample has one of."""

FABRICATED = Measure(
    "fabricated_value_rate",
    {"critical": 1.0},
    {"predicted": 1.0},
    higher_is_better=False,
    lost={"lost_fields": 1.0},
    rows="scored",
    nothing="no field was extracted",
)

_NO_ROW = "no sample was put to the system"


def _rate(name: str, column: str, *, better: bool, binary: bool = True) -> Measure:
    return Measure(
        name,
        {column: 1.0},
        {"rows": 1.0},
        better,
        binary=binary,
        missing="",
        nothing=_NO_ROW,
    )


RELIABILITY: tuple[Measure, ...] = (
    _rate("success_rate", "scored", better=True),
    _rate("parse_failure_rate", "unparsable", better=False),
    _rate("schema_failure_rate", "invalid", better=False),
    _rate("timeout_rate", "timed_out", better=False),
    _rate("retry_rate", "retried", better=False),
    _rate("reliability_score", "reliable", better=True, binary=False),
)

LATENCY = Measure(
    "latency_mean_s",
    {"latency_s": 1.0},
    {"latency_s:n": 1.0},
    higher_is_better=False,
    unit=False,
    missing="",
    nothing="no call was timed",
)
TOKEN_EFFICIENCY = Measure(
    "token_efficiency",
    {"fields_counted": 1.0},
    {"output_counted": 1.0},
    unit=False,
    rows="output_tokens:n",
    missing="",
    nothing="no server counted tokens",
)
COST = Measure(
    "cost_usd_per_sample",
    {"cost_usd": 1.0},
    {"cost_usd:n": 1.0},
    higher_is_better=False,
    unit=False,
    missing="",
    nothing="neither server nor price table says what a token costs",
)

SEVERITIES: tuple[Measure, ...] = tuple(
    Measure(name, {name: 1.0}, {"predicted": 1.0}, higher_is_better=False, missing="")
    for name in ("critical", "moderate", "minor")
)
"""Hallucinations by severity, as shares of all extracted fields."""
