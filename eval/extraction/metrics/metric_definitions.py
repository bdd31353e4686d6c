"""Defines every metric that is a ratio of sums, with its bounds for failed calls.

A failed call does not count as an empty extraction: it is excluded and counted separately, and
every accuracy metric has a worst-case and a best-case bound over all replies that the failed calls
could have returned. For field metrics such a reply is assumed to have as many fields as expected;
if it could have any number of wrong fields, every lower bound would be 0. Under the policy
``failed: zero`` no call is excluded, and the bounds are the value.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.extraction.metrics.quality_score import FIELD_RATIOS, LOWER_IS_BETTER
from eval.extraction.record import Average
from eval.stats.ratio_metrics import RatioMetric

AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")

# Values of `worst_case` (column → weight): what failed calls add to a metric's denominator, and at
# most to its numerator. It is 1 per failed call, or 1 per expected field of the failed calls.
_WORST_CASE_PER_CALL: Mapping[str, float] = {"error": 1.0}
_WORST_CASE_PER_FIELD = {"lost_fields": 1.0}
# Part of a metric's name → why the metric has no value when its denominator is 0.
_UNDEFINED_REASONS = {
    "precision": "no field was extracted",
    "recall": "no field is expected",
    "f1": "no field is expected and none was extracted",
    "type_accuracy": "no extracted field has a type to compare with",
    "hallucination_rate": "no field was extracted",
    "omission_rate": "no field is expected",
    "field_accuracy": "no field is expected and none was extracted",
    "right_rate": "no field is expected",
    "wrong_rate": "no field is expected",
    "left_out_rate": "the schema declares no field that should be left out",
    "invented_rate": "the schema declares no field that should be left out",
}
_ABSENCE_METRICS = ("left_out_rate", "invented_rate")


def _worst_case_of_fields(name: str, denominator: Mapping[str, float]) -> Mapping[str, float]:
    """Returns what a failed call would add to the denominator of a metric of pooled fields."""
    if name in _ABSENCE_METRICS:
        # It could leave out what it should, or invent as many fields as are expected.
        return {"lost_absences": 1.0, "lost_fields": 1.0}
    # A lost field counts once in each column of the denominator: as expected and, for F1 and
    # accuracy, as predicted or invented.
    return {"lost_fields": float(len(denominator))}


def _build_field_metric(name: str, average: Average) -> RatioMetric:
    numerator, denominator = FIELD_RATIOS[name]
    undefined_reason = next(reason for part, reason in _UNDEFINED_REASONS.items() if part in name)
    higher_is_better = name not in LOWER_IS_BETTER
    if average == "micro":
        return RatioMetric(
            name,
            numerator,
            denominator,
            higher_is_better,
            missing="error",
            worst_case=_worst_case_of_fields(name, denominator),
            rows="scored",
            undefined_reason=undefined_reason,
        )
    if average == "macro":
        return RatioMetric(
            name,
            {f"{name}:sum": 1.0},
            {f"{name}:n": 1.0},
            higher_is_better,
            missing="error",
            worst_case=_WORST_CASE_PER_CALL,
            undefined_reason=undefined_reason,
        )
    return RatioMetric(
        name,
        {f"{name}:weighted": 1.0},
        {f"{name}:weight": 1.0},
        higher_is_better,
        missing="error",
        worst_case=_WORST_CASE_PER_FIELD,
        rows=f"{name}:n",
        undefined_reason=undefined_reason,
    )


FIELD_METRICS: Mapping[Average, tuple[RatioMetric, ...]] = {
    average: tuple(_build_field_metric(name, average) for name in FIELD_RATIOS)
    for average in AVERAGES
}
"""Field metrics by average."""

_QUALITY_SCORE = "extraction_quality_score"
_SCORED_ROWS: Mapping[str, float] = {"scored": 1.0}
_WITHOUT_SCHEMA = "no sample with a usable schema was scored"


def _build_sample_metric(
    name: str,
    numerator: Mapping[str, float],
    denominator: Mapping[str, float],
    undefined_reason: str = "no sample was scored",
    *,
    binary: bool = True,
) -> RatioMetric:
    return RatioMetric(
        name,
        numerator,
        denominator,
        higher_is_better=True,
        is_binary=binary,
        missing="error",
        worst_case=_WORST_CASE_PER_CALL,
        undefined_reason=undefined_reason,
    )


SAMPLE_METRICS: tuple[RatioMetric, ...] = (
    _build_sample_metric(
        _QUALITY_SCORE,
        {f"{_QUALITY_SCORE}:sum": 1.0},
        {f"{_QUALITY_SCORE}:n": 1.0},
        "no scored sample has an expected or an extracted field",
        binary=False,
    ),
    _build_sample_metric(
        "schema_validity",
        {"checked_ok": 1.0},
        {"checked": 1.0},
        _WITHOUT_SCHEMA,
    ),
    _build_sample_metric("exact_match", {"match": 1.0}, _SCORED_ROWS),
    _build_sample_metric("exact_match_of_valid", {"match": 1.0}, {"ok": 1.0}, "no reply is valid"),
    _build_sample_metric(
        "schema_validity_literal", {"valid_literal": 1.0}, {"checked": 1.0}, _WITHOUT_SCHEMA
    ),
    _build_sample_metric("exact_match_literal", {"match_literal": 1.0}, _SCORED_ROWS),
)
"""Metrics that have a value for each single sample."""

FORBIDDEN_NULL_RATE = RatioMetric(
    "forbidden_null_rate",
    {"has_nulls": 1.0},
    _SCORED_ROWS,
    higher_is_better=False,
    is_binary=True,
    missing="error",
    worst_case=_WORST_CASE_PER_CALL,
    undefined_reason="no sample was scored",
)
"""Share of replies with a null where the schema allows none."""

FABRICATED_VALUE_RATE = RatioMetric(
    "fabricated_value_rate",
    {"unsupported": 1.0},
    {"predicted_with_text": 1.0},
    higher_is_better=False,
    missing="error",
    worst_case=_WORST_CASE_PER_FIELD,
    rows="scored",
    undefined_reason="no field was extracted from a sample with a text",
)
NOT_FOUND_RATE = RatioMetric(
    "not_found_literally_rate",
    {"not_found": 1.0},
    {"searched": 1.0},
    higher_is_better=False,
    missing="error",
    worst_case=_WORST_CASE_PER_FIELD,
    rows="scored",
    undefined_reason="no extracted value could be searched in a text",
)

QUOTE_METRICS: tuple[RatioMetric, ...] = tuple(
    RatioMetric(
        name,
        {numerator: 1.0},
        {denominator: 1.0},
        higher_is_better=True,
        undefined_reason=reason,
    )
    for name, numerator, denominator, reason in (
        ("quote_precision", "quotes_found", "quotes", "no reply to a text has a quote"),
        ("quote_recall", "quotes_covered", "gold_quotes", "no gold value has a quote"),
    )
)
"""Whether replies quote the text, and what the gold quotes."""

_NO_ROWS_REASON = "the system has no rows"


def _build_rate_metric(
    name: str, column: str, *, higher_is_better: bool, binary: bool = True
) -> RatioMetric:
    return RatioMetric(
        name,
        {column: 1.0},
        {"rows": 1.0},
        higher_is_better,
        is_binary=binary,
        undefined_reason=_NO_ROWS_REASON,
    )


RELIABILITY_METRICS: tuple[RatioMetric, ...] = (
    _build_rate_metric("success_rate", "returned", higher_is_better=True),
    _build_rate_metric("parse_failure_rate", "unparsable", higher_is_better=False),
    _build_rate_metric("schema_failure_rate", "invalid", higher_is_better=False),
    _build_rate_metric("timeout_rate", "timed_out", higher_is_better=False),
    _build_rate_metric("retry_rate", "retried", higher_is_better=False),
    _build_rate_metric("reliability_score", "reliable", higher_is_better=True, binary=False),
)

MEAN_LATENCY = RatioMetric(
    "latency_mean_s",
    {"latency_s": 1.0},
    {"latency_s:n": 1.0},
    higher_is_better=False,
    in_unit_interval=False,
    undefined_reason="no call was timed",
)
TOKEN_EFFICIENCY = RatioMetric(
    "token_efficiency",
    {"fields_counted": 1.0},
    {"output_counted": 1.0},
    higher_is_better=True,
    in_unit_interval=False,
    rows="output_tokens:n",
    undefined_reason="the server did not report token counts",
)
COST_PER_SAMPLE = RatioMetric(
    "cost_usd_per_sample",
    {"cost_usd": 1.0},
    {"cost_usd:n": 1.0},
    higher_is_better=False,
    in_unit_interval=False,
    undefined_reason="neither the server nor the price table gives a token price",
)

SEVERITY_METRICS: tuple[RatioMetric, ...] = tuple(
    RatioMetric(
        name,
        {name: 1.0},
        # Surplus elements of arrays are seen without a text.
        {"predicted" if name == "minor" else "predicted_with_text": 1.0},
        higher_is_better=False,
        undefined_reason="no extracted field of a sample with a text was scored",
    )
    for name in ("critical", "moderate", "minor")
)
"""Hallucinations by severity, as shares of all extracted fields."""
