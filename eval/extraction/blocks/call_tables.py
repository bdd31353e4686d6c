"""Tables of what calls took and how often they fail, and of confidence and consistency."""

from __future__ import annotations

from collections.abc import Callable

from eval.blocks.blocks import Cell, Column, Table, TableRow
from eval.blocks.comparison_text import describe_calibration
from eval.blocks.text_format import UNDEFINED_TEXT, format_number, format_p_value
from eval.extraction.blocks.metric_texts import (
    describe_metric,
    format_dollars,
    format_interval,
    format_seconds,
    make_value_cell,
)
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Estimate, Performance

_SPREAD = ("mean", "p50", "p95", "p99", "min", "max")
_RELIABILITY = (
    *("success_rate", "parse_failure_rate", "schema_failure_rate", "timeout_rate"),
    *("retry_rate", "reliability_score"),
)


def build_latency_table(run: RunData) -> Table | None:
    """Builds the table of latencies, in whole and in parts; ``None`` if none was measured."""
    rows = []
    for name, system in run.systems:
        performance = system.performance
        parts = {
            "whole call": performance.latency_s,
            "to the first token": performance.time_to_first_token_s,
            "from first to last token": performance.generation_s,
        }
        for part, values in parts.items():
            if any(value.value is not None for value in values.values()):
                cells = tuple(_build_seconds_cell(values.get(key)) for key in _SPREAD)
                rows.append(TableRow(part, cells, group=name))
    if not rows:
        return None
    columns = ("Latency", "mean", "p50", "p95", "p99", "least", "most")
    return Table(
        "Latency",
        "Of calls that came back. Percentiles are values that occurred (nearest rank).",
        tuple(Column(head, numeric=at > 0) for at, head in enumerate(columns)),
        tuple(rows),
    )


def _build_seconds_cell(value: Estimate | None) -> Cell:
    if value is None or value.value is None:
        return Cell(UNDEFINED_TEXT)
    span = format_interval("latency_s", value.low, value.high)
    return Cell(format_seconds(value.value), (span,) if span else ())


_WORK: tuple[tuple[str, Callable[[Performance], float | None], Callable[[float], str]], ...] = (
    ("Replies per second", lambda p: p.throughput_rps, lambda v: format_number(v, 2)),
    ("Samples per minute", lambda p: p.samples_per_minute, lambda v: format_number(v, 1)),
    ("Tokens per second, in and out", lambda p: p.tokens_per_second, lambda v: f"{v:,.0f}"),
    ("Fields per second", lambda p: p.fields_per_second, lambda v: format_number(v, 1)),
    ("Seconds with a call under way", lambda p: p.busy_s, lambda v: f"{v:,.1f}"),
    ("Input tokens, mean", lambda p: p.tokens.get("input_mean"), lambda v: f"{v:,.1f}"),
    ("Input tokens, median", lambda p: p.tokens.get("input_median"), lambda v: f"{v:,.0f}"),
    ("Output tokens, mean", lambda p: p.tokens.get("output_mean"), lambda v: f"{v:,.1f}"),
    ("Output tokens, median", lambda p: p.tokens.get("output_median"), lambda v: f"{v:,.0f}"),
    ("Tokens, all", lambda p: p.tokens.get("total"), lambda v: f"{v:,.0f}"),
    ("Cost, all", lambda p: p.cost_usd, format_dollars),
    ("Cost of a right field", lambda p: p.cost_usd_per_right_field, format_dollars),
)


def build_work_table(run: RunData) -> Table | None:
    """Builds the table of throughput, tokens and cost: what was measured of them."""
    rows = []
    for label, get, text in _WORK:
        values = [get(system.performance) for _, system in run.systems]
        if any(value is not None for value in values):
            cells = [Cell(UNDEFINED_TEXT if value is None else text(value)) for value in values]
            rows.append(TableRow(label, tuple(cells)))
    for key in ("token_efficiency", "cost_usd_per_sample"):
        estimates = [system.metrics.get(key) for _, system in run.systems]
        if any(value is not None and value.value is not None for value in estimates):
            rows.append(
                TableRow(
                    describe_metric(key).full_name,
                    tuple(make_value_cell(key, system) for system in estimates),
                )
            )
    if not rows:
        return None
    columns = (Column("Work", numeric=False), *(Column(name) for name in run.names))
    return Table(
        "Throughput, tokens and cost",
        "Tokens as the server counts them; a cost that nobody stated or priced is a dash, never 0.",
        columns,
        tuple(rows),
    )


def build_compliance_table(run: RunData) -> Table | None:
    """Builds the table of the two limits of latency that the specification names."""
    keys = {"p95_under_2s": "p95 under 2 s", "p99_under_5s": "p99 under 5 s"}
    limits = [system.performance.compliance for _, system in run.systems]
    if not any(system.get(key) is not None for system in limits for key in keys):
        return None
    rows = [
        TableRow(
            name, tuple(make_verdict_cell(system.performance.compliance.get(key)) for key in keys)
        )
        for name, system in run.systems
    ]
    columns = (
        Column("System", numeric=False),
        *(Column(label, numeric=False) for label in keys.values()),
    )
    return Table("Limits of latency", "", columns, tuple(rows))


def make_verdict_cell(passed: bool | None, *more: str) -> Cell:
    """Makes a cell that says whether a limit is met, by sign, word and colour."""
    if passed is None:
        return Cell("– not known", more, "muted")
    return Cell("✓ met" if passed else "✗ missed", more, "up" if passed else "down")


def build_reliability_table(run: RunData) -> Table:
    """Builds the table of how often calls and replies fail."""
    columns = [Column("System", numeric=False), Column("calls", meaning="All calls")]
    columns += [
        Column(describe_metric(key).short_name, meaning=describe_metric(key).explanation)
        for key in _RELIABILITY
    ]
    rows = [
        TableRow(
            name,
            (
                Cell(f"{system.outcomes.rows:,}"),
                *(make_value_cell(key, system.reliability.get(key)) for key in _RELIABILITY),
            ),
        )
        for name, system in run.systems
    ]
    return Table(
        "Reliability",
        "A call that failed is no empty extraction. It is left out of accuracy, with bounds; only "
        "of extractions made elsewhere, a sample without one counts as nothing right.",
        tuple(columns),
        tuple(rows),
    )


def build_consistency_table(run: RunData) -> Table | None:
    """Builds the table of how far repeats agree; ``None`` without repeats."""
    rows = []
    for name, system in run.systems:
        agreement = system.consistency
        if agreement is not None:
            cells = (
                Cell(f"{agreement.samples:,}"),
                make_value_cell("exact_match_consistency", agreement.exact_match_consistency),
                make_value_cell("field_level_consistency", agreement.field_level_consistency),
                make_value_cell("value_variance", agreement.value_variance),
                make_value_cell("value_variation", agreement.value_variation),
            )
            rows.append(TableRow(name, cells))
    if not rows:
        return None
    columns = (
        Column("System", numeric=False),
        Column("samples", "with two replies or more"),
        Column("same output", "mean share of the most frequent"),
        Column("same fields", "pairs of runs that agree"),
        Column("spread", "of numbers, in their unit"),
        Column("relative spread", "over the mean of a field"),
    )
    return Table("Consistency over repeats", "", columns, tuple(rows))


def build_calibration_table(run: RunData) -> Table | None:
    """Builds the table of calibration; ``None`` if no system states confidences."""
    rows = []
    for name, system in run.systems:
        report = system.calibration
        if report is None:
            continue
        finding = describe_calibration(report.confidence, report.accuracy, report.ece_expected.p)
        off = finding.startswith(("over", "under", "off"))
        rows.append(
            TableRow(
                name,
                (
                    Cell(f"{report.n:,}"),
                    Cell(format_number(report.confidence)),
                    Cell(format_number(report.accuracy)),
                    make_value_cell(
                        "expected_calibration_error",
                        system.metrics.get("expected_calibration_error"),
                    ),
                    Cell(
                        format_number(report.ece_expected.mean),
                        (f"up to {format_number(report.ece_expected.high)}",),
                    ),
                    Cell(format_p_value(report.ece_expected.p)),
                    Cell(finding, (), "down" if off else "muted"),
                ),
            )
        )
    if not rows:
        return None
    columns = (
        Column("System", numeric=False),
        Column("replies", "with a confidence"),
        Column("Sure", "mean confidence"),
        Column("Right", "exact matches"),
        Column("ECE", "lower is better"),
        Column("ECE by chance", "if it were calibrated"),
        Column("p"),
        Column("The data say", numeric=False),
    )
    return Table(
        "Calibration",
        "An exact match counts as right. An error no greater than chance gives is no evidence.",
        columns,
        tuple(rows),
    )
