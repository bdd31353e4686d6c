"""Charts of several systems: grouped bars, frontiers, win rates, paired differences."""

from __future__ import annotations

from collections.abc import Sequence

from eval.blocks.axis_charts import (
    NamedPoint,
    SystemScatterChart,
    make_amount_axis,
    make_share_axis,
)
from eval.blocks.blocks import Figure
from eval.blocks.charts import Bar, BarChart, BarGroup, ForestChart, HeatCell, HeatMap
from eval.blocks.comparison_text import summarise_findings, to_plotted_difference
from eval.blocks.text_format import format_name, format_number, format_percent, to_chart_estimate
from eval.extraction.blocks.comparison_texts import (
    LOWER_IS_BETTER,
    find_best,
    find_win_rate,
    get_metric_title,
)
from eval.extraction.blocks.metric_texts import describe_metric, format_value, get_unit
from eval.extraction.blocks.quality_charts import get_interval
from eval.extraction.blocks.run_data import RunData
from eval.extraction.comparison_record import ExtractionComparison, SampleComparison
from eval.extraction.record import Estimate
from kg.base.plain_text import join_list

_BAR_METRICS = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "field_f1_strict"),
    *("exact_match", "type_accuracy", "hallucination_rate", "omission_rate"),
)
"""Key metrics of the grouped bars, all shares."""
FRONTIERS = {
    "accuracy_vs_latency": ("latency_p95_s", "Score against latency", "p95 latency, s"),
    "accuracy_vs_cost": (
        "cost_usd_per_sample",
        "Score against cost",
        "dollars per thousand samples",
    ),
}


def build_metric_bars(run: RunData, comparison: ExtractionComparison) -> Figure:
    """Builds bars of key metrics; ★ where tests show a system to be better than every other."""
    groups = []
    for key in _BAR_METRICS:
        best = find_best(comparison, key, len(run.systems))
        down = " ↓" if key in ("hallucination_rate", "omission_rate") else ""
        bars = tuple(
            _build_bar(name, system.metrics[key], key, best) for name, system in run.systems
        )
        groups.append(BarGroup(f"{describe_metric(key).full_name}{down}", bars))
    return Figure(
        "Key metrics",
        "★ better than every other system by paired tests; ↓ lower is better. Lines are intervals.",
        BarChart(tuple(groups)),
        "Bars from 0 to 1 with intervals, one group per metric. The numbers are in the tables of "
        "metrics.",
    )


def _build_bar(name: str, estimate: Estimate, key: str, best: str | None) -> Bar:
    text = f"{format_name(name)}: {format_value(key, estimate.value)}"
    if name != best:
        return Bar(format_name(name), to_chart_estimate(estimate), text=text)
    text = f"{text}, better than every other system"
    return Bar(format_name(name), to_chart_estimate(estimate), "★", text)


def build_frontier(run: RunData, comparison: ExtractionComparison, key: str) -> Figure | None:
    """Builds the chart of score against latency or cost; ``None`` for fewer than two systems."""
    metric, title, axis_label = FRONTIERS[key]
    frontier = set(comparison.frontiers.get(key, ()))
    factor = 1000.0 if get_unit(metric) == "dollars" else 1.0
    headline = run.report.headline
    name_of_score = describe_metric(headline).short_name
    points = []
    for name, system in run.systems:
        cost, score = system.metrics[metric], system.metrics[headline]
        if cost.value is None or score.value is None:
            continue
        place = "on the frontier" if name in frontier else "not on the frontier"
        points.append(
            NamedPoint(
                format_name(name),
                cost.value * factor,
                score.value,
                get_interval(cost, factor),
                get_interval(score),
                f"{name_of_score} {format_number(score.value)}, "
                f"{format_value(metric, cost.value)}; {place}",
                name in frontier,
            )
        )
    if len(points) < 2:
        return None
    maximum = max(max(p.x, p.x_interval[1] if p.x_interval else 0.0) for p in points)
    names = join_list([format_name(name) for name in run.names if name in frontier]) or "none"
    return Figure(
        title,
        f"On the frontier: {names}. Hollow diamonds are not: another system is no worse in either "
        "and better in one.",
        SystemScatterChart(
            tuple(points), make_amount_axis(maximum, axis_label), make_share_axis("EQS")
        ),
        f"Systems as points, {axis_label} across and the score up. On the frontier: "
        f"{names}. The numbers are in the tables above.",
    )


def build_win_map(run: RunData, comparison: ExtractionComparison) -> Figure:
    """Builds the heat map of the shares of samples on which one system beats another."""
    rows = tuple(
        (
            format_name(first),
            tuple(_build_win_cell(comparison, first, second) for second in run.names),
        )
        for first in run.names
    )
    return Figure(
        "Who wins how often",
        "Share of samples on which the row's system has the higher value of the headline; ties "
        "make up the rest. A win by a hair counts as much as any.",
        HeatMap(run.display_names, rows, name_width=190, cell_width=96, head_lines=2),
        "A square of systems against systems; the share is written in every cell.",
    )


def _build_win_cell(comparison: ExtractionComparison, first: str, second: str) -> HeatCell:
    if first == second:
        return HeatCell("", tooltip="the same system")
    rate = find_win_rate(comparison, first, second)
    if rate is None or rate.share is None:
        return HeatCell("–", tooltip="no sample that both were scored on")
    tooltip = (
        f"{format_name(first)} beats {format_name(second)} on {rate.wins:,} samples, loses "
        f"{rate.losses:,}, ties {rate.ties:,}"
    )
    look = "up" if rate.wins > rate.losses else "down" if rate.wins < rate.losses else "plain"
    return HeatCell(format_percent(rate.share), rate.share, look, tooltip)


def build_forest(metric: str, pairs: Sequence[SampleComparison]) -> Figure:
    """Builds the forest plot of the paired differences of a metric."""
    higher_is_better = metric not in LOWER_IS_BETTER
    return Figure(
        get_metric_title(metric),
        summarise_findings(pairs, higher_is_better),
        ForestChart(
            tuple(to_plotted_difference(pair) for pair in pairs),
            higher_is_better=higher_is_better,
        ),
        "One line per pair: the first system's value less the second's, with its interval, about a "
        "line at zero. The numbers are in a table below.",
    )
