"""The section of a run of SKN against JSON: its parts, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator

from eval.skn.scoring.metric_definitions import VALIDITIES
from kg.base.files import to_json_bytes
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
from reporting.benchmark_sections.drawings import (
    dots_drawing,
    forest_drawing,
    reliability_drawing,
    stack_drawing,
)
from reporting.benchmark_sections.section import Section
from reporting.charts import build_dot_panel, build_stack, to_chart_estimate
from reporting.comparison_text import (
    describe_calibration,
    summarise_findings,
    to_plotted_difference,
)
from reporting.confidence_charts import build_reliability_diagram
from reporting.confidence_view import build_bins
from reporting.forest_plot import build_forest_plot
from reporting.skn_section import grids
from reporting.skn_section.csv_tables import SAMPLES, csv_tables
from reporting.skn_section.judging import judging
from reporting.skn_section.metric_names import (
    BY_CATEGORY,
    HEADLINE,
    OFFLINE,
    RETENTION,
    TERMS,
    words,
)
from reporting.skn_section.reading import SknRun
from reporting.skn_section.samples_of_run import MARKS, mark_counts, samples_of_run
from reporting.skn_section.verdict_words import caveats, verdict
from reporting.visible_text import format_name

TITLE = "Does it matter how knowledge is written down?"
_NOTES_SHOWN = 6
_VALIDITY_MARKS = {
    "strict": ("right", "✓"),
    "tolerant": ("none", "~"),
    "repaired": ("held", "○"),
    "unreadable": ("wrong", "✗"),
}


def section_of_run(run: SknRun, id_: str) -> Section:
    """Everything a run has to show.

    Args:
        run: a finished run.
        id_: begins the ids of everything in the section.
    """
    report, manifest = run.report, run.manifest
    who = "rules, no model" if manifest.offline else (manifest.model or "a model")
    return Section(
        id=id_,
        name="SKN against JSON",
        title=TITLE,
        about=f"SKN against JSON · {who} · sample set {report.samples}",
        verdict=verdict(run),
        caveats=caveats(run),
        notices=(OFFLINE,) if manifest.offline else (),
        stats=tuple(_stats(run)),
        parts=tuple(_parts(run, id_)),
        overview=_outcomes(run, id_),
        tables=csv_tables(run),
        made_from=run.files,
        data={"metrics": report, "manifest": manifest},
        version=report.version,
    )


def _stats(run: SknRun) -> Iterator[tuple[str, str]]:
    report = run.report
    yield f"{report.n_samples:,}", "question" if report.n_samples == 1 else "questions"
    yield f"{report.n_samples - report.n_answerable:,}", "have no answer"
    yield f"{len(run.pipelines):,}", "pipelines" if len(run.pipelines) != 1 else "pipeline"
    rows = sum(one.outcomes.rows for one in report.pipelines.values())
    failed = sum(one.outcomes.invalid + one.outcomes.error for one in report.pipelines.values())
    yield f"{rows:,}", "rows" if rows != 1 else "row"
    yield f"{failed:,}", "without a usable reply"


def _parts(run: SknRun, id_: str) -> Iterator[Part]:
    more = grids.further(run)
    yield Part(
        "headline",
        "Headline",
        "Headline",
        (
            grids.headline(run),
            *((Fold("All other metrics", (more,)),) if more else ()),
        ),
    )
    yield Part("charts", "Charts", "One number, one reading each", (*_panels(run, id_),))
    yield Part("pairs", "Pairs", "Pipeline against pipeline", tuple(_pairs(run, id_)))
    yield Part("validity", "Validity", "Could the formats be read?", tuple(_validity(run, id_)))
    if any(one.retention for one in run.report.pipelines.values()):
        yield Part(
            "retention",
            "Retention",
            "What the formats keep and drop",
            (Prose((RETENTION,)), grids.retention(run)),
        )
    yield Part("calibration", "Confidence", "Is confidence worth its name?", _sure(run, id_))
    yield Part(
        "abstention",
        "Abstention",
        "Does it abstain where there is no answer?",
        (grids.abstention(run),),
    )
    yield Part("effort", "Cost", "What it took", _effort(run))
    yield Part("categories", "Categories", "By category of question", tuple(_categories(run)))
    yield Part("judges", "Judges", "Can the judges be trusted?", judging(run))
    if run.report.notes:
        yield Part(
            "limits",
            "Limits",
            "What these numbers cannot say",
            _limits(run.report.notes),
        )
    yield Part(
        "samples",
        "Samples",
        "Every sample",
        (
            Prose(
                (
                    "What was asked, what is true, what the search found, and each pipeline's "
                    "way from extraction to verdict.",
                )
            ),
            samples_of_run(run, f"the CSV file of {SAMPLES} and rows.jsonl"),
        ),
    )
    yield Part("reading", "How to read this", "How to read this", (Terms(_terms()),))
    yield Part("provenance", "Provenance", "Where the numbers come from", _provenance(run))


def _outcomes(run: SknRun, id_: str) -> Figure:
    entries = []
    for name in run.pipelines:
        found = mark_counts(run, name)
        parts = [(m.look, m.symbol, m.words, float(found[m.key])) for m in MARKS if found[m.key]]
        entries.append((format_name(name), False, parts))
    return Figure(
        "What all rows amount to",
        "✓ right, or rightly abstained; ○ held back; ✗ wrong, or answered though there is no "
        "answer; ! no usable reply or no verdict.",
        stack_drawing(
            build_stack(entries),
            f"{id_}-outcomes",
            "What all rows amount to",
            "One bar a pipeline: shares of its rows. The counts stand in the tables below.",
        ),
    )


def _panels(run: SknRun, id_: str) -> tuple[Block, ...]:
    figures = []
    for number, key in enumerate(HEADLINE, start=1):
        entries = [
            (format_name(name), False, to_chart_estimate(one.metrics.get(key)))
            for name, one in run.report.pipelines.items()
        ]
        named = words(key)
        way = grids.DIRECTIONS[grids.head_direction(run, key)]
        figures.append(
            Figure(
                f"{named.full_name}, {way}",
                named.explanation,
                dots_drawing(
                    build_dot_panel(entries),
                    f"{id_}-dots-{number}",
                    named.full_name,
                    f"Value and interval of each pipeline; {way}.",
                ),
            )
        )
    said = (
        f"Dots are values, lines {run.report.confidence * 100:g} % intervals, grey bands what "
        "failed and unjudged rows could change. The same numbers stand in the table above."
    )
    return Prose((said,)), Figures(tuple(figures))


def _pairs(run: SknRun, id_: str) -> Iterator[Block]:
    if not run.report.comparisons:
        yield Prose(("There is only one pipeline, so nothing to compare.",))
        return
    yield Prose(
        (
            "Each pair answers one question, on the same samples. Dots are differences, full "
            "where the data tell, hollow where they cannot; a true difference within the grey "
            "band may well be missed. p is adjusted by Holm over the pairs of each metric.",
        )
    )
    metrics = list(dict.fromkeys(one.metric for one in run.report.comparisons))
    drawn = [key for key in HEADLINE if key in metrics]
    if drawn:
        yield Figures((_forest(run, id_, drawn[0]),), "wide")
        yield _pair_grid(run, drawn[0])
    if drawn[1:]:
        figures = tuple(_forest(run, id_, key) for key in drawn[1:])
        tables = tuple(_pair_grid(run, key) for key in drawn[1:])
        yield Fold("The other headline metrics", (Figures(figures, "wide"), *tables))
    rest = [key for key in metrics if key not in drawn]
    if rest:
        yield Fold("All further metrics", tuple(_pair_grid(run, key) for key in rest))


def _pair_grid(run: SknRun, key: str) -> Grid:
    return grids.pairs(run, key, [one for one in run.report.comparisons if one.metric == key])


def _forest(run: SknRun, id_: str, key: str) -> Figure:
    found = [one for one in run.report.comparisons if one.metric == key]
    named = words(key)
    higher = grids.head_direction(run, key)
    plot = build_forest_plot(
        [to_plotted_difference(one) for one in found],
        higher_is_better=higher,
    )
    return Figure(
        named.full_name,
        f"{summarise_findings(found, higher)} {named.explanation}",
        forest_drawing(
            plot,
            f"{id_}-forest-{key}",
            f"{named.full_name}: paired differences",
            "One line a pair: the first pipeline's value less the second's, with its interval, "
            "about a line at zero. The numbers stand in a table below.",
        ),
    )


def _validity(run: SknRun, id_: str) -> Iterator[Block]:
    entries = []
    for name, one in run.report.pipelines.items():
        parts = [
            (
                *_VALIDITY_MARKS[key],
                f"read {grids.VALIDITY_WORDS[key]}",
                float(one.validity[key].numerator or 0),
            )
            for key in VALIDITIES
            if key in one.validity
        ]
        entries.append((format_name(name), False, [part for part in parts if part[3]]))
    yield Figures(
        (
            Figure(
                "How extractions were read",
                "✓ as they stand; ~ once what stood around was taken off; ○ after one further "
                "turn; ✗ not at all.",
                stack_drawing(
                    build_stack(entries),
                    f"{id_}-validity-bars",
                    "How extractions were read",
                    "One bar a pipeline: shares of its extractions. The numbers stand below.",
                ),
            ),
        ),
    )
    yield grids.validity(run)


def _sure(run: SknRun, id_: str) -> tuple[Block, ...]:
    figures = []
    for number, (name, one) in enumerate(run.report.pipelines.items(), start=1):
        found = one.calibration
        if found is None or not found.bins:
            continue
        said = describe_calibration(found.confidence, found.accuracy, found.ece_expected.p)
        off = said.startswith(("over", "under", "off"))
        figures.append(
            Figure(
                format_name(name),
                said[0].upper() + said[1:] if off else f"Calibration error {said}.",
                reliability_drawing(
                    build_reliability_diagram(build_bins(found)),
                    f"{id_}-sure-{number}",
                    format_name(name),
                ),
                finding=off,
            )
        )
    if not figures:
        return (Prose(("No judged answer states a confidence, so calibration cannot be judged.",)),)
    said = (
        "Of the answers it is 80 % sure of, 80 % should be right. With few answers chance alone "
        "moves the bins; so beside each error stands what a calibrated system would show."
    )
    return Prose((said,)), grids.calibration(run), Figures(tuple(figures), "small")


def _effort(run: SknRun) -> tuple[Block, ...]:
    grid = grids.effort(run)
    if run.manifest.offline:
        said = "No model was called, so there are no tokens to count and no replies to wait for."
        return Prose((said,)), *((grid,) if len(grid.heads) > 1 else ())
    if len(grid.heads) == 1:
        return (Prose(("No server said what the calls took.",)),)
    return (grid,)


def _categories(run: SknRun) -> Iterator[Block]:
    found = [grid for key in BY_CATEGORY if (grid := grids.categories(run, key))]
    if not found:
        yield Prose(("No category has a number to show.",))
        return
    yield found[0]
    if found[1:]:
        yield Fold("Other metrics by category", tuple(found[1:]))


def _limits(notes: tuple[str, ...]) -> tuple[Block, ...]:
    """The notes, the first of which matter most; a long list is folded."""
    first, rest = notes[:_NOTES_SHOWN], notes[_NOTES_SHOWN:]
    more = Fold(f"{len(rest)} more", (Prose(rest, "list"),))
    return Prose(first, "list"), *((more,) if rest else ())


def _terms() -> tuple[tuple[str, str], ...]:
    named = [words(key) for key in HEADLINE]
    return (*TERMS, *((one.full_name, one.explanation) for one in named))


def _provenance(run: SknRun) -> tuple[Block, ...]:
    report = run.report
    said = (
        f"Intervals by {report.resamples:,} resamples of whole samples, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    manifest = to_json_bytes(run.manifest, indent=2).decode("utf-8")
    return (
        Prose((said,), "note"),
        Verbatim(report.signature),
        Fold("Run manifest", (Verbatim(manifest),)),
    )
