"""Figures of how numbers vary with schemas: scatter, box plots, correlations."""

from __future__ import annotations

from collections.abc import Sequence

from eval.extraction.record import Correlation, SystemReport
from eval.extraction.schemas.complexity import FEATURES
from reporting.benchmark_sections.blocks import Figure
from reporting.charts import format_number
from reporting.extraction_section.metric_words import METRICS, words
from reporting.extraction_section.points import Point
from reporting.extraction_section.quality_figures import crowd
from reporting.plots.axes import share_axis
from reporting.plots.boxes import Spread, boxes
from reporting.plots.clouds import cloud
from reporting.plots.heat import HeatCell, heat_map
from reporting.plots.picture import drawing
from reporting.visible_text import format_name

BINS = ("simple", "medium", "complex")


def complexity_cloud(name: str, points: Sequence[Point], id_: str) -> Figure | None:
    """F1 of every sample against the complexity of its schema."""
    known = [
        (one.complexity, one.values.f1_partial)
        for one in points
        if one.values is not None and one.values.f1_partial is not None
    ]
    places = [(a, b) for a, b in known if b is not None]
    if not places:
        return None
    return Figure(
        format_name(name),
        f"Every sample by its schema's complexity and its F1. {crowd(len(places))}",
        drawing(
            cloud(places, share_axis("complexity of the schema"), share_axis("partial F1")),
            id_,
            f"{format_name(name)}: F1 against complexity",
            f"{len(places):,} samples, complexity across and partial F1 up.",
        ),
    )


def bin_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """F1 of the samples by bin of complexity."""
    groups = one.breakdowns["complexity"].groups
    spreads: list[Spread | str] = []
    for key in BINS:
        box = groups[key].box if key in groups else None
        spreads.append(
            key
            if box is None
            else Spread(key, box.n, box.low, box.q1, box.median, box.q3, box.high, box.mean)
        )
    if all(isinstance(spread, str) for spread in spreads):
        return None
    return Figure(
        format_name(name),
        "Half of the samples lie in the box; line: median, diamond: mean, ends: all samples.",
        drawing(
            boxes(spreads, "partial F1"),
            id_,
            f"{format_name(name)}: F1 by complexity",
            "Box plots of simple, medium and complex schemas. The numbers stand in a table below.",
        ),
    )


def correlation_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """Pearson's r of metrics and features of schemas."""
    features = list(dict.fromkeys(c.feature for c in one.correlations))
    ordered = [key for key in FEATURES if key in features]
    return _correlated(
        name,
        one.correlations,
        [*ordered, *(key for key in features if key not in ordered)],
        id_,
        "metrics against features of schemas",
    )


def metrics_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """Pearson's r of metrics with one another."""
    found = one.metric_correlations
    features = list(dict.fromkeys(c.feature for c in found))
    return _correlated(name, found, features, id_, "metrics against each other")


def _correlated(
    name: str, found: Sequence[Correlation], features: Sequence[str], id_: str, about: str
) -> Figure | None:
    known = {(c.metric, c.feature): c for c in found}
    metrics = list(dict.fromkeys(c.metric for c in found))
    if not any(c.pearson is not None for c in found):
        return None
    rows = [
        (_row_name(feature), [_cell(known.get((metric, feature))) for metric in metrics])
        for feature in features
    ]
    return Figure(
        format_name(name),
        "Pearson’s r over samples: + they rise together, − one falls as the other rises.",
        drawing(
            heat_map(
                [words(metric).short_name for metric in metrics],
                rows,
                name_width=180,
                cell_width=70,
                head_lines=2,
            ),
            id_,
            f"{format_name(name)}: {about}",
            "Pearson's r, written in every cell. All are in the file of correlations.",
        ),
    )


def _row_name(feature: str) -> str:
    return words(feature).full_name if feature in METRICS else feature.replace("_", " ")


def _cell(one: Correlation | None) -> HeatCell:
    if one is None or one.pearson is None:
        return HeatCell("–", told=one.why if one is not None else "")
    span = ""
    if one.pearson_low is not None and one.pearson_high is not None:
        span = f" ({format_number(one.pearson_low, 2)} to {format_number(one.pearson_high, 2)})"
    feature = _row_name(one.feature)
    pair = f"{words(one.metric).full_name} and {feature}"
    told = f"{pair}: r = {format_number(one.pearson, 2)}{span}, n = {one.n:,}"
    sign = "+" if one.pearson > 0.005 else ""
    look = "up" if one.pearson > 0 else "down"
    return HeatCell(f"{sign}{format_number(one.pearson, 2)}", abs(one.pearson), look, told)
