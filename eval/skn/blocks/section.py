"""The section of a run of SKN against JSON, with its parts in reading order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eval.blocks.blocks import (
    Block,
    Definitions,
    Figures,
    Fold,
    Paragraphs,
    Part,
    Verbatim,
)
from eval.blocks.section import Section
from eval.blocks.text_format import describe_recordings
from eval.skn.blocks import charts, tables
from eval.skn.blocks.exports import SAMPLES, export_tables
from eval.skn.blocks.judge_tables import build_judge_blocks
from eval.skn.blocks.run_data import SknRun, read_run
from eval.skn.blocks.samples import build_samples
from eval.skn.blocks.summary import iter_caveats, summarise_run
from eval.skn.blocks.tables import list_headline_metrics
from eval.skn.blocks.texts import (
    CATEGORY_METRICS,
    DEFINITIONS,
    RETENTION_NOTICE,
    describe_metric,
)
from eval.skn.scoring.metric_definitions import NOT_JUDGED_NOTE
from kg.base.files import to_json_bytes
from kg.base.plain_text import format_count

TITLE = "Does it matter how knowledge is written down?"
_MAX_UNFOLDED_NOTES = 6


def build_section(folder: Path, id_: str) -> Section:
    """Builds the section of a finished run.

    Args:
        folder: folder of the run.
        id_: begins the ids of everything in the section.

    Raises:
        MissingFileError, RecordError, CardSetMismatchError: see ``read_run``.
    """
    run = read_run(folder)
    report, manifest = run.report, run.manifest
    return Section(
        id=id_,
        name="SKN against JSON",
        title=TITLE,
        about=f"SKN against JSON · {manifest.model or 'a model'} · sample set {report.samples}",
        verdict=summarise_run(run),
        caveats=tuple(iter_caveats(run)),
        notices=(
            *describe_recordings([manifest.model or "", manifest.judge_model or ""]),
            *(() if manifest.is_judged else (NOT_JUDGED_NOTE,)),
        ),
        stats=tuple(_build_stats(run)),
        parts=tuple(_build_parts(run)),
        overview=charts.build_outcome_figure(run),
        tables=export_tables(run),
        sources=run.files,
        data={"metrics": report, "manifest": manifest},
        version=report.version,
    )


def _build_stats(run: SknRun) -> Iterator[tuple[str, str]]:
    report = run.report
    outcomes = [pipeline.outcomes for pipeline in report.pipelines.values()]
    yield _split_count(report.n_samples, "question")
    yield f"{report.n_samples - report.n_answerable:,}", "have no answer"
    yield _split_count(len(run.pipelines), "pipeline")
    yield _split_count(sum(counts.rows for counts in outcomes), "row")
    yield f"{sum(counts.invalid + counts.error for counts in outcomes):,}", "without a usable reply"


def _split_count(count: int, noun: str) -> tuple[str, str]:
    value, _, words = format_count(count, noun).partition(" ")
    return value, words


def _build_parts(run: SknRun) -> Iterator[Part]:
    is_judged = run.manifest.is_judged
    yield Part("headline", "Headline", "Headline", tuple(_build_headline_blocks(run)))
    yield Part("charts", "Charts", "The headline metrics as charts", _build_chart_blocks(run))
    yield Part("pairs", "Pairs", "Pipeline against pipeline", tuple(_build_pair_blocks(run)))
    yield Part(
        "validity",
        "Validity",
        "Could the formats be parsed?",
        (Figures((charts.build_validity_figure(run),)), tables.build_validity_table(run)),
    )
    if any(pipeline.retention for pipeline in run.report.pipelines.values()):
        yield Part(
            "retention",
            "Retention",
            "What the formats retain of the text",
            (Paragraphs((RETENTION_NOTICE,)), tables.build_retention_table(run)),
        )
    if is_judged:
        yield Part("calibration", "Confidence", "Is it calibrated?", _build_calibration_blocks(run))
    yield Part(
        "abstention",
        "Abstention",
        "Does it abstain where there is no answer?",
        (tables.build_abstention_table(run),),
    )
    yield Part("effort", "Cost", "Tokens and time", (_build_effort_block(run),))
    blocks = tuple(_build_category_blocks(run))
    yield Part("categories", "Categories", "By category of question", blocks)
    if is_judged:
        yield Part("judges", "Judges", "Can the judges be trusted?", tuple(build_judge_blocks(run)))
    if run.report.notes:
        yield Part("limits", "Limits", "Limits of these numbers", _build_notes(run.report.notes))
    about_samples = (
        "The question, the right answer, the search results, and each pipeline's steps from "
        "extraction to verdict."
    )
    samples = build_samples(run, f"the CSV file of {SAMPLES} and rows.jsonl")
    yield Part("samples", "Samples", "Every sample", (Paragraphs((about_samples,)), samples))
    yield Part(
        "reading", "How to read this", "How to read this", (Definitions(_list_definitions(run)),)
    )
    yield Part("provenance", "Provenance", "Where the numbers come from", _build_provenance(run))


def _build_headline_blocks(run: SknRun) -> Iterator[Block]:
    yield tables.build_headline_table(run)
    if other_metrics := tables.build_other_metrics_table(run):
        yield Fold("All other metrics", (other_metrics,))


def _build_chart_blocks(run: SknRun) -> tuple[Block, ...]:
    text = (
        f"Dots are values, lines {run.report.confidence * 100:g} % intervals, grey bands the "
        "bounds that failed and unjudged rows could lead to. The table above has the numbers."
    )
    figures = tuple(charts.build_metric_figure(run, key) for key in list_headline_metrics(run))
    return Paragraphs((text,)), Figures(figures)


def _build_pair_blocks(run: SknRun) -> Iterator[Block]:
    if not run.report.comparisons:
        yield Paragraphs(("There is only one pipeline, so nothing to compare.",))
        return
    yield Paragraphs(
        (
            "Each pair answers one question, on the same samples. Dots are differences, full "
            "where they are significant, hollow where not; a true difference within the grey "
            "band may well be missed. p is adjusted by Holm over the pairs of each metric.",
        )
    )
    metrics = list(dict.fromkeys(pair.metric for pair in run.report.comparisons))
    plotted = [key for key in list_headline_metrics(run) if key in metrics]
    if plotted:
        yield Figures((charts.build_difference_figure(run, plotted[0]),), "wide")
        yield tables.build_pair_table(run, plotted[0])
    if plotted[1:]:
        figures = tuple(charts.build_difference_figure(run, key) for key in plotted[1:])
        pair_tables = tuple(tables.build_pair_table(run, key) for key in plotted[1:])
        yield Fold("The other headline metrics", (Figures(figures, "wide"), *pair_tables))
    others = [key for key in metrics if key not in plotted]
    if others:
        yield Fold("All other metrics", tuple(tables.build_pair_table(run, key) for key in others))


def _build_calibration_blocks(run: SknRun) -> tuple[Block, ...]:
    figures = tuple(charts.iter_calibration_figures(run))
    if not figures:
        text = "No judged answer states a confidence, so calibration cannot be measured."
        return (Paragraphs((text,)),)
    text = (
        "Of the answers with a confidence of 80 %, 80 % should be right. With few answers, chance "
        "alone moves the bins; so the table has the error expected of a calibrated system."
    )
    return Paragraphs((text,)), tables.build_calibration_table(run), Figures(figures, "small")


def _build_effort_block(run: SknRun) -> Block:
    table = tables.build_effort_table(run)
    return Paragraphs(("No server returned token counts.",)) if table is None else table


def _build_category_blocks(run: SknRun) -> Iterator[Block]:
    found = [table for key in CATEGORY_METRICS if (table := tables.build_category_table(run, key))]
    if not found:
        yield Paragraphs(("No category has a value.",))
        return
    yield found[0]
    if found[1:]:
        yield Fold("Other metrics by category", tuple(found[1:]))


def _build_notes(notes: tuple[str, ...]) -> tuple[Block, ...]:
    """Builds the list of notes, the most important first; a long list is folded."""
    first, rest = notes[:_MAX_UNFOLDED_NOTES], notes[_MAX_UNFOLDED_NOTES:]
    fold = Fold(f"{len(rest)} more", (Paragraphs(rest, "list"),))
    return Paragraphs(first, "list"), *((fold,) if rest else ())


def _list_definitions(run: SknRun) -> tuple[tuple[str, str], ...]:
    metrics = [describe_metric(key) for key in list_headline_metrics(run)]
    return (*DEFINITIONS, *((metric.full_name, metric.explanation) for metric in metrics))


def _build_provenance(run: SknRun) -> tuple[Block, ...]:
    report = run.report
    text = (
        f"Intervals by {report.resamples:,} resamples of whole samples, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    manifest = to_json_bytes(run.manifest, indent=2).decode("utf-8")
    return (
        Paragraphs((text,), "note"),
        Verbatim(report.signature),
        Fold("Run manifest", (Verbatim(manifest),)),
    )
