"""The section of a run of structured extraction: its parts, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from eval.extraction.record import SystemReport
from reporting.benchmark_sections.blocks import (
    Block,
    Figure,
    Figures,
    Fold,
    Grid,
    Part,
    Prose,
    Terms,
    Verbatim,
)
from reporting.benchmark_sections.drawings import reliability_drawing
from reporting.benchmark_sections.section import Section
from reporting.confidence_charts import build_reliability_diagram
from reporting.confidence_view import build_bins
from reporting.extraction_section import (
    advice,
    complexity_figures,
    error_figures,
    error_grids,
    grids,
    quality_figures,
    work_figures,
    work_grids,
)
from reporting.extraction_section.comparison_parts import comparison_parts
from reporting.extraction_section.opening_words import caveats, verdict
from reporting.extraction_section.reading_help import METHOD, TERMS
from reporting.extraction_section.samples_of_run import about_choice, samples_of_run
from reporting.extraction_section.shown import Shown
from reporting.extraction_section.tables import NO_PARQUET, SAMPLES, has_parquet, tables_of
from reporting.visible_text import format_name

TITLE = "How well do texts become data?"
OPEN_AT_MOST = 3
"""Systems whose own drawings stand open; those of more are folded."""

Drawn = Callable[[str, SystemReport, str], Figure | None]


def section_of_run(shown: Shown, id_: str) -> Section:
    """Everything a run has to show.

    Args:
        shown: a finished run.
        id_: begins the ids of everything in the section.
    """
    tables = tables_of(shown)
    first = shown.systems[0]
    parquet = {name: table.parquet() for name, table in tables.items()} if has_parquet() else {}
    return Section(
        id=id_,
        name="Extraction",
        title=TITLE,
        about=f"Structured extraction · {shown.dataset} · sample set {shown.report.samples}",
        verdict=verdict(shown),
        caveats=caveats(shown),
        notices=shown.notices,
        stats=tuple(_stats(shown)),
        parts=tuple(_parts(shown, id_)),
        overview=quality_figures.gauge_figure(first[0], first[1], f"{id_}-overview"),
        tables={name: table.csv() for name, table in tables.items()},
        parquet=parquet,
        made_from=shown.files,
        data={
            "metrics": shown.report,
            "comparison": shown.comparison,
            "facts": dict(shown.facts),
        },
        version=shown.report.version,
    )


def _stats(shown: Shown) -> Iterator[tuple[str, str]]:
    report = shown.report
    yield f"{report.n_samples:,}", "sample" if report.n_samples == 1 else "samples"
    yield f"{report.n_expected:,}", "expected fields"
    count = len(shown.systems)
    yield f"{count:,}", "systems" if count != 1 else "system"
    ended = [one.outcomes for _, one in shown.systems]
    yield f"{sum(one.rows for one in ended):,}", "fillings by rules" if shown.offline else "calls"
    yield f"{sum(one.error for one in ended):,}", "failed"
    yield f"{sum(one.invalid + one.unparsable for one in ended):,}", "invalid or no JSON"


def _parts(shown: Shown, id_: str) -> Iterator[Part]:
    yield Part("summary", "Summary", "Executive summary", tuple(_summary(shown, id_)))
    yield from comparison_parts(shown, id_)
    yield Part("method", "Method", "Methodology", tuple(_method(shown)))
    yield Part("metrics", "Metrics", "Primary metrics", tuple(_metrics(shown)))
    yield Part("accuracy", "Accuracy", "Accuracy in depth", tuple(_accuracy(shown, id_)))
    yield Part("performance", "Performance", "What the calls took", tuple(_work(shown, id_)))
    yield Part("errors", "Errors", "What goes wrong", tuple(_errors(shown, id_)))
    yield Part("complexity", "Complexity", "Hard and easy schemas", tuple(_complexity(shown, id_)))
    sure = tuple(_sure(shown, id_))
    if sure:
        yield Part("confidence", "Confidence", "Confidence and consistency", sure)
    samples = samples_of_run(shown, f"the file of {SAMPLES} and rows.jsonl")
    yield Part(
        "samples",
        "Samples",
        "Best, worst and odd samples, side by side",
        (Prose((about_choice(shown, samples),)), samples),
    )
    yield Part(
        "advice", "Recommendations", "Recommendations and next steps", advice.recommendations(shown)
    )
    notes = tuple(
        dict.fromkeys(
            (
                *shown.report.notes,
                *(f"{format_name(n)}: {note}" for n, one in shown.systems for note in one.notes),
            )
        )
    )
    if notes:
        yield Part("limits", "Limits", "What these numbers cannot say", (Prose(notes, "list"),))
    yield Part("reading", "How to read this", "How to read this", (Terms(TERMS),))
    yield Part("provenance", "Provenance", "Where the numbers come from", _provenance(shown))


def _summary(shown: Shown, id_: str) -> Iterator[Block]:
    facts = [f"Evaluated {shown.date} on {shown.dataset}, {shown.report.n_samples:,} samples."]
    yield Prose(tuple(facts), "note")
    yield grids.glance(shown)
    many = len(shown.systems) > OPEN_AT_MOST
    for name, one in shown.systems:
        points = _key_points(one)
        if many and points:
            said = f"{format_name(name)}: strengths and weaknesses"
            yield Fold(said, (Prose(points, "list"),))
        elif points:
            yield Prose((f"{format_name(name)}: {one.recommendation.verdict}.",))
            yield Prose(points, "list")
    if len(shown.systems) > 1:  # of a single one the opening shows it
        gauge = quality_figures.gauge_figure
        yield from _each(shown, id_, "gauge", gauge, "Extraction quality score")
    yield from _each(shown, id_, "radar", quality_figures.radar_figure, "The parts of the score")


def _key_points(one: SystemReport) -> tuple[str, ...]:
    found = one.recommendation
    return (
        *(f"✓ Strength: {text}." for text in found.strengths),
        *(f"✗ Weakness: {text}." for text in found.weaknesses),
    )


def _method(shown: Shown) -> Iterator[Block]:
    yield Prose(METHOD)
    yield Terms(shown.facts)


def _metrics(shown: Shown) -> Iterator[Block]:
    yield grids.headline(shown)
    yield grids.components(shown)
    other = grids.other_policy(shown)
    if other:
        yield other
    yield Fold("Every metric, by tier", (grids.every_metric(shown),))


def _accuracy(shown: Shown, id_: str) -> Iterator[Block]:
    yield Figures(
        (
            quality_figures.category_figure(shown, f"{id_}-categories"),
            quality_figures.mode_figure(shown, f"{id_}-modes"),
        )
    )
    both = quality_figures.precision_recall_figure(shown, f"{id_}-pr")
    if both:
        yield Figures((both,), "wide")
    yield grids.categories(shown)
    yield grids.modes(shown)
    yield from _each(
        shown,
        id_,
        "prs",
        lambda name, _, at: quality_figures.precision_recall_cloud(
            name, shown.points.get(name, ()), at
        ),
        "Precision and recall of every sample",
    )
    yield grids.distribution(shown)
    more: list[Grid | None] = [
        grids.similarities(shown),
        *(grids.breakdown(shown, one) for one in ("type", "depth", "required", "name")),
        *(grids.confusion(shown, name, one) for name, one in shown.systems),
        grids.categories(shown, "strict"),
        grids.categories(shown, "lenient"),
    ]
    yield from _folded(more)


def _folded(found: Iterable[Grid | None]) -> Iterator[Block]:
    """Tables that are opened when asked for, each under its own title."""
    for one in found:
        if one is not None:
            yield Fold(one.title, (one,))


def _work(shown: Shown, id_: str) -> Iterator[Block]:
    if shown.offline:
        yield Prose(("No model was called, so there is no call to time, to count or to pay.",))
    for grid in (work_grids.latency(shown), work_grids.compliance(shown), work_grids.work(shown)):
        if grid is not None:
            yield grid
    yield work_grids.reliability(shown)
    yield from _each(shown, id_, "latency", work_figures.latency_figure, "Latency")
    yield from _each(
        shown,
        id_,
        "la",
        lambda name, _, at: work_figures.latency_accuracy_figure(
            name, shown.points.get(name, ()), at
        ),
        "Latency against accuracy",
    )
    yield from _each(shown, id_, "rps", work_figures.throughput_figure, "Throughput over time")


def _errors(shown: Shown, id_: str) -> Iterator[Block]:
    drawn = error_figures.severity_figure(shown, f"{id_}-severity")
    if drawn:
        yield Figures((drawn,))
    yield error_grids.hallucinations(shown)
    trees = tuple(_drawn(shown, id_, "tree", error_figures.tree_figure, "Errors by kind"))
    if trees:
        yield Figures(trees[:OPEN_AT_MOST], "wide")
    if trees[OPEN_AT_MOST:]:
        yield Fold("Errors by kind: the other systems", (Figures(trees[OPEN_AT_MOST:], "wide"),))
    yield Fold("Errors by kind, in numbers", (error_grids.patterns(shown),))
    top = error_grids.top_errors(shown)
    if top:
        yield Fold(top.title, (top,))
    missed = error_figures.omission_figure(shown, f"{id_}-omissions")
    if missed:
        yield Figures((missed,), "wide")
    yield from _folded(
        [
            error_grids.omissions(shown, "name", "Field name"),
            error_grids.omissions(shown, "type", "Field type"),
            error_grids.omissions(shown, "depth", "Nesting depth"),
            error_grids.omissions(shown, "required", "Required or optional"),
        ]
    )


def _complexity(shown: Shown, id_: str) -> Iterator[Block]:
    yield from _each(
        shown,
        id_,
        "complexity",
        lambda name, _, at: complexity_figures.complexity_cloud(
            name, shown.points.get(name, ()), at
        ),
        "F1 against the complexity of the schema",
    )
    yield from _each(shown, id_, "bins", complexity_figures.bin_figure, "F1 by bin of complexity")
    bins = grids.breakdown(shown, "complexity")
    if bins:
        yield bins
    for kind, draw, title in (
        ("corr", complexity_figures.correlation_figure, "Metrics against schemas"),
        ("among", complexity_figures.metrics_figure, "Metrics against each other"),
    ):
        found = tuple(_drawn(shown, id_, kind, draw, title))
        if found:
            yield Figures(found[:1], "wide")
        if found[1:]:
            yield Fold(f"{title}: the other systems", (Figures(found[1:], "wide"),))
    yield from _folded([grids.breakdown(shown, "domain"), grids.breakdown(shown, "language")])


def _sure(shown: Shown, id_: str) -> Iterator[Block]:
    grid = work_grids.calibration(shown)
    if grid:
        yield grid
        figures = tuple(
            Figure(
                format_name(name),
                "Share of exact matches by stated confidence.",
                reliability_drawing(
                    build_reliability_diagram(build_bins(one.calibration)),
                    f"{id_}-sure-{at}",
                    format_name(name),
                ),
            )
            for at, (name, one) in enumerate(shown.systems, start=1)
            if one.calibration is not None and one.calibration.bins
        )
        if figures:
            yield Figures(figures, "small")
    repeated = work_grids.consistency(shown)
    if repeated:
        yield repeated


def _each(shown: Shown, id_: str, kind: str, draw: Drawn, title: str) -> Iterator[Block]:
    """One drawing a system, side by side; of many systems the rest is folded."""
    found = tuple(_drawn(shown, id_, kind, draw, title))
    size: Literal["small", "half"] = "small" if kind in ("gauge", "bins") else "half"
    if found:
        yield Figures(found[:OPEN_AT_MOST], size)
    if found[OPEN_AT_MOST:]:
        yield Fold(f"{title}: the other systems", (Figures(found[OPEN_AT_MOST:], size),))


def _drawn(shown: Shown, id_: str, kind: str, draw: Drawn, title: str) -> Iterator[Figure]:
    """The drawing of each system that has one, under its title and, of several, the name."""
    for at, (name, one) in enumerate(shown.systems, start=1):
        figure = draw(name, one, f"{id_}-{kind}-{at}")
        if figure is not None:
            said = f"{title}: {figure.title}" if len(shown.systems) > 1 else title
            yield replace(figure, title=said)


def _provenance(shown: Shown) -> tuple[Block, ...]:
    report = shown.report
    said = (
        f"Intervals by {report.resamples:,} resamples of whole samples, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    folded = tuple(
        Fold(f"Manifest of {format_name(name)}", (Verbatim(text),))
        for name, text in shown.manifests
    )
    more = () if has_parquet() else (Prose((NO_PARQUET,), "note"),)
    return (Prose((said,), "note"), Verbatim(report.signature), *more, *folded)
