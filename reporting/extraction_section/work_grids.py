"""Tables of what calls took and how far they can be relied on."""

from __future__ import annotations

from collections.abc import Callable

from eval.extraction.record import Estimate, Performance
from reporting.benchmark_sections.blocks import Cell, Grid, Head, Line
from reporting.charts import UNDEFINED_TEXT, format_number
from reporting.comparison_text import describe_calibration, format_p_value
from reporting.extraction_section.metric_words import dollars, seconds, span_text, value_cell, words
from reporting.extraction_section.shown import Shown

_SPREAD = ("mean", "p50", "p95", "p99", "min", "max")
_RELIABILITY = (
    *("success_rate", "parse_failure_rate", "schema_failure_rate", "timeout_rate"),
    *("retry_rate", "reliability_score"),
)


def latency(shown: Shown) -> Grid | None:
    """Latencies in whole and in parts; none where nobody measured any."""
    lines = []
    for name, one in shown.systems:
        found = one.performance
        parts = {
            "whole call": found.latency_s,
            "to the first token": found.time_to_first_token_s,
            "from first to last token": found.generation_s,
        }
        for said, values in parts.items():
            if any(value.value is not None for value in values.values()):
                cells = tuple(_seconds(values.get(key)) for key in _SPREAD)
                lines.append(Line(said, cells, group=name))
    if not lines:
        return None
    heads = ("Latency", "mean", "p50", "p95", "p99", "least", "most")
    return Grid(
        "Latency",
        "Of calls that came back. Percentiles are values that occurred (nearest rank).",
        tuple(Head(head, numeric=at > 0) for at, head in enumerate(heads)),
        tuple(lines),
    )


def _seconds(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT)
    span = span_text("latency_s", value.low, value.high)
    return Cell(seconds(value.value), (span,) if span else ())


_WORK: tuple[tuple[str, Callable[[Performance], float | None], Callable[[float], str]], ...] = (
    ("Replies a second", lambda p: p.throughput_rps, lambda v: format_number(v, 2)),
    ("Samples a minute", lambda p: p.samples_per_minute, lambda v: format_number(v, 1)),
    ("Tokens a second, in and out", lambda p: p.tokens_per_second, lambda v: f"{v:,.0f}"),
    ("Fields a second", lambda p: p.fields_per_second, lambda v: format_number(v, 1)),
    ("Seconds with a call under way", lambda p: p.busy_s, lambda v: f"{v:,.1f}"),
    ("Input tokens, mean", lambda p: p.tokens.get("input_mean"), lambda v: f"{v:,.1f}"),
    ("Input tokens, median", lambda p: p.tokens.get("input_median"), lambda v: f"{v:,.0f}"),
    ("Output tokens, mean", lambda p: p.tokens.get("output_mean"), lambda v: f"{v:,.1f}"),
    ("Output tokens, median", lambda p: p.tokens.get("output_median"), lambda v: f"{v:,.0f}"),
    ("Tokens, all", lambda p: p.tokens.get("total"), lambda v: f"{v:,.0f}"),
    ("Cost, all", lambda p: p.cost_usd, dollars),
    ("Cost of a right field", lambda p: p.cost_usd_per_right_field, dollars),
)


def work(shown: Shown) -> Grid | None:
    """Throughput, tokens and cost; only what somebody measured."""
    lines = []
    for said, get, text in _WORK:
        values = [get(one.performance) for _, one in shown.systems]
        if any(value is not None for value in values):
            cells = [Cell(UNDEFINED_TEXT if value is None else text(value)) for value in values]
            lines.append(Line(said, tuple(cells)))
    for key in ("token_efficiency", "cost_usd_per_sample"):
        values_ = [one.metrics.get(key) for _, one in shown.systems]
        if any(value is not None and value.value is not None for value in values_):
            lines.append(Line(words(key).full_name, tuple(value_cell(key, one) for one in values_)))
    if not lines:
        return None
    heads = (Head("Work", numeric=False), *(Head(name) for name in shown.names))
    return Grid(
        "Throughput, tokens and cost",
        "Tokens as the server counts them; a cost that nobody stated or priced is a dash, never 0.",
        heads,
        tuple(lines),
    )


def compliance(shown: Shown) -> Grid | None:
    """The two limits of latency that the specification names."""
    keys = {"p95_under_2s": "p95 under 2 s", "p99_under_5s": "p99 under 5 s"}
    found = [one.performance.compliance for _, one in shown.systems]
    if not any(one.get(key) is not None for one in found for key in keys):
        return None
    lines = [
        Line(name, tuple(verdict_cell(one.performance.compliance.get(key)) for key in keys))
        for name, one in shown.systems
    ]
    heads = (Head("System", numeric=False), *(Head(said, numeric=False) for said in keys.values()))
    return Grid("Limits of latency", "", heads, tuple(lines))


def verdict_cell(passed: bool | None, *more: str) -> Cell:
    """Whether something holds, by sign, word and colour."""
    if passed is None:
        return Cell("– not known", more, "muted")
    return Cell("✓ met" if passed else "✗ missed", more, "up" if passed else "down")


def reliability(shown: Shown) -> Grid:
    """How often calls and replies fail."""
    heads = [Head("System", numeric=False), Head("calls", meaning="All calls")]
    heads += [Head(words(key).short_name, meaning=words(key).explanation) for key in _RELIABILITY]
    lines = [
        Line(
            name,
            (
                Cell(f"{one.outcomes.rows:,}"),
                *(value_cell(key, one.reliability.get(key)) for key in _RELIABILITY),
            ),
        )
        for name, one in shown.systems
    ]
    return Grid(
        "Reliability",
        "A call that failed is never an empty extraction: it is left out of accuracy and counted "
        "here.",
        tuple(heads),
        tuple(lines),
    )


def consistency(shown: Shown) -> Grid | None:
    """How far repeats agree; none where each sample was put once."""
    lines = []
    for name, one in shown.systems:
        found = one.consistency
        if found is not None:
            cells = (
                Cell(f"{found.samples:,}"),
                value_cell("exact_match_consistency", found.exact_match_consistency),
                value_cell("field_level_consistency", found.field_level_consistency),
                value_cell("value_variance", found.value_variance),
                value_cell("value_variation", found.value_variation),
            )
            lines.append(Line(name, cells))
    if not lines:
        return None
    heads = (
        Head("System", numeric=False),
        Head("samples", "with two replies or more"),
        Head("same output", "mean share of the most frequent"),
        Head("same fields", "pairs of runs that agree"),
        Head("spread", "of numbers, in their unit"),
        Head("relative spread", "over the mean of a field"),
    )
    return Grid("Consistency over repeats", "", heads, tuple(lines))


def calibration(shown: Shown) -> Grid | None:
    """What stated confidences are worth; none where none is stated."""
    lines = []
    for name, one in shown.systems:
        found = one.calibration
        if found is None:
            continue
        said = describe_calibration(found.confidence, found.accuracy, found.ece_expected.p)
        off = said.startswith(("over", "under", "off"))
        lines.append(
            Line(
                name,
                (
                    Cell(f"{found.n:,}"),
                    Cell(format_number(found.confidence)),
                    Cell(format_number(found.accuracy)),
                    value_cell(
                        "expected_calibration_error",
                        one.metrics.get("expected_calibration_error"),
                    ),
                    Cell(
                        format_number(found.ece_expected.mean),
                        (f"up to {format_number(found.ece_expected.high)}",),
                    ),
                    Cell(format_p_value(found.ece_expected.p)),
                    Cell(said, (), "down" if off else "muted"),
                ),
            )
        )
    if not lines:
        return None
    heads = (
        Head("System", numeric=False),
        Head("replies", "with a confidence"),
        Head("Sure", "mean confidence"),
        Head("Right", "exact matches"),
        Head("ECE", "lower is better"),
        Head("ECE by chance", "if it were calibrated"),
        Head("p"),
        Head("The data say", numeric=False),
    )
    return Grid(
        "Calibration",
        "An exact match counts as right. An error no greater than chance gives is no evidence.",
        heads,
        tuple(lines),
    )
