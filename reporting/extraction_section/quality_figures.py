"""Figures of quality: gauge, radar, match categories, F1 by mode, precision and recall."""

from __future__ import annotations

from collections.abc import Sequence

from eval.extraction.metrics.quality_score import interpret_score
from eval.extraction.record import SystemReport
from eval.extraction.verdicts.sample_score import CATEGORIES
from reporting.benchmark_sections.blocks import Figure
from reporting.benchmark_sections.drawings import stack_drawing
from reporting.charts import build_stack, format_number, to_chart_estimate
from reporting.extraction_section.points import Point
from reporting.extraction_section.shown import Shown
from reporting.plots.axes import share_axis
from reporting.plots.bars import BarRow, bar_groups
from reporting.plots.clouds import DOTS_AT_MOST, cloud
from reporting.plots.gauge import Zone, gauge
from reporting.plots.named_points import NamedPoint, named_points
from reporting.plots.picture import drawing
from reporting.plots.radar import radar
from reporting.visible_text import format_name

ZONES = tuple(
    Zone(low, high, interpret_score(low)[0], look)
    for low, high, look in (
        (0.0, 0.6, "wrong"),
        (0.6, 0.75, "held"),
        (0.75, 0.9, "fair"),
        (0.9, 1.0, "right"),
    )
)
"""The score's four meanings as zones of the gauge, named as the score names them."""

CATEGORY_MARKS = {
    "exact": ("✓", "exact"),
    "partial": ("~", "partial"),
    "incorrect": ("✗", "incorrect"),
    "missed": ("○", "missed"),
    "spurious": ("+", "spurious"),
}
"""Category → the sign and the name it has wherever it is drawn."""

RADAR_AXES = (
    ("schema_validity", "validity"),
    ("field_f1_partial", "F1 partial"),
    ("type_accuracy", "type accuracy"),
    ("no_hallucination", "1 − hallucination"),
)


def gauge_figure(name: str, one: SystemReport, id_: str) -> Figure:
    """The score on its scale."""
    score = one.quality.score
    meaning = one.quality.meaning
    picture = gauge(to_chart_estimate(score), ZONES)
    zones = "; ".join(f"{z.name} from {format_number(z.low, 2)}" for z in ZONES)
    said = one.quality.interpretation or "no score"
    return Figure(
        format_name(name),
        f"{said}. {meaning}." if meaning else f"{said}: {score.why or 'nothing to score'}.",
        drawing(
            picture,
            id_,
            f"{format_name(name)}: extraction quality score",
            f"A half circle from 0 to 1 with the zones {zones}. The score is "
            f"{to_chart_estimate(score).text}, its interval "
            f"{to_chart_estimate(score).interval_text or 'unknown'}.",
        ),
    )


def radar_figure(name: str, one: SystemReport, id_: str) -> Figure:
    """The four parts of the score."""
    parts = one.quality.components
    axes = [(said, parts[key].value) for key, said in RADAR_AXES]
    told = ", ".join(f"{said} {format_number(value)}" for said, value in axes)
    return Figure(
        format_name(name),
        "Over all fields together; the further out, the better. The score is of their means over "
        "samples, in the table below.",
        drawing(radar(axes), id_, f"{format_name(name)}: parts of the score", f"{told}."),
    )


def category_figure(shown: Shown, id_: str) -> Figure:
    """What became of all fields, in partial mode."""
    entries = []
    for name, one in shown.systems:
        counts = one.categories["partial"]
        parts = [
            (key, *CATEGORY_MARKS[key], float(counts[key].count))
            for key in CATEGORIES
            if counts[key].count
        ]
        entries.append((format_name(name), False, parts))
    key = ", ".join(f"{sign} {said}" for sign, said in CATEGORY_MARKS.values())
    return Figure(
        "What became of the fields",
        f"{key}. One bar a system: shares of all fields, expected or extracted.",
        stack_drawing(
            build_stack(entries),
            id_,
            "Match categories",
            "One bar a system: shares of exact, partial, incorrect, missed and spurious fields. "
            "The counts stand in a table below.",
        ),
    )


def mode_figure(shown: Shown, id_: str) -> Figure:
    """F1 in the three modes."""
    groups = []
    for name, one in shown.systems:
        rows = [
            BarRow(mode, to_chart_estimate(one.metrics[f"field_f1_{mode}"]))
            for mode in ("strict", "partial", "lenient")
        ]
        groups.append((format_name(name), rows))
    return Figure(
        "F1 by mode",
        "Strict: only equal fields; partial: a near match counts half; lenient: whole.",
        drawing(
            bar_groups(groups),
            id_,
            "Field F1 by mode",
            "Bars from 0 to 1 with intervals, three a system. The numbers stand in a table below.",
        ),
    )


def precision_recall_figure(shown: Shown, id_: str) -> Figure | None:
    """All systems between recall and precision, with curves of equal F1."""
    points = []
    for name, one in shown.systems:
        precision = one.metrics["field_precision_partial"]
        recall = one.metrics["field_recall_partial"]
        if precision.value is None or recall.value is None:
            continue
        points.append(
            NamedPoint(
                format_name(name),
                recall.value,
                precision.value,
                _ends(recall.low, recall.high),
                _ends(precision.low, precision.high),
                f"recall {format_number(recall.value)}, precision {format_number(precision.value)}",
            )
        )
    if not points:
        return None
    picture = named_points(points, share_axis("recall"), share_axis("precision"), iso_f1=True)
    return Figure(
        "Precision and recall",
        "Partial mode, over all fields. Crosses are intervals; on a dashed curve F1 is the same.",
        drawing(
            picture,
            id_,
            "Precision and recall",
            "Systems as points, recall across and precision up, with curves of equal F1. The "
            "numbers stand in a table below.",
        ),
    )


def precision_recall_cloud(name: str, points: Sequence[Point], id_: str) -> Figure | None:
    """One system's samples between recall and precision."""
    known = [
        (one.values.recall_partial, one.values.precision_partial)
        for one in points
        if one.values is not None
    ]
    places = [(r, p) for r, p in known if r is not None and p is not None]
    if not places:
        return None
    return Figure(
        format_name(name),
        f"Every sample by its own recall and precision. {crowd(len(places))}",
        drawing(
            cloud(places, share_axis("recall"), share_axis("precision"), iso_f1=True),
            id_,
            f"{format_name(name)}: precision and recall of its samples",
            f"{len(places):,} samples, recall across and precision up, with curves of equal F1. "
            "The numbers stand in the table of samples.",
        ),
    )


def crowd(count: int) -> str:
    """How so many points are drawn."""
    if count <= DOTS_AT_MOST:
        return "A larger dot stands for several samples."
    return "The larger a square, the more samples lie there."


def _ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)
