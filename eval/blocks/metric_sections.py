"""Builds sections from the metrics and comparisons of runs of any benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.blocks.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Figures,
    Fold,
    Paragraphs,
    Part,
    Table,
    TableRow,
    Verbatim,
    make_estimate_cell,
)
from eval.blocks.charts import ForestChart
from eval.blocks.comparison_text import to_plotted_difference
from eval.blocks.glossary import TEST_NAMES
from eval.blocks.section import Section
from eval.blocks.text_format import format_name, format_signed, to_chart_estimate
from eval.metrics.comparison import Comparison
from eval.metrics.measurement import Measurement
from eval.metrics.runs.report import RunComparison, RunMetrics
from eval.metrics.runs.text import DIRECTIONS
from kg.base.csv_text import to_csv

_MAX_PLOTTED_PAIRS = 30
_COMPARISON_COLUMNS = (
    *("metric", "candidate", "baseline", "value_candidate", "value_baseline", "difference", "low"),
    *("high", "method", "test", "p", "p_holm", "better", "n", "n_differ"),
    "minimum_detectable_effect",
)


def build_metrics_section(
    measurement: Measurement, report: RunMetrics, sources: Sequence[Path], id_: str
) -> Section:
    """Builds the section of a benchmark that has no section of its own: tables of its metrics.

    Args:
        measurement: the runs.
        report: their metrics.
        sources: files of the runs, which no page may overwrite.
        id_: begins the ids of everything in the section.
    """
    headline = measurement.runs.headline
    others = [name for name in report.higher_is_better if name not in headline]
    blocks: list[Block] = [_build_metrics_grid("Headline metrics", report, headline)]
    if others:
        blocks.append(
            Fold("All other metrics", (_build_metrics_grid("Other metrics", report, others),))
        )
    columns = ("system", "metric", "value", "low", "high", "method", "n", "missing", "why")
    rows = (
        (system, name, *(getattr(estimate, column) for column in columns[2:]))
        for system, estimates in report.metrics.items()
        for name, estimate in estimates.items()
    )
    return Section(
        id=id_,
        name=report.benchmark.capitalize(),
        title=f"Metrics of the benchmark {report.benchmark}",
        about=_describe_items(measurement),
        verdict=("Below each number is its interval.",),
        notices=report.notes,
        stats=_build_stats(measurement),
        parts=(
            Part("headline", "Metrics", "Metrics", tuple(blocks)),
            Part("signature", "Signature", "Signature", (Verbatim(report.signature),)),
        ),
        tables={"metrics": to_csv(columns, rows)},
        sources=tuple(sources),
        data={"metrics": report},
        version=report.version,
    )


def build_comparison_section(
    measurement: Measurement, report: RunComparison, sources: Sequence[Path]
) -> Section:
    """Builds the section that compares systems of runs, with a table for each metric.

    Args:
        measurement: the runs.
        report: the differences between their systems.
        sources: files of the runs, which no page may overwrite.
    """
    headline = [name for name in measurement.runs.headline if name in report.higher_is_better]
    others = [name for name in report.higher_is_better if name not in headline]
    pairs = Part("pairs", "Differences", "Differences", tuple(_build_pair_blocks(report, headline)))
    more = Fold("All other metrics", tuple(_build_pair_grid(report, name) for name in others))
    rows = (
        tuple(getattr(comparison, column) for column in _COMPARISON_COLUMNS)
        for comparison in report.comparisons
    )
    return Section(
        id="comparison",
        name="Comparison",
        title="Which system is better, and is the difference significant?"
        if any(comparison.p is not None for comparison in report.comparisons)
        else "How do the systems differ?",
        about=_describe_items(measurement),
        verdict=tuple(_summarise(report, headline)),
        notices=report.notes,
        stats=_build_stats(measurement),
        parts=(
            pairs,
            *((Part("others", "Others", "Other metrics", (more,)),) if others else ()),
            Part("signature", "Signature", "Signature", (Verbatim(report.signature),)),
        ),
        tables={"pairs": to_csv(_COMPARISON_COLUMNS, rows)},
        sources=tuple(sources),
        data={"comparison": report},
        version=report.version,
    )


def _describe_items(measurement: Measurement) -> str:
    runs = measurement.runs
    return f"{runs.benchmark} · {runs.n_items:,} {runs.noun}s · {runs.items}"


def _build_stats(measurement: Measurement) -> tuple[tuple[str, str], ...]:
    runs = measurement.runs
    counts = [(f"{runs.n_items:,}", f"{runs.noun}s"), (f"{len(runs.systems)}", "systems")]
    if runs.n_left_out:
        counts.append((f"{runs.n_left_out:,}", f"{runs.noun}s left out"))
    return tuple(counts)


def _build_metrics_grid(title: str, report: RunMetrics, names: Sequence[str]) -> Table:
    return Table(
        title,
        "",
        (
            Column("System", numeric=False),
            *(Column(name, DIRECTIONS[report.higher_is_better[name]]) for name in names),
        ),
        tuple(
            TableRow(
                format_name(system),
                tuple(
                    make_estimate_cell(
                        to_chart_estimate(estimates[name]),
                        *([estimates[name].why] if estimates[name].why else []),
                    )
                    for name in names
                ),
            )
            for system, estimates in report.metrics.items()
        ),
    )


def _summarise(report: RunComparison, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        compared = [pair for pair in report.comparisons if pair.metric == name]
        significant = sum(pair.better is not None for pair in compared)
        if compared and all(pair.p is None for pair in compared):
            yield f"{name}: no difference is tested."
        else:
            yield f"{name}: {significant} of {len(compared)} differences are significant."


def _build_pair_blocks(report: RunComparison, names: Sequence[str]) -> Iterator[Block]:
    yield Paragraphs(
        (
            "Each pair is compared on the same items: difference = candidate − baseline. Overlap "
            "of intervals is not a test; p-values are adjusted by Holm's method.",
        )
    )
    for name in names:
        compared = [pair for pair in report.comparisons if pair.metric == name]
        yield _build_pair_grid(report, name)
        if any(pair.low is not None for pair in compared) and len(compared) <= _MAX_PLOTTED_PAIRS:
            chart = ForestChart(
                tuple(to_plotted_difference(pair) for pair in compared),
                higher_is_better=report.higher_is_better[name],
            )
            about = "Differences with intervals; the band is too small to be detected."
            yield Figures((Figure(name, about, chart, about),), size="wide")


def _build_pair_grid(report: RunComparison, name: str) -> Table:
    return Table(
        name,
        f"{DIRECTIONS[report.higher_is_better[name]]}.",
        (
            Column("Candidate and baseline", numeric=False),
            Column("Candidate"),
            Column("Baseline"),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Minimum detectable effect"),
            Column("Finding", numeric=False),
        ),
        tuple(_build_pair_line(pair) for pair in report.comparisons if pair.metric == name),
        look="pairs",
    )


def _build_pair_line(pair: Comparison) -> TableRow:
    has_interval = pair.low is not None and pair.high is not None
    interval = f"{format_signed(pair.low)} to {format_signed(pair.high)}" if has_interval else ""
    return TableRow(
        f"{format_name(pair.candidate)} − {format_name(pair.baseline)}",
        (
            Cell(_format(pair.value_candidate)),
            Cell(_format(pair.value_baseline)),
            Cell(format_signed(pair.difference), (interval,) if interval else ()),
            Cell(
                "–" if pair.p_holm is None else f"{pair.p_holm:.3g}",
                (TEST_NAMES.get(pair.test, pair.test),),
            ),
            Cell(_format(pair.minimum_detectable_effect)),
            Cell(
                "not tested"
                if pair.p is None
                else "no significant difference"
                if pair.better is None
                else f"{format_name(pair.better)} is better",
                (f"on {pair.n:,} items",),
                "muted" if pair.better is None else "best",
            ),
        ),
    )


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
