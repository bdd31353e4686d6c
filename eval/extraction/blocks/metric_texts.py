"""Names and explanations of the metrics of structured extraction, and formats of their values."""

from __future__ import annotations

from typing import Literal

from eval.blocks.blocks import Cell, Tone
from eval.blocks.glossary import MetricDescription
from eval.blocks.text_format import UNDEFINED_TEXT, format_number
from eval.extraction.record import Estimate, Grade

Unit = Literal["score", "percent", "seconds", "rate", "dollars"]

_PERCENT = (
    *("schema_validity", "exact_match", "exact_match_of_valid", "type_accuracy"),
    *("hallucination_rate", "fabricated_value_rate", "not_found_literally_rate"),
    *("omission_rate", "success_rate", "quote_precision", "quote_recall"),
    *("parse_failure_rate", "schema_failure_rate", "timeout_rate", "retry_rate"),
    *("exact_match_consistency", "schema_validity_literal", "exact_match_literal"),
    *("field_accuracy", "right_rate", "wrong_rate", "left_out_rate", "invented_rate"),
    *("field_accuracy_macro", "forbidden_null_rate"),
)

TIERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "1 · Summary",
        ("extraction_quality_score", "schema_validity", "field_f1_partial", "exact_match"),
    ),
    (
        "2 · Core accuracy",
        (
            *("field_precision_partial", "field_recall_partial", "field_f1_strict"),
            *("field_f1_lenient", "type_accuracy"),
        ),
    ),
    (
        "3 · Diagnosis",
        (
            *("hallucination_rate", "fabricated_value_rate", "omission_rate"),
            *("not_found_literally_rate", "quote_precision", "quote_recall"),
        ),
    ),
    (
        "4 · Performance",
        (
            *("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s"),
            *("latency_min_s", "latency_max_s", "throughput_rps", "token_efficiency"),
            *("success_rate", "parse_failure_rate", "schema_failure_rate", "timeout_rate"),
            *("retry_rate", "reliability_score"),
        ),
    ),
    (
        "5 · Where it applies",
        (
            *("expected_calibration_error", "exact_match_consistency"),
            *("field_level_consistency", "value_variance", "cost_usd_per_sample"),
        ),
    ),
    (
        "Further readings",
        (
            *("extraction_quality_score_micro", "exact_match_of_valid"),
            *("field_precision_strict", "field_recall_strict"),
            *("field_precision_lenient", "field_recall_lenient"),
        ),
    ),
    (
        "Outcomes of fields",
        (
            *("field_accuracy_macro", "field_accuracy", "right_rate", "wrong_rate"),
            *("left_out_rate", "invented_rate"),
        ),
    ),
    (
        "Strict reading",
        (
            *("schema_validity_literal", "exact_match_literal", "field_f1_literal"),
            "forbidden_null_rate",
        ),
    ),
)
"""The specification's tiers and further metrics: every scalar metric once."""

METRICS: dict[str, MetricDescription] = {
    "extraction_quality_score": MetricDescription(
        "EQS",
        "Extraction quality score",
        "Schema validity, partial F1, type accuracy and freedom from hallucination, weighted; the "
        "mean over samples.",
    ),
    "extraction_quality_score_micro": MetricDescription(
        "EQS, micro", "EQS of the micro parts", "The same formula of rates over all fields."
    ),
    "schema_validity": MetricDescription(
        "validity",
        "Schema validity",
        "Replies that are JSON and valid under the schema; nulls count as fields left out.",
    ),
    "exact_match": MetricDescription(
        "exact", "Exact match", "Samples of which every field is right, and none more."
    ),
    "exact_match_of_valid": MetricDescription(
        "exact of valid", "Exact match of valid replies", "The same share, of valid replies only."
    ),
    "field_f1_partial": MetricDescription(
        "F1 partial",
        "Field F1 (partial)",
        "Precision and recall over fields; a near match counts half.",
    ),
    "field_f1_strict": MetricDescription(
        "F1 strict", "Field F1 (strict)", "Only right values count."
    ),
    "field_f1_lenient": MetricDescription(
        "F1 lenient", "Field F1 (lenient)", "A match that is not far off counts whole."
    ),
    "type_accuracy": MetricDescription(
        "types", "Type accuracy", "Extracted fields whose JSON type is the schema's."
    ),
    "hallucination_rate": MetricDescription(
        "hallucination", "Hallucination rate", "Extracted fields that nobody expected."
    ),
    "fabricated_value_rate": MetricDescription(
        "wrong, not literal",
        "Wrong and not in the text",
        "Extracted fields that are wrong or that nobody expected, and whose value is not in the "
        "text literally: at most these are made up.",
    ),
    "not_found_literally_rate": MetricDescription(
        "not literal",
        "Not found literally",
        "Extracted values, right ones too, that are not in the text as they are; they may be "
        "derived from it, so this is no hallucination.",
    ),
    "quote_precision": MetricDescription(
        "quotes found", "Quotes in the text", "Quotes of replies that are in the text literally."
    ),
    "quote_recall": MetricDescription(
        "gold quoted",
        "Gold quotes covered",
        "Fields with a gold quote of which the reply quotes the same words, or more.",
    ),
    "omission_rate": MetricDescription(
        "omission", "Omission rate", "Expected fields that were not extracted."
    ),
    "field_accuracy": MetricDescription(
        "accuracy",
        "Field accuracy",
        "Right values per field that either side has, also in invalid replies.",
    ),
    "field_accuracy_macro": MetricDescription(
        "accuracy, macro",
        "Field accuracy, mean of documents",
        "Of each document, right values per field that either side has; the mean over documents.",
    ),
    "right_rate": MetricDescription(
        "right", "Right values", "Expected fields that have the right value."
    ),
    "wrong_rate": MetricDescription(
        "wrong", "Wrong values", "Expected fields that have another value."
    ),
    "left_out_rate": MetricDescription(
        "left out",
        "Rightly left out",
        "Fields without an expected value for which the reply has none either.",
    ),
    "invented_rate": MetricDescription(
        "invented", "Invented values", "Fields without an expected value that the reply fills."
    ),
    "forbidden_null_rate": MetricDescription(
        "nulls",
        "Nulls where none are allowed",
        "Replies with such a null, which counts as a field left out.",
    ),
    "schema_validity_literal": MetricDescription(
        "validity, strict",
        "Schema validity (strict reading)",
        "Replies without any violation of the schema, nulls included.",
    ),
    "exact_match_literal": MetricDescription(
        "exact, strict", "Exact match (strict reading)", "The same without any rule."
    ),
    "field_f1_literal": MetricDescription(
        "F1 literal", "Field F1 (strict reading)", "Only fields that are equal without any rule."
    ),
    "latency_mean_s": MetricDescription("mean", "Mean latency", "Seconds a call took."),
    "latency_p50_s": MetricDescription(
        "p50", "Median latency", "Half of the calls took no longer."
    ),
    "latency_p95_s": MetricDescription("p95", "p95 latency", "19 of 20 calls took no longer."),
    "latency_p99_s": MetricDescription("p99", "p99 latency", "99 of 100 calls took no longer."),
    "latency_min_s": MetricDescription("least", "Shortest latency", "The fastest call."),
    "latency_max_s": MetricDescription("most", "Longest latency", "The slowest call."),
    "throughput_rps": MetricDescription(
        "throughput",
        "Throughput",
        "Replies per second, over the time in which a call was under way.",
    ),
    "token_efficiency": MetricDescription(
        "fields per token", "Token efficiency", "Extracted fields per output token."
    ),
    "cost_usd_per_sample": MetricDescription(
        "cost", "Cost per sample", "Dollars, by the tokens counted."
    ),
    "success_rate": MetricDescription(
        "success", "Success rate", "Calls that came back with a reply."
    ),
    "parse_failure_rate": MetricDescription(
        "no JSON", "Parse failures", "Replies that are no JSON."
    ),
    "schema_failure_rate": MetricDescription(
        "invalid", "Schema failures", "JSON that is no valid instance of its schema."
    ),
    "timeout_rate": MetricDescription(
        "timeouts", "Timeouts", "Calls with an attempt that timed out."
    ),
    "retry_rate": MetricDescription(
        "retries", "Retries", "Calls that needed more than one attempt."
    ),
    "reliability_score": MetricDescription(
        "reliability", "Reliability", "Success rate in which a retried call counts half."
    ),
    "expected_calibration_error": MetricDescription(
        "ECE",
        "Calibration error",
        "How far stated confidence lies from the share of exact matches.",
    ),
    "exact_match_consistency": MetricDescription(
        "same output", "Same output every time", "Runs that gave a sample's most frequent output."
    ),
    "field_level_consistency": MetricDescription(
        "same fields", "Agreement of fields", "Pairs of runs that agree on a field."
    ),
    "value_variance": MetricDescription(
        "spread", "Spread of numbers", "Standard deviation of a numeric field over its runs."
    ),
    "field_precision_partial": MetricDescription(
        "precision", "Field precision (partial)", "Credit per extracted field."
    ),
    "field_recall_partial": MetricDescription(
        "recall", "Field recall (partial)", "Credit per expected field."
    ),
    "field_precision_strict": MetricDescription(
        "precision", "Field precision (strict)", "Equal fields per extracted field."
    ),
    "field_recall_strict": MetricDescription(
        "recall", "Field recall (strict)", "Equal fields per expected field."
    ),
    "field_precision_lenient": MetricDescription(
        "precision", "Field precision (lenient)", "Lenient matches per extracted field."
    ),
    "field_recall_lenient": MetricDescription(
        "recall", "Field recall (lenient)", "Lenient matches per expected field."
    ),
    "eqs": MetricDescription("EQS", "Extraction quality score", "Of each sample."),
    "f1_partial": MetricDescription("F1 partial", "Field F1 (partial)", "Of each sample."),
    "f1_strict": MetricDescription("F1 strict", "Field F1 (strict)", "Of each sample."),
    "f1_lenient": MetricDescription("F1 lenient", "Field F1 (lenient)", "Of each sample."),
    "valid": MetricDescription("validity", "Schema validity", "Of each sample."),
    "latency_s": MetricDescription("latency", "Latency", "Seconds a call took."),
}


def describe_metric(key: str) -> MetricDescription:
    """Returns a metric's names and explanation; an unknown metric is called by its key."""
    return METRICS.get(key) or MetricDescription(key.replace("_", " "), key.replace("_", " "), "")


def get_unit(key: str) -> Unit:
    """Returns the unit in which a metric is written."""
    if key in _PERCENT:
        return "percent"
    if key.startswith("latency"):
        return "seconds"
    if key.startswith("cost_usd"):
        return "dollars"
    return "rate" if key == "throughput_rps" else "score"


def format_value(key: str, value: float | None) -> str:
    """Formats a value of a metric in its unit."""
    if value is None:
        return UNDEFINED_TEXT
    kind = get_unit(key)
    if kind == "percent":
        return f"{format_number(100 * value, 1)} %"
    if kind == "seconds":
        return format_seconds(value)
    if kind == "dollars":
        return format_dollars(value)
    return f"{format_number(value, 2)} /s" if kind == "rate" else format_number(value)


def format_seconds(value: float | None) -> str:
    """Formats a duration, a short one in milliseconds."""
    if value is None:
        return UNDEFINED_TEXT
    return f"{value * 1000:.0f} ms" if abs(value) < 0.1 else f"{format_number(value, 2)} s"


def format_dollars(value: float | None) -> str:
    """Formats an amount with three significant digits, so that a small one is never 0."""
    if value is None:
        return UNDEFINED_TEXT
    return (
        f"${value:,.2f}"
        if value >= 1 or not value
        else f"${float(f'{value:.3g}'):.10f}".rstrip("0")
    )


def format_interval(key: str, low: float | None, high: float | None) -> str:
    """Formats an interval in a metric's unit; empty if an end is unknown."""
    if low is None or high is None:
        return ""
    first, last = format_value(key, low), format_value(key, high)
    ending = f" {first.rsplit(' ', 1)[-1]}" if " " in first else ""
    if ending and last.endswith(ending):
        first = first.removesuffix(ending)
    return f"{first}–{last}"


def make_value_cell(
    key: str, value: Estimate | None, *more: str, tone: Tone = "", bounds: bool = True
) -> Cell:
    """Makes a cell of a value with its interval and ``bounds``; without a value, of the reason."""
    if value is None or value.value is None:
        why = value.why if value is not None else ""
        return Cell(UNDEFINED_TEXT, (why,) if why else ())
    below = [format_interval(key, value.low, value.high)]
    ends = [end for end in (value.worst, value.best) if end is not None] if bounds else []
    if len(ends) == 2 and ends[0] != ends[1]:
        below.append(f"bounds {format_interval(key, min(ends), max(ends))}")
    return Cell(format_value(key, value.value), (*(line for line in below if line), *more), tone)


def format_grade_range(grade: Grade) -> str:
    """Formats the grades at the ends of a grade's interval; empty if they are the same."""
    ends = [grade.grade_at_worst, grade.grade_at_best]
    return "" if "" in ends or set(ends) == {grade.grade} else f"{ends[0]} to {ends[1]}"
