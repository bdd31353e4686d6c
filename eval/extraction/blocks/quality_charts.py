"""Charts of quality: gauge, radar, match categories, F1 by mode, precision and recall."""

from __future__ import annotations

from eval.blocks.axis_charts import NamedPoint, SystemScatterChart, make_share_axis
from eval.blocks.blocks import Figure
from eval.blocks.charts import (
    Bar,
    BarChart,
    BarGroup,
    GaugeChart,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
    RadarChart,
    Zone,
)
from eval.blocks.text_format import format_name, format_number, to_chart_estimate
from eval.extraction.blocks.metric_texts import describe_metric
from eval.extraction.blocks.run_data import RunData
from eval.extraction.metrics.quality_score import interpret_score
from eval.extraction.record import Estimate, SystemReport
from eval.extraction.verdicts.sample_score import CATEGORIES

ZONES = tuple(
    Zone(low, high, interpret_score(low)[0], look)
    for low, high, look in (
        (0.0, 0.6, "wrong"),
        (0.6, 0.75, "held"),
        (0.75, 0.9, "fair"),
        (0.9, 1.0, "right"),
    )
)
"""The headline's four meanings as zones of the gauge, named as the report names them."""

_CATEGORY_SIGNS = {"exact": "✓", "partial": "~", "incorrect": "✗", "missed": "○", "spurious": "+"}
_RADAR_AXES = (
    ("schema_validity", "validity"),
    ("field_f1_partial", "F1 partial"),
    ("type_accuracy", "type accuracy"),
    ("no_hallucination", "1 − hallucination"),
)


def build_gauge(name: str, system: SystemReport) -> Figure:
    """Builds the gauge of a system's headline."""
    score, meaning = system.metrics[system.quality.rated], system.quality.meaning
    name_of_score = describe_metric(system.quality.rated).full_name
    estimate = to_chart_estimate(score)
    zones = "; ".join(f"{zone.name} from {format_number(zone.low, 2)}" for zone in ZONES)
    verdict = system.quality.interpretation or "no score"
    return Figure(
        format_name(name),
        f"{name_of_score[:1].upper()}{name_of_score[1:]}: {verdict}. {meaning}."
        if meaning
        else f"{verdict}: {score.why or 'nothing to score'}.",
        GaugeChart(estimate, ZONES),
        f"A half circle from 0 to 1 with the zones {zones}. The value is {estimate.text}, its "
        f"interval {estimate.interval_text or 'unknown'}.",
    )


def build_radar(name: str, system: SystemReport) -> Figure:
    """Builds the radar of the four parts of a system's quality score."""
    parts = system.quality.components
    axes = tuple((label, parts[key].value) for key, label in _RADAR_AXES)
    return Figure(
        format_name(name),
        "Over all fields together; the further out, the better. The score is of their means over "
        "samples, in the table below.",
        RadarChart(axes),
        f"{', '.join(f'{label} {format_number(value)}' for label, value in axes)}.",
    )


def build_category_bars(run: RunData) -> Figure:
    """Builds the bars of match categories, in partial mode."""
    rows = []
    for name, system in run.systems:
        counts = system.categories["partial"]
        parts = tuple(
            OutcomeCount(key, _CATEGORY_SIGNS[key], key, float(counts[key].count))
            for key in CATEGORIES
            if counts[key].count
        )
        rows.append(OutcomeRow(format_name(name), False, parts))
    legend = ", ".join(f"{sign} {category}" for category, sign in _CATEGORY_SIGNS.items())
    return Figure(
        "What became of the fields",
        f"{legend}. One bar per system: shares of all fields, expected or extracted.",
        OutcomeBars(tuple(rows)),
        "One bar per system: shares of exact, partial, incorrect, missed and spurious fields. The "
        "counts are in a table below.",
    )


def build_mode_bars(run: RunData) -> Figure:
    """Builds the bars of F1 in the three modes."""
    groups = tuple(
        BarGroup(
            format_name(name),
            tuple(
                Bar(mode, to_chart_estimate(system.metrics[f"field_f1_{mode}"]))
                for mode in ("strict", "partial", "lenient")
            ),
        )
        for name, system in run.systems
    )
    return Figure(
        "F1 by mode",
        "Strict: only equal fields; partial: a near match counts half; lenient: whole.",
        BarChart(groups),
        "Bars from 0 to 1 with intervals, three per system. The numbers are in a table below.",
    )


def build_recall_chart(run: RunData) -> Figure | None:
    """Builds the chart of all systems by recall and precision; ``None`` if none has both."""
    points = []
    for name, system in run.systems:
        precision = system.metrics["field_precision_partial"]
        recall = system.metrics["field_recall_partial"]
        if precision.value is None or recall.value is None:
            continue
        points.append(
            NamedPoint(
                format_name(name),
                recall.value,
                precision.value,
                get_interval(recall),
                get_interval(precision),
                f"recall {format_number(recall.value)}, precision {format_number(precision.value)}",
            )
        )
    if not points:
        return None
    return Figure(
        "Precision and recall",
        "Partial mode, over all fields. Crosses are intervals; on a dashed curve F1 is the same.",
        SystemScatterChart(
            tuple(points), make_share_axis("recall"), make_share_axis("precision"), iso_f1=True
        ),
        "Systems as points, recall across and precision up, with curves of equal F1. The numbers "
        "are in a table below.",
    )


def get_interval(estimate: Estimate, factor: float = 1.0) -> tuple[float, float] | None:
    """Returns both ends of an interval times ``factor``, or ``None`` if an end is unknown."""
    low, high = estimate.low, estimate.high
    return None if low is None or high is None else (low * factor, high * factor)
