"""Builds the section of a run of structured extraction, with its parts in reading order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from eval.blocks.blocks import (
    Block,
    Definitions,
    Figure,
    Figures,
    Fold,
    Paragraphs,
    Part,
    Table,
    Verbatim,
)
from eval.blocks.charts import ReliabilityChart
from eval.blocks.comparison_text import build_bins
from eval.blocks.section import Section
from eval.blocks.text_format import describe_recordings, format_name
from eval.extraction.blocks import (
    call_tables,
    error_charts,
    error_tables,
    outcome_tables,
    quality_charts,
    sample_charts,
    tables,
)
from eval.extraction.blocks.comparison import build_comparison_parts
from eval.extraction.blocks.exports import NO_PARQUET, SAMPLES, build_data_tables, has_parquet
from eval.extraction.blocks.metric_texts import describe_metric
from eval.extraction.blocks.recommendations import build_recommendations
from eval.extraction.blocks.row_summaries import RowSummary
from eval.extraction.blocks.run_data import RunData, read_run
from eval.extraction.blocks.samples import build_samples, describe_choice
from eval.extraction.blocks.texts import METHOD, TERMS, describe_results, list_caveats
from eval.extraction.record import SystemReport

_TITLE = "How well do texts become data?"
_MAX_OPEN = 3
"""Maximum number of systems whose charts are visible at once; those of more are folded."""

_BuildFigure: TypeAlias = Callable[[str, SystemReport], Figure | None]
_BuildScatter: TypeAlias = Callable[[str, Sequence[RowSummary]], Figure | None]
_Size: TypeAlias = Literal["small", "half", "wide"]


def build_section(folder: Path, id_: str) -> Section:
    """Builds the section of a finished run.

    Raises:
        MissingFileError, RecordError, CardSetMismatchError: as ``read_run``.
    """
    return build_run_section(read_run(folder), id_)


def build_run_section(run: RunData, id_: str) -> Section:
    """Builds the section of one run, or of several that are compared.

    Args:
        run: its data.
        id_: begins the ids of everything in the section.
    """
    exports = build_data_tables(run)
    return Section(
        id=id_,
        name="Extraction",
        title=_TITLE,
        about=f"Structured extraction · {run.dataset} · sample set {run.report.samples}",
        verdict=describe_results(run),
        caveats=list_caveats(run),
        notices=(*describe_recordings(run.names), *run.notices),
        stats=tuple(_list_stats(run)),
        parts=tuple(_build_parts(run)),
        overview=quality_charts.build_gauge(*run.systems[0]),
        tables={name: table.to_csv() for name, table in exports.items()},
        parquet={n: t.to_parquet() for n, t in exports.items()} if has_parquet() else {},
        sources=run.files,
        data={"metrics": run.report, "comparison": run.comparison, "facts": dict(run.facts)},
        version=run.report.version,
    )


def _list_stats(run: RunData) -> Iterator[tuple[str, str]]:
    report = run.report
    yield f"{report.n_samples:,}", "sample" if report.n_samples == 1 else "samples"
    yield f"{report.n_expected:,}", "expected fields"
    count = len(run.systems)
    yield f"{count:,}", "systems" if count != 1 else "system"
    outcomes = [system.outcomes for _, system in run.systems]
    yield f"{sum(n.rows for n in outcomes):,}", "fillings by rules" if run.offline else "calls"
    yield f"{sum(n.error for n in outcomes):,}", "failed"
    yield f"{sum(n.invalid + n.unparsable for n in outcomes):,}", "invalid or no JSON"


def _build_parts(run: RunData) -> Iterator[Part]:
    yield Part("summary", "Summary", "Executive summary", tuple(_build_summary(run)))
    yield from build_comparison_parts(run)
    method = (Paragraphs(METHOD), Definitions(run.facts))
    yield Part("method", "Method", "Methodology", method)
    yield Part("metrics", "Metrics", "Primary metrics", tuple(_build_metrics(run)))
    yield Part("accuracy", "Accuracy", "Accuracy in depth", tuple(_build_accuracy(run)))
    yield Part("performance", "Performance", "What the calls took", tuple(_build_work(run)))
    yield Part("errors", "Errors", "What goes wrong", tuple(_build_errors(run)))
    yield Part("complexity", "Complexity", "Hard and easy schemas", tuple(_build_complexity(run)))
    confidence = tuple(_build_confidence(run))
    if confidence:
        yield Part("confidence", "Confidence", "Confidence and consistency", confidence)
    samples = build_samples(run, f"the file of {SAMPLES} and rows.jsonl")
    yield Part(
        "samples",
        "Samples",
        "Best, worst and odd samples, side by side",
        (Paragraphs((describe_choice(run, samples),)), samples),
    )
    yield Part(
        "advice", "Recommendations", "Recommendations and next steps", build_recommendations(run)
    )
    of_systems = (
        f"{format_name(name)}: {note}" for name, system in run.systems for note in system.notes
    )
    notes = tuple(dict.fromkeys((*run.report.notes, *of_systems)))
    if notes:
        yield Part(
            "limits", "Limits", "What these numbers cannot say", (Paragraphs(notes, "list"),)
        )
    yield Part("reading", "How to read this", "How to read this", (Definitions(TERMS),))
    yield Part("provenance", "Provenance", "Where the numbers come from", _build_provenance(run))


def _build_summary(run: RunData) -> Iterator[Block]:
    fact = f"Evaluated {run.date} on {run.dataset}, {run.report.n_samples:,} samples."
    yield Paragraphs((fact,), "note")
    yield outcome_tables.build_outcomes_table(run)
    yield tables.build_grades_table(run)
    reasons = error_tables.build_invalid_reasons_table(run)
    if reasons is not None:
        yield reasons
    for name, system in run.systems:
        advice = system.recommendation
        points = (
            *(f"✓ Strength: {text}." for text in advice.strengths),
            *(f"✗ Weakness: {text}." for text in advice.weaknesses),
        )
        if not points:
            continue
        if len(run.systems) > _MAX_OPEN:
            title = f"{format_name(name)}: strengths and weaknesses"
            yield Fold(title, (Paragraphs(points, "list"),))
        else:
            yield Paragraphs((f"{format_name(name)}: {advice.verdict}.",))
            yield Paragraphs(points, "list")
    if len(run.systems) > 1:  # the gauge of a single one is the section's overview
        title = describe_metric(run.report.headline).full_name
        yield from _build_charts(run, quality_charts.build_gauge, title, "small")
    yield from _build_charts(run, quality_charts.build_radar, "The parts of the score")


def _build_metrics(run: RunData) -> Iterator[Block]:
    yield tables.build_headline_table(run)
    yield tables.build_components_table(run)
    yield outcome_tables.build_readings_table(run)
    other = tables.build_other_policy_table(run)
    if other:
        yield other
    yield Fold("Every metric, by tier", (tables.build_all_metrics_table(run),))


def _build_accuracy(run: RunData) -> Iterator[Block]:
    yield Figures((quality_charts.build_category_bars(run), quality_charts.build_mode_bars(run)))
    recall_chart = quality_charts.build_recall_chart(run)
    if recall_chart:
        yield Figures((recall_chart,), "wide")
    yield tables.build_categories_table(run)
    yield tables.build_modes_table(run)
    title = "Precision and recall of every sample"
    yield from _build_scatters(run, sample_charts.build_recall_scatter, title)
    yield tables.build_distribution_table(run)
    yield from _fold_tables(
        [
            outcome_tables.build_field_outcomes_table(run),
            outcome_tables.build_rules_table(run),
            tables.build_similarities_table(run),
            *(
                tables.build_breakdown_table(run, dimension)
                for dimension in ("type", "depth", "required", "name")
            ),
            *(tables.build_confusion_table(run, name, system) for name, system in run.systems),
            tables.build_categories_table(run, "strict"),
            tables.build_categories_table(run, "lenient"),
        ]
    )


def _build_work(run: RunData) -> Iterator[Block]:
    if run.offline:
        yield Paragraphs(("No model was called, so there is no call to time, to count or to pay.",))
    for table in (
        call_tables.build_latency_table(run),
        call_tables.build_compliance_table(run),
        call_tables.build_work_table(run),
    ):
        if table is not None:
            yield table
    yield call_tables.build_reliability_table(run)
    yield from _build_charts(run, sample_charts.build_latency_histogram, "Latency")
    yield from _build_scatters(run, sample_charts.build_latency_scatter, "Latency against accuracy")
    yield from _build_charts(run, sample_charts.build_throughput_line, "Throughput over time")


def _build_errors(run: RunData) -> Iterator[Block]:
    severity = error_charts.build_severity_bars(run)
    if severity:
        yield Figures((severity,))
    yield error_tables.build_hallucinations_table(run)
    yield from _build_charts(run, error_charts.build_error_map, "Errors by kind", "wide")
    yield Fold("Errors by kind, in numbers", (error_tables.build_patterns_table(run),))
    yield from _fold_tables([error_tables.build_top_errors_table(run)])
    omissions = error_charts.build_omission_map(run)
    if omissions:
        yield Figures((omissions,), "wide")
    yield from _fold_tables(
        [
            error_tables.build_omissions_table(run, "name", "Field name"),
            error_tables.build_omissions_table(run, "type", "Field type"),
            error_tables.build_omissions_table(run, "depth", "Nesting depth"),
            error_tables.build_omissions_table(run, "required", "Required or optional"),
        ]
    )


def _build_complexity(run: RunData) -> Iterator[Block]:
    title = "F1 against the complexity of the schema"
    yield from _build_scatters(run, sample_charts.build_complexity_scatter, title)
    title = "F1 by bin of complexity"
    yield from _build_charts(run, sample_charts.build_complexity_boxes, title, "small")
    bins = tables.build_breakdown_table(run, "complexity")
    if bins:
        yield bins
    for build, title in (
        (sample_charts.build_schema_correlations, "Metrics against schemas"),
        (sample_charts.build_metric_correlations, "Metrics against each other"),
    ):
        yield from _build_charts(run, build, title, "wide", max_open=1)
    yield from _fold_tables(
        [tables.build_breakdown_table(run, key) for key in ("domain", "language")]
    )


def _build_confidence(run: RunData) -> Iterator[Block]:
    calibration = call_tables.build_calibration_table(run)
    if calibration:
        yield calibration
        figures = tuple(
            Figure(
                format_name(name),
                "Share of exact matches by stated confidence.",
                ReliabilityChart(format_name(name), build_bins(system.calibration)),
                "Share of exact matches by stated confidence, with intervals, and the diagonal of "
                "perfect calibration. The table above has the numbers.",
            )
            for name, system in run.systems
            if system.calibration is not None and system.calibration.bins
        )
        if figures:
            yield Figures(figures, "small")
    risks = outcome_tables.build_field_risks_table(run)
    if risks:
        yield Fold(risks.title, (risks,))
    consistency = call_tables.build_consistency_table(run)
    if consistency:
        yield consistency


def _fold_tables(found: Iterable[Table | None]) -> Iterator[Block]:
    """Yields each table folded under its own title."""
    for table in found:
        if table is not None:
            yield Fold(table.title, (table,))


def _build_charts(
    run: RunData, build: _BuildFigure, title: str, size: _Size = "half", max_open: int = _MAX_OPEN
) -> Iterator[Block]:
    """Yields one chart per system; those after the first ``max_open`` are folded."""
    figures: list[Figure] = []
    for name, system in run.systems:
        figure = build(name, system)
        if figure is not None:
            full_title = f"{title}: {figure.title}" if len(run.systems) > 1 else title
            figures.append(replace(figure, title=full_title))
    if figures:
        yield Figures(tuple(figures[:max_open]), size)
    if figures[max_open:]:
        yield Fold(f"{title}: the other systems", (Figures(tuple(figures[max_open:]), size),))


def _build_scatters(run: RunData, build: _BuildScatter, title: str) -> Iterator[Block]:
    """Yields one scatter per system as ``_build_charts`` does."""
    return _build_charts(run, lambda name, _: build(name, run.summaries.get(name, ())), title)


def _build_provenance(run: RunData) -> tuple[Block, ...]:
    report = run.report
    intervals = (
        f"Intervals by {report.resamples:,} resamples of whole samples, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    manifests = (
        Fold(f"Manifest of {format_name(name)}", (Verbatim(text),)) for name, text in run.manifests
    )
    no_parquet = () if has_parquet() else (Paragraphs((NO_PARQUET,), "note"),)
    return (Paragraphs((intervals,), "note"), Verbatim(report.signature), *no_parquet, *manifests)
