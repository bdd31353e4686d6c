"""The drawings of the section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.synthlink.metrics import Mode
from eval.synthlink.record import ModeScores, QuestionComparison
from reporting.benchmark_sections.blocks import Figure
from reporting.benchmark_sections.drawings import dots_drawing, forest_drawing, stack_drawing
from reporting.charts import ChartEstimate, build_dot_panel, build_stack, format_number
from reporting.comparison_text import is_significant, to_plotted_difference
from reporting.forest_plot import build_forest_plot
from reporting.plots.axes import Plane, share_axis
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.picture import (
    Group,
    Picture,
    circle,
    drawing,
    group,
    line,
    path,
    rect,
    text,
    track,
)
from reporting.synthlink_section.grids import shown_value
from reporting.synthlink_section.losing import (
    first_correct,
    parts_of_score,
    steps_by_place,
    verdict_counts,
)
from reporting.synthlink_section.measure_words import MEASURES, MODES, PARTS, VERDICTS
from reporting.synthlink_section.reading import ScoredFolder
from reporting.synthlink_section.samples_of_folder import MARKS, mark_counts
from reporting.visible_text import format_name, shorten_text

_WIDTH = 420.0
_STRIP = 18.0
_ROW = 70.0
_NAME_LETTERS = 24


def strips_figure(folder: ScoredFolder, id_: str) -> Figure:
    """The score of each mode as a strip: a field for each part, as wide as its weight."""
    groups: list[Group] = []
    told = []
    for at, mode in enumerate(folder.modes):
        scores = folder.report.modes[mode]
        total = scores.overall.measures.get("aggregate")
        value = format_number(total.value if total else None)
        groups += _strip(folder, mode, at * _ROW, value)
        told.append(f"{mode} {value}")
    title = "What the score is made of"
    return Figure(
        title,
        "Each field is as wide as its weight and filled as far as the measure goes; what stays "
        "empty is lost.",
        drawing(
            Picture(_WIDTH, len(folder.modes) * _ROW - 10, tuple(groups), "strips"),
            f"{id_}-strips",
            title,
            f"A strip a mode: {', '.join(told)}. The numbers stand in the tables below.",
        ),
    )


def _strip(folder: ScoredFolder, mode: Mode, top: float, value: str) -> list[Group]:
    heads = group(
        text(0, top + 13, mode, "title"),
        text(_WIDTH, top + 13, value, "value", "end"),
        title=f"{mode}, {MODES[mode]}: {value}",
    )
    drawn = [heads]
    x = 0.0
    for part in parts_of_score(folder.report.modes[mode], folder.report.weights):
        wide = _WIDTH * part.weight
        share = min(max(part.share, 0.0), 1.0)
        named = MEASURES[part.measure]
        drawn.append(
            group(
                rect(x + 1, top + 20, wide - 2, _STRIP, "worst", 2),
                rect(x + 1, top + 20, (wide - 2) * share, _STRIP, "bar-fill", 2),
                text(x + wide / 2, top + 20 + _STRIP + 13, named.short_name, "hint", "middle"),
                title=f"{named.full_name}: {format_number(share)}, adds "
                f"{format_number(part.gained)} of {format_number(part.weight)}",
            )
        )
        x += wide
    return drawn


def measure_figures(folder: ScoredFolder, id_: str) -> tuple[Figure, ...]:
    """A panel for the score and each of its parts, with every mode in it."""
    figures = []
    for at, key in enumerate(("aggregate", *PARTS), start=1):
        named = MEASURES[key]
        entries = []
        for mode in folder.modes:
            found = folder.report.modes[mode].overall.measures.get(key)
            entries.append((mode, False, shown_value(found)))
        if all(estimate.value is None for _, _, estimate in entries):
            continue
        figures.append(
            Figure(
                named.full_name,
                named.explanation,
                dots_drawing(
                    build_dot_panel(entries),
                    f"{id_}-dots-{at}",
                    named.full_name,
                    "Value and interval in each mode; higher is better.",
                ),
            )
        )
    return tuple(figures)


def steps_figure(folder: ScoredFolder, scores: ModeScores, id_: str) -> Figure | None:
    """How often first steps, second steps and so on are taken."""
    found = steps_by_place(scores, folder.answers)
    if not found:
        return None
    rows = [
        BarRow(
            f"step {one.number}",
            one.share(folder.report.confidence),
            told=f"step {one.number}: {one.taken:,} of {one.asked:,} taken",
        )
        for one in found
    ]
    title = "Where chains break"
    return Figure(
        title,
        "Share of questions whose first step, second step and so on is taken.",
        drawing(
            bar_groups([("", rows)]),
            f"{id_}-steps",
            title,
            "One bar a place in the chain. The numbers stand in a table below.",
        ),
    )


def marks_figure(folder: ScoredFolder, id_: str) -> Figure:
    """What the answers amount to, over all questions and by category."""
    groups = [("all", None), *((key, key) for key in folder.headline.categories)]
    entries = []
    for name, only in groups:
        found = mark_counts(folder, only)
        parts = [(m.look, m.symbol, m.words, float(found[m.key])) for m in MARKS if found[m.key]]
        entries.append((name, False, parts))
    title = "What the answers amount to"
    return Figure(
        title,
        "✓ correct by its F1; ~ not correct, but takes a step, or the catalogue states none; "
        "✗ takes none; ○ abstained; ! no usable row.",
        stack_drawing(
            build_stack(entries),
            f"{id_}-marks",
            title,
            "One bar a category: shares of its questions. Every question stands in a table below.",
        ),
    )


def claims_figure(scores: ModeScores, id_: str) -> Figure:
    """What claims came to, over all questions and by category."""
    looks = {"licensed": "right", "contradicted": "wrong", "unknown": "none"}
    entries = []
    for name, only in [("all", None), *((key, key) for key in scores.categories)]:
        found = verdict_counts(scores, only)
        parts = [
            (looks[verdict], *VERDICTS[verdict], float(count))
            for verdict, count in found.items()
            if count
        ]
        if parts:
            entries.append((name, False, parts))
    title = "What claims came to"
    return Figure(
        title,
        "✓ borne out; ✗ contradicted; ? cannot be told.",
        stack_drawing(
            build_stack(entries),
            f"{id_}-claims",
            title,
            "One bar a category: shares of its claims. The counts stand in the table below.",
        ),
    )


def first_correct_figure(folder: ScoredFolder, mode: Mode, id_: str) -> Figure:
    """In which round answers are first correct."""
    found = first_correct(folder, mode)
    n = len(folder.answers)
    rows = [
        BarRow(name, ChartEstimate(count / n), told=f"{name}: {count:,} of {n:,} questions")
        for name, count in found.items()
    ]
    title = "First correct"
    return Figure(
        title,
        f"Share of questions by the round whose answer first has F1 {folder.correct_from(mode):g} "
        "or more.",
        drawing(
            bar_groups([("", rows)]),
            f"{id_}-first",
            title,
            "One bar a round: " + ", ".join(f"{name} {count:,}" for name, count in found.items()),
        ),
    )


def sweep_figure(folder: ScoredFolder, scores: ModeScores, id_: str) -> Figure | None:
    """Speed as a curve over the F1 from which an answer is correct."""
    if not scores.sweep:
        return None
    plane = Plane(40.0, 388.0, 30.0, 196.0, share_axis("correct from F1"), share_axis("IE"))
    places = [(plane.across(one.correct), plane.up(one.ie)) for one in scores.sweep]
    chosen = folder.report.thresholds.correct
    here = plane.across(chosen)
    groups = [plane.grid(), group(line(here, 30, here, 196, "mark"), title=f"chosen: {chosen:g}")]
    if len(places) > 1:
        groups.append(group(path(track(places), "curve")))
    groups += [
        group(
            circle(x, y, 3.5, "dot"), title=f"from F1 {one.correct:g}: IE {format_number(one.ie)}"
        )
        for one, (x, y) in zip(scores.sweep, places, strict=True)
    ]
    ends = [format_number(one.ie) for one in (scores.sweep[0], scores.sweep[-1])]
    title = "Speed by what counts as correct"
    return Figure(
        title,
        "IE where another F1 makes an answer correct; the dashed line is what the score takes.",
        drawing(
            Picture(400.0, 236.0, tuple(groups), "timeline histogram"),
            f"{id_}-sweep",
            title,
            f"A curve that goes from {ends[0]} to {ends[1]}. Its numbers stand in the table.",
        ),
    )


def forest_figure(folder: ScoredFolder, at: int, mode: Mode, id_: str) -> Figure | None:
    """This file less one that it is compared with, measure by measure, over the catalogue."""
    compared = folder.scored.comparisons[at]
    by_measure = {
        one.metric: one
        for one in compared.differences
        if (one.mode, one.group) == (mode, "all") and one.difference is not None
    }
    keys = [key for key in MEASURES if key in by_measure]
    if not keys:
        return None
    lines = [
        replace(to_plotted_difference(by_measure[key]), first=MEASURES[key].full_name, second="")
        for key in keys
    ]
    mine, other = (
        shorten_text(format_name(name), _NAME_LETTERS)
        for name in (folder.scored.name, compared.name)
    )
    plot = replace(
        # What stands against whom is the same in every row, so that only measures are named.
        build_forest_plot(lines, reference=other, higher_is_better=True),
        negative_side=f"← {other} is better",
        positive_side=f"{mine} is better →",
    )
    title = f"{mine} against {other}, {mode}"
    return Figure(
        title,
        _told([by_measure[key] for key in keys]),
        forest_drawing(
            plot,
            f"{id_}-forest-{at + 1}-{mode}",
            title,
            "One line a measure: the first file's mean less the second's, with its interval, "
            "about a line at zero. The numbers stand in a table below.",
        ),
    )


def _told(found: Sequence[QuestionComparison]) -> str:
    """On how many measures the data tell two files apart."""
    told = sum(map(is_significant, found))
    if not told:
        return "The data tell the two files apart on no measure."
    return f"The data tell the two files apart on {told} of {len(found)} measures."
