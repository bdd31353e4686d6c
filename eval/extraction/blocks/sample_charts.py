"""Charts of one system's samples and calls: scatters, box plots, correlations, latency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.blocks.axis_charts import (
    MAX_DOTS,
    Axis,
    BoxPlot,
    Histogram,
    LineChart,
    Quartiles,
    ScatterChart,
    make_amount_axis,
    make_share_axis,
)
from eval.blocks.blocks import Figure
from eval.blocks.charts import HeatCell, HeatMap
from eval.blocks.text_format import format_name, format_number
from eval.extraction.blocks.metric_texts import METRICS, describe_metric, format_seconds
from eval.extraction.blocks.row_summaries import RowSummary
from eval.extraction.record import Correlation, SystemReport
from eval.extraction.schemas.complexity import FEATURES

_BINS = ("simple", "medium", "complex")
_PERCENTILES = ("p50", "p95", "p99")


def build_recall_scatter(name: str, rows: Sequence[RowSummary]) -> Figure | None:
    """Builds the scatter of a system's samples by recall and precision."""
    return _build_scatter(
        name,
        [
            (row.metrics.recall_partial, row.metrics.precision_partial)
            for row in rows
            if row.metrics
        ],
        make_share_axis("recall"),
        make_share_axis("precision"),
        "Every sample by its own recall and precision.",
        "recall across and precision up, with curves of equal F1. The numbers are in the table "
        "of samples.",
        iso_f1=True,
    )


def build_complexity_scatter(name: str, rows: Sequence[RowSummary]) -> Figure | None:
    """Builds the scatter of a system's samples by complexity of the schema and F1."""
    return _build_scatter(
        name,
        [(row.complexity, row.metrics.f1_partial) for row in rows if row.metrics],
        make_share_axis("complexity of the schema"),
        make_share_axis("partial F1"),
        "Every sample by its schema's complexity and its F1.",
        "complexity across and partial F1 up.",
    )


def build_latency_scatter(name: str, rows: Sequence[RowSummary]) -> Figure | None:
    """Builds the scatter of a system's samples by latency and F1."""
    points = [
        (row.latency_s, row.metrics.f1_partial)
        for row in rows
        if row.latency_s is not None and row.metrics and row.metrics.f1_partial is not None
    ]
    return _build_scatter(
        name,
        points,
        make_amount_axis(max((latency for latency, _ in points), default=0.0), "latency, s"),
        make_share_axis("partial F1"),
        "Every sample by its latency and its F1.",
        "latency across and partial F1 up. The correlations tell how the two go together.",
    )


def _build_scatter(
    name: str,
    points: Iterable[tuple[float | None, float | None]],
    x: Axis,
    y: Axis,
    about: str,
    alt: str,
    *,
    iso_f1: bool = False,
) -> Figure | None:
    """Builds a scatter of the points of which both values are known; ``None`` if there is none."""
    known = tuple((a, b) for a, b in points if a is not None and b is not None)
    if not known:
        return None
    density = (
        "A larger dot stands for several samples."
        if len(known) <= MAX_DOTS
        else "The larger a square, the more samples lie there."
    )
    return Figure(
        format_name(name),
        f"{about} {density}",
        ScatterChart(known, x, y, iso_f1=iso_f1),
        f"{len(known):,} samples, {alt}",
    )


def build_complexity_boxes(name: str, system: SystemReport) -> Figure | None:
    """Builds box plots of the samples' F1 by bin of complexity."""
    groups = system.breakdowns["complexity"].groups
    quartiles: list[Quartiles | str] = []
    for key in _BINS:
        box = groups[key].box if key in groups else None
        quartiles.append(
            key
            if box is None
            else Quartiles(key, box.n, box.low, box.q1, box.median, box.q3, box.high, box.mean)
        )
    if all(isinstance(group, str) for group in quartiles):
        return None
    return Figure(
        format_name(name),
        "Half of the samples lie in the box; line: median, diamond: mean, ends: all samples.",
        BoxPlot(tuple(quartiles), "partial F1"),
        "Box plots of simple, medium and complex schemas. The numbers are in a table below.",
    )


def build_schema_correlations(name: str, system: SystemReport) -> Figure | None:
    """Builds the heat map of the correlations of metrics with features of schemas."""
    features = list(dict.fromkeys(pair.feature for pair in system.correlations))
    known = [key for key in FEATURES if key in features]
    others = [key for key in features if key not in known]
    return _build_correlations(name, system.correlations, [*known, *others])


def build_metric_correlations(name: str, system: SystemReport) -> Figure | None:
    """Builds the heat map of the correlations of metrics with each other."""
    pairs = system.metric_correlations
    return _build_correlations(name, pairs, list(dict.fromkeys(pair.feature for pair in pairs)))


def _build_correlations(
    name: str, pairs: Sequence[Correlation], features: Sequence[str]
) -> Figure | None:
    by_names = {(pair.metric, pair.feature): pair for pair in pairs}
    metrics = list(dict.fromkeys(pair.metric for pair in pairs))
    if all(pair.pearson is None for pair in pairs):
        return None
    rows = tuple(
        (
            _format_feature(feature),
            tuple(_build_correlation_cell(by_names.get((metric, feature))) for metric in metrics),
        )
        for feature in features
    )
    return Figure(
        format_name(name),
        "Pearson’s r over samples: + they rise together, − one falls as the other rises.",
        HeatMap(
            tuple(describe_metric(metric).short_name for metric in metrics),
            rows,
            name_width=180,
            cell_width=70,
            head_lines=2,
        ),
        "Pearson's r, written in every cell. All are in the file of correlations.",
    )


def _format_feature(feature: str) -> str:
    return describe_metric(feature).full_name if feature in METRICS else feature.replace("_", " ")


def _build_correlation_cell(pair: Correlation | None) -> HeatCell:
    if pair is None or pair.pearson is None:
        return HeatCell("–", tooltip=pair.why if pair is not None else "")
    interval = ""
    if pair.pearson_low is not None and pair.pearson_high is not None:
        low, high = format_number(pair.pearson_low, 2), format_number(pair.pearson_high, 2)
        interval = f" ({low} to {high})"
    names = f"{describe_metric(pair.metric).full_name} and {_format_feature(pair.feature)}"
    r = format_number(pair.pearson, 2)
    return HeatCell(
        f"+{r}" if pair.pearson > 0.005 else r,
        abs(pair.pearson),
        "up" if pair.pearson > 0 else "down",
        f"{names}: r = {r}{interval}, n = {pair.n:,}",
    )


def build_latency_histogram(name: str, system: SystemReport) -> Figure | None:
    """Builds the histogram of latencies; ``None`` if none was measured."""
    performance = system.performance
    if not any(performance.histogram):
        return None
    marks = tuple(
        (key, performance.latency_s[key].value if key in performance.latency_s else None)
        for key in _PERCENTILES
    )
    percentiles = ", ".join(f"{key} {format_seconds(value)}" for key, value in marks)
    return Figure(
        format_name(name),
        "Calls by how long they took; the dashed lines are percentiles.",
        Histogram(
            tuple(performance.histogram),
            performance.histogram_high,
            marks,
            "latency, s",
            "s",
            "calls",
        ),
        f"A histogram of {sum(performance.histogram):,} calls: {percentiles}.",
    )


def build_throughput_line(name: str, system: SystemReport) -> Figure | None:
    """Builds the line of replies per second over the run; ``None`` if none was measured."""
    points = tuple((second, rate) for second, rate in system.performance.over_time)
    if not points:
        return None
    rates = [rate for _, rate in points]
    y = make_amount_axis(max(rates), "replies per second")
    return Figure(
        format_name(name),
        "Replies per second in equal stretches of the run.",
        LineChart(
            points,
            make_amount_axis(max(second for second, _ in points), "seconds since the start"),
            y,
            tuple(f"until {second:.3g} s: {rate:.3g} {y.label}" for second, rate in points),
        ),
        f"{len(points)} stretches, between {min(rates):.3g} and {max(rates):.3g} {y.label}.",
    )
