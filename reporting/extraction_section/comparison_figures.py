"""Figures of several systems: grouped bars, frontiers, win rates, paired differences."""

from __future__ import annotations

from collections.abc import Sequence

from eval.extraction.comparison_record import ExtractionComparison, SampleComparison
from eval.extraction.record import Estimate
from kg.words.plain_text import join_list
from reporting.benchmark_sections.blocks import Figure
from reporting.benchmark_sections.drawings import forest_drawing
from reporting.charts import format_number, format_percent, to_chart_estimate
from reporting.comparison_text import summarise_findings, to_plotted_difference
from reporting.extraction_section.comparison_words import LOWER, best_of, metric_title, wins_of
from reporting.extraction_section.metric_words import unit, value_text, words
from reporting.extraction_section.shown import Shown
from reporting.forest_plot import build_forest_plot
from reporting.plots.axes import amount_axis, share_axis
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.heat import HeatCell, heat_map
from reporting.plots.named_points import NamedPoint, named_points
from reporting.plots.picture import drawing
from reporting.visible_text import format_name

BARS = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "field_f1_strict"),
    *("exact_match", "type_accuracy", "hallucination_rate", "omission_rate"),
)
"""Key metrics of the grouped bars, all shares."""
FRONTIERS = {
    "accuracy_vs_latency": ("latency_p95_s", "Score against latency", "p95 latency, s"),
    "accuracy_vs_cost": ("cost_usd_per_sample", "Score against cost", "dollars a thousand samples"),
}


def bars_figure(shown: Shown, compared: ExtractionComparison, id_: str) -> Figure:
    """Key metrics side by side; ★ where tests show a system to beat every other."""
    groups = []
    for key in BARS:
        best = best_of(compared, key, len(shown.systems))
        down = " ↓" if key in ("hallucination_rate", "omission_rate") else ""
        rows = [_bar(name, one.metrics[key], key, best) for name, one in shown.systems]
        groups.append((f"{words(key).full_name}{down}", rows))
    return Figure(
        "Key metrics",
        "★ better than every other system by paired tests; ↓ lower is better. Lines are intervals.",
        drawing(
            bar_groups(groups),
            id_,
            "Key metrics of every system",
            "Bars from 0 to 1 with intervals, one group a metric. The numbers stand in the tables "
            "of metrics.",
        ),
    )


def _bar(name: str, value: Estimate, key: str, best: str | None) -> BarRow:
    said = f"{format_name(name)}: {value_text(key, value.value)}"
    star = "★" if name == best else ""
    told = f"{said}, better than every other system" if star else said
    return BarRow(format_name(name), to_chart_estimate(value), star, told)


def frontier_figure(
    shown: Shown, compared: ExtractionComparison, key: str, id_: str
) -> Figure | None:
    """The score against a cost; none where fewer than two systems have both."""
    metric, title, axis_words = FRONTIERS[key]
    on = set(compared.frontiers.get(key, ()))
    factor = 1000.0 if unit(metric) == "dollars" else 1.0
    points = []
    for name, one in shown.systems:
        cost, score = one.metrics[metric], one.metrics["extraction_quality_score"]
        if cost.value is None or score.value is None:
            continue
        told = f"EQS {format_number(score.value)}, {value_text(metric, cost.value)}"
        points.append(
            NamedPoint(
                format_name(name),
                cost.value * factor,
                score.value,
                _scaled(cost, factor),
                _scaled(score, 1.0),
                f"{told}; {'on the frontier' if name in on else 'not on the frontier'}",
                name in on,
            )
        )
    if len(points) < 2:
        return None
    most = max(max(p.x, p.x_span[1] if p.x_span else 0.0) for p in points)
    on_it = join_list([format_name(name) for name in shown.names if name in on]) or "none"
    return Figure(
        title,
        f"On the frontier: {on_it}. Hollow diamonds are not: another system is no worse in either "
        "and better in one.",
        drawing(
            named_points(points, amount_axis(most, axis_words), share_axis("EQS")),
            id_,
            title,
            f"Systems as points, {axis_words} across and the quality score up. On the frontier: "
            f"{on_it}. The numbers stand in the tables above.",
        ),
    )


def _scaled(value: Estimate, factor: float) -> tuple[float, float] | None:
    if value.low is None or value.high is None:
        return None
    return value.low * factor, value.high * factor


def wins_figure(shown: Shown, compared: ExtractionComparison, id_: str) -> Figure:
    """Share of samples on which the row's system beats the column's."""
    rows = []
    for first in shown.names:
        cells = []
        for second in shown.names:
            if first == second:
                cells.append(HeatCell("", told="the same system"))
                continue
            one = wins_of(compared, first, second)
            if one is None or one.share is None:
                cells.append(HeatCell("–", told="no sample that both were scored on"))
                continue
            told = (
                f"{format_name(first)} beats {format_name(second)} on {one.wins:,} samples, loses "
                f"{one.losses:,}, ties {one.ties:,}"
            )
            look = "up" if one.wins > one.losses else "down" if one.wins < one.losses else "plain"
            cells.append(HeatCell(format_percent(one.share), one.share, look, told))
        rows.append((format_name(first), cells))
    return Figure(
        "Who wins how often",
        "Share of samples on which the row's system has the higher score; ties make up the rest. "
        "A win by a hair counts as much as any.",
        drawing(
            heat_map(list(shown.shown_names), rows, name_width=190, cell_width=96, head_lines=2),
            id_,
            "Win rates",
            "A square of systems against systems; the share is written in every cell.",
        ),
    )


def forest_figure(metric: str, pairs: Sequence[SampleComparison], id_: str) -> Figure:
    """Paired differences of one metric about a line at zero."""
    higher = metric not in LOWER
    title = metric_title(metric)
    plot = build_forest_plot(
        [to_plotted_difference(one) for one in pairs],
        higher_is_better=higher,
    )
    return Figure(
        title,
        summarise_findings(pairs, higher),
        forest_drawing(
            plot,
            id_,
            f"{title}: paired differences",
            "One line a pair: the first system's value less the second's, with its interval, "
            "about a line at zero. The numbers stand in a table below.",
        ),
    )
