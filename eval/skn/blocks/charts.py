"""The figures of the section; tables near them have the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

from eval.blocks.blocks import Figure
from eval.blocks.charts import (
    DotChart,
    ForestChart,
    NamedEstimate,
    OutcomeBars,
    OutcomeCount,
    OutcomeRow,
    ReliabilityChart,
)
from eval.blocks.comparison_text import (
    build_bins,
    describe_calibration,
    summarise_findings,
    to_plotted_difference,
)
from eval.blocks.text_format import format_name, to_chart_estimate
from eval.skn.blocks.run_data import SknRun
from eval.skn.blocks.samples import MARKS, count_marks
from eval.skn.blocks.tables import (
    describe_direction,
    find_direction,
    is_miscalibrated,
    list_comparisons,
)
from eval.skn.blocks.texts import VALIDITY_TEXTS, describe_metric
from eval.skn.scoring.metric_definitions import VALIDITIES
from eval.skn.scoring.record import PipelineReport

_VALIDITY_LOOKS = {
    "strict": ("right", "✓"),
    "tolerant": ("none", "~"),
    "repaired": ("held", "○"),
    "unreadable": ("wrong", "✗"),
}


def build_outcome_figure(run: SknRun) -> Figure:
    """Builds the figure of the outcomes of all rows."""
    rows = []
    for name in run.pipelines:
        counts = count_marks(run, name)
        segments = tuple(
            OutcomeCount(mark.look, mark.symbol, mark.words, counts[mark.key])
            for mark in MARKS
            if counts[mark.key]
        )
        rows.append(OutcomeRow(format_name(name), False, segments))
    return Figure(
        "Outcomes of all rows",
        "✓ right, or rightly abstained; ○ held back; ✗ wrong, or answered though there is no "
        "answer; ! no usable reply or no verdict.",
        OutcomeBars(tuple(rows)),
        "One bar per pipeline: shares of its rows. The tables below have the counts.",
    )


def build_metric_figure(run: SknRun, key: str) -> Figure:
    """Builds the figure of the values of one metric."""
    description, direction = describe_metric(key), describe_direction(run, key)
    values = tuple(
        NamedEstimate(format_name(name), False, to_chart_estimate(report.metrics.get(key)))
        for name, report in run.report.pipelines.items()
    )
    return Figure(
        f"{description.full_name}, {direction}",
        description.explanation,
        DotChart(values),
        f"Value and interval of each pipeline; {direction}.",
    )


def build_difference_figure(run: SknRun, key: str) -> Figure:
    """Builds the figure of the paired differences of one metric."""
    pairs = list_comparisons(run, key)
    description, higher_is_better = describe_metric(key), find_direction(run, key)
    return Figure(
        description.full_name,
        f"{summarise_findings(pairs, higher_is_better)} {description.explanation}",
        ForestChart(
            tuple(to_plotted_difference(pair) for pair in pairs),
            higher_is_better=higher_is_better,
        ),
        "One row per pair: the value of the candidate − that of the baseline, with its interval, "
        "around a line at zero. A table below has the numbers.",
    )


def build_validity_figure(run: SknRun) -> Figure:
    """Builds the figure of how the extractions could be parsed."""
    return Figure(
        "How extractions were parsed",
        "✓ without changes; ~ without the text around it; ○ after one further turn; ✗ not at all.",
        OutcomeBars(
            tuple(
                OutcomeRow(format_name(name), False, tuple(_iter_validity_counts(report)))
                for name, report in run.report.pipelines.items()
            )
        ),
        "One bar per pipeline: shares of its extractions. The table below has the numbers.",
    )


def _iter_validity_counts(report: PipelineReport) -> Iterator[OutcomeCount]:
    for key in VALIDITIES:
        if key in report.validity and (count := report.validity[key].numerator):
            yield OutcomeCount(*_VALIDITY_LOOKS[key], f"parsed {VALIDITY_TEXTS[key]}", count)


def iter_calibration_figures(run: SknRun) -> Iterator[Figure]:
    """Yields a reliability diagram of each pipeline whose answers state confidences."""
    for name, report in run.report.pipelines.items():
        calibration = report.calibration
        if calibration is None or not calibration.bins:
            continue
        finding = describe_calibration(
            calibration.confidence, calibration.accuracy, calibration.ece_expected.p
        )
        is_finding = is_miscalibrated(finding)
        yield Figure(
            format_name(name),
            f"{finding.capitalize()}." if is_finding else f"Calibration error {finding}.",
            ReliabilityChart(format_name(name), build_bins(calibration)),
            "Share of right answers by stated confidence, with intervals, and the diagonal of "
            "perfect calibration. The table above has the numbers.",
            finding=is_finding,
        )
