"""Builds the charts of the section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.blocks.axis_charts import LineChart, make_share_axis
from eval.blocks.blocks import Figure
from eval.blocks.charts import (
    Bar,
    BarChart,
    BarGroup,
    DotChart,
    ForestChart,
    NamedEstimate,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
    Strip,
    StripChart,
    StripField,
)
from eval.blocks.comparison_text import is_significant, to_plotted_difference
from eval.blocks.text_format import ChartEstimate, format_name, format_number, shorten_text
from eval.synthlink.blocks.losses import (
    first_correct,
    parts_of_score,
    verdict_counts,
)
from eval.synthlink.blocks.metric_texts import MEASURES, MODES, PARTS, VERDICTS
from eval.synthlink.blocks.samples import MARKS, mark_counts
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.blocks.tables import shown_value
from eval.synthlink.metrics import Mode
from eval.synthlink.scoring.record import ModeScores, QuestionComparison

_MAX_NAME_LENGTH = 24


def build_strip_figure(folder: ScoredFolder) -> Figure | None:
    """Builds the score of each mode as a strip: a field for each part, as wide as its weight.

    Modes without a score are left out; None if there is no other.
    """
    strips = tuple(strip for mode in folder.modes if (strip := _build_strip(folder, mode)).fields)
    if not strips:
        return None
    scores = ", ".join(f"{strip.name} {strip.value}" for strip in strips)
    return Figure(
        "What the score is made of",
        "Each field is as wide as its weight, and filled in proportion to the measure.",
        StripChart(strips),
        f"One strip per mode: {scores}. The tables below have the numbers.",
    )


def _build_strip(folder: ScoredFolder, mode: Mode) -> Strip:
    scores = folder.report.modes[mode]
    total = scores.overall.measures.get("aggregate")
    value = format_number(total.value if total else None)
    fields = []
    for part in parts_of_score(scores, folder.report.weights):
        share = min(max(part.share, 0.0), 1.0)
        metric = MEASURES[part.measure]
        text = (
            f"{metric.full_name}: {format_number(share)}, adds {format_number(part.gained)} of "
            f"{format_number(part.weight)}"
        )
        fields.append(StripField(metric.short_name, part.weight, share, text))
    return Strip(mode, value, f"{mode}, {MODES[mode]}: {value}", tuple(fields))


def build_metric_figures(folder: ScoredFolder) -> tuple[Figure, ...]:
    """Builds a chart for the score and each of its parts, with every mode in it."""
    figures = []
    for key in ("aggregate", *PARTS):
        metric = MEASURES[key]
        rows = tuple(
            NamedEstimate(
                mode, False, shown_value(folder.report.modes[mode].overall.measures.get(key))
            )
            for mode in folder.modes
        )
        if any(row.estimate.value is not None for row in rows):
            alt = "Value and interval in each mode; higher is better."
            figures.append(Figure(metric.full_name, metric.explanation, DotChart(rows), alt))
    return tuple(figures)


def build_mark_figure(folder: ScoredFolder) -> Figure:
    """Builds the outcomes of the answers, over all questions and by category."""
    groups = [("all", None), *((key, key) for key in folder.headline.categories)]
    rows = []
    for name, category in groups:
        counts = mark_counts(folder, category)
        parts = tuple(
            OutcomeCount(mark.look, mark.symbol, mark.words, float(counts[mark.key]))
            for mark in MARKS
            if counts[mark.key]
        )
        rows.append(OutcomeRow(name, False, parts))
    return Figure(
        "Outcomes of the answers",
        "✓ correct by its F1; ~ unjudged, or not correct, but takes a step, or its steps are not "
        "judged; ✗ takes none; ○ abstained; ! no usable row.",
        OutcomeBars(tuple(rows)),
        "One bar per category: shares of its questions. A table below has every question.",
    )


def build_claim_figure(scores: ModeScores) -> Figure:
    """Builds the verdicts on claims, over all questions and by category."""
    looks = {"supported": "right", "contradicted": "wrong", "not_found": "held", "unjudged": "none"}
    rows = []
    for name, category in [("all", None), *((key, key) for key in scores.categories)]:
        parts = tuple(
            OutcomeCount(looks[verdict], *VERDICTS[verdict], float(count))
            for verdict, count in verdict_counts(scores, category).items()
            if count
        )
        if parts:
            rows.append(OutcomeRow(name, False, parts))
    return Figure(
        "Verdicts on claims",
        "✓ supported; ✗ contradicted; ? not found; ! unjudged.",
        OutcomeBars(tuple(rows)),
        "One bar per category: shares of its claims. The table below has the counts.",
    )


def build_first_correct_figure(folder: ScoredFolder, mode: Mode) -> Figure:
    """Builds the shares of questions by the round in which the answer is first correct."""
    counts = first_correct(folder, mode)
    n = len(folder.answers)
    bars = tuple(
        Bar(name, ChartEstimate(count / n), text=f"{name}: {count:,} of {n:,} questions")
        for name, count in counts.items()
    )
    return Figure(
        "First correct",
        f"Share of questions by the round whose answer first has F1 {folder.correct_from(mode):g} "
        "or more.",
        BarChart((BarGroup("", bars),)),
        "One bar per round: " + ", ".join(f"{name} {count:,}" for name, count in counts.items()),
    )


def build_sweep_figure(folder: ScoredFolder, scores: ModeScores) -> Figure | None:
    """Builds speed as a curve over the F1 from which an answer counts as correct."""
    points = [(point.correct, point.ie) for point in scores.sweep if point.ie is not None]
    if not points:
        return None
    chosen = folder.report.thresholds.correct
    ends = [format_number(ie) for _, ie in (points[0], points[-1])]
    chart = LineChart(
        tuple(points),
        make_share_axis("correct from F1"),
        make_share_axis("IE"),
        tuple(f"from F1 {correct:g}: IE {format_number(ie)}" for correct, ie in points),
        (chosen, f"chosen: {chosen:g}"),
    )
    return Figure(
        "Speed by what counts as correct",
        "IE where another F1 makes an answer correct; the dashed line is the one of the score.",
        chart,
        f"A curve from {ends[0]} to {ends[1]}. The table has its numbers.",
    )


def build_forest_figure(folder: ScoredFolder, at: int, mode: Mode) -> Figure | None:
    """Builds the differences between this file and another one, per metric, over the catalogue."""
    compared = folder.scored.comparisons[at]
    by_metric = {
        difference.metric: difference
        for difference in compared.differences
        if (difference.mode, difference.group) == (mode, "all")
        and difference.difference is not None
    }
    keys = [key for key in MEASURES if key in by_metric]
    if not keys:
        return None
    # The two files are the same in every row, so that only the metrics are named.
    rows = tuple(
        replace(to_plotted_difference(by_metric[key]), first=MEASURES[key].full_name, second="")
        for key in keys
    )
    candidate, baseline = (
        shorten_text(format_name(name), _MAX_NAME_LENGTH)
        for name in (folder.scored.name, compared.name)
    )
    sides = (f"← {baseline} is better", f"{candidate} is better →")
    return Figure(
        f"{candidate} against {baseline}, {mode}",
        _summarise_differences([by_metric[key] for key in keys]),
        ForestChart(rows, baseline, higher_is_better=True, sides=sides),
        "One row per metric: the first file's mean − the second's, with its interval, about a "
        "line at zero. A table below has the numbers.",
    )


def _summarise_differences(differences: Sequence[QuestionComparison]) -> str:
    n_significant = sum(map(is_significant, differences))
    if not n_significant:
        return "The two files differ significantly on no metric."
    return f"The two files differ significantly on {n_significant} of {len(differences)} metrics."
