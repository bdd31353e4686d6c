"""What is measured: every metric that is a ratio of sums, and its bounds over failed calls.

A failed call is no empty extraction: it is left out, counted, and every metric of accuracy is given
with its worst-case bounds, whatever the replies that did not come could have been. For metrics of
fields such a reply is taken to hold as many fields as were expected: without a limit it could hold
any number of wrong ones, and every lower bound would be 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.extraction.measuring.columns import LOWER_IS_BETTER, RATIOS
from eval.extraction.record import Average
from eval.stats.measured import Measure

AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")

_FAILED: Mapping[str, float] = {"error": 1.0}
_LOST_FIELDS = {"lost_fields": 1.0}
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
        return Measure(
            name,
            top,
            bottom,
            better,
            missing="error",
            lost=lost,
            rows="scored",
            nothing=nothing,
        )
    if average == "macro":
        sums = ({f"{name}:sum": 1.0}, {f"{name}:n": 1.0})
        return Measure(name, *sums, better, missing="error", lost=_FAILED, nothing=nothing)
    sums = ({f"{name}:weighted": 1.0}, {f"{name}:weight": 1.0})
    return Measure(
        name,
        *sums,
        better,
        missing="error",
        lost=_LOST_FIELDS,
        rows=f"{name}:n",
        nothing=nothing,
    )


OF_FIELDS: Mapping[Average, tuple[Measure, ...]] = {
    average: tuple(_of_fields(name, average) for name in RATIOS) for average in AVERAGES
}
"""The metrics of fields, by how they are averaged."""

_SCORE = "extraction_quality_score"
_SCORED: Mapping[str, float] = {"scored": 1.0}


def _of_samples(
    name: str,
    top: Mapping[str, float],
    bottom: Mapping[str, float],
    nothing: str = "no sample was scored",
    *,
    binary: bool = True,
) -> Measure:
    return Measure(
        name,
        top,
        bottom,
        higher_is_better=True,
        binary=binary,
        missing="error",
        lost=_FAILED,
        nothing=nothing,
    )


OF_SAMPLES: tuple[Measure, ...] = (
    _of_samples(
        _SCORE,
        {f"{_SCORE}:sum": 1.0},
        {f"{_SCORE}:n": 1.0},
        "no scored sample has a field on either side",
        binary=False,
    ),
    _of_samples("schema_validity", {"ok": 1.0}, _SCORED),
    _of_samples("exact_match", {"match": 1.0}, _SCORED),
    _of_samples("exact_match_of_valid", {"match": 1.0}, {"ok": 1.0}, "no reply is valid"),
)
"""The metrics that each sample has one of."""

FABRICATED = Measure(
    "fabricated_value_rate",
    {"critical": 1.0},
    {"predicted": 1.0},
    higher_is_better=False,
    missing="error",
    lost=_LOST_FIELDS,
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
    nothing="no call was timed",
)
TOKEN_EFFICIENCY = Measure(
    "token_efficiency",
    {"fields_counted": 1.0},
    {"output_counted": 1.0},
    higher_is_better=True,
    unit=False,
    rows="output_tokens:n",
    nothing="no server counted tokens",
)
COST = Measure(
    "cost_usd_per_sample",
    {"cost_usd": 1.0},
    {"cost_usd:n": 1.0},
    higher_is_better=False,
    unit=False,
    nothing="neither server nor price table says what a token costs",
)

SEVERITIES: tuple[Measure, ...] = tuple(
    Measure(
        name,
        {name: 1.0},
        {"predicted": 1.0},
        higher_is_better=False,
        nothing="no sample was scored",
    )
    for name in ("critical", "moderate", "minor")
)
"""Hallucinations by severity, as shares of all extracted fields."""
