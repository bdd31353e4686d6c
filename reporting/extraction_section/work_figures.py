"""Figures of what the calls took: latency, latency against accuracy, throughput over time."""

from __future__ import annotations

from collections.abc import Sequence

from eval.extraction.record import SystemReport
from reporting.benchmark_sections.blocks import Figure
from reporting.extraction_section.metric_words import seconds
from reporting.extraction_section.points import Point
from reporting.extraction_section.quality_figures import crowd
from reporting.plots.axes import amount_axis, share_axis
from reporting.plots.clouds import cloud
from reporting.plots.histogram import histogram, over_time
from reporting.plots.picture import drawing
from reporting.visible_text import format_name

_PERCENTILES = ("p50", "p95", "p99")


def latency_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """How latencies are spread; none where nobody measured them."""
    found = one.performance
    if not any(found.histogram):
        return None
    marks = [
        (key, found.latency_s[key].value if key in found.latency_s else None)
        for key in _PERCENTILES
    ]
    told = ", ".join(f"{key} {seconds(value)}" for key, value in marks)
    return Figure(
        format_name(name),
        "Calls by how long they took; the dashed lines are percentiles.",
        drawing(
            histogram(
                found.histogram,
                found.histogram_high,
                marks,
                words="latency, s",
                unit="s",
                noun="calls",
            ),
            id_,
            f"{format_name(name)}: latency",
            f"A histogram of {sum(found.histogram):,} calls: {told}.",
        ),
    )


def latency_accuracy_figure(name: str, points: Sequence[Point], id_: str) -> Figure | None:
    """Whether slow replies are better or worse ones."""
    places = [
        (one.latency_s, one.values.f1_partial)
        for one in points
        if one.latency_s is not None
        and one.values is not None
        and one.values.f1_partial is not None
    ]
    known = [(a, b) for a, b in places if b is not None]
    if not known:
        return None
    most = max(a for a, _ in known)
    return Figure(
        format_name(name),
        f"Every sample by its latency and its F1. {crowd(len(known))}",
        drawing(
            cloud(known, amount_axis(most, "latency, s"), share_axis("partial F1")),
            id_,
            f"{format_name(name)}: latency against accuracy",
            f"{len(known):,} samples, latency across and partial F1 up. How the two go together "
            "stands among the correlations.",
        ),
    )


def throughput_figure(name: str, one: SystemReport, id_: str) -> Figure | None:
    """Requests a second over the run."""
    found = one.performance.over_time
    if not found:
        return None
    low, high = (min(rate for _, rate in found), max(rate for _, rate in found))
    return Figure(
        format_name(name),
        "Replies a second in equal stretches of the run.",
        drawing(
            over_time(found, x_words="seconds since the start", y_words="replies a second"),
            id_,
            f"{format_name(name)}: throughput over time",
            f"{len(found)} stretches, between {low:.3g} and {high:.3g} replies a second.",
        ),
    )
