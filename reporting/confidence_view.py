"""Builds the records of the report's section on calibration and selective prediction."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.record import CalibrationReport, SelectiveReport, SystemReport
from eval.stats.paired_tests import ALPHA
from kg.words.plain_text import join_list
from reporting.charts import ChartEstimate, format_number, to_chart_estimate
from reporting.comparison_text import describe_calibration, format_p_value
from reporting.confidence_charts import (
    ChartFrame,
    ConfidenceBin,
    ReliabilityDiagram,
    RiskCurve,
    build_reliability_diagram,
    build_risk_curve,
    build_risk_ticks,
    choose_risk_ceiling,
)
from reporting.report_view import ReportView
from reporting.visible_text import format_name, make_visible


@dataclass(frozen=True)
class ConfidenceLine:
    """One system that states confidences.

    Attributes:
        name: display name.
        about: how many replies state a confidence, and why others are left out.
        finding: whether the system is calibrated, over- or underconfident, in a few words.
        is_miscalibrated: whether the calibration error is significant.
        accuracy, confidence: means over the replies that state a confidence.
        ece, ece_mass, brier, aurc, augrc: the metrics; ``ece_mass`` is the ECE over bins with
            equally many replies (``ece_equal_mass``).
        expected, expected_high: mean and upper bound of the ECE that a calibrated system has by
            chance.
        p: p-value of the test whether the calibration error is larger than by chance.
        references: AURC if confidence ranked the replies perfectly, and at random.
        bins: equal-width bins, in ascending order of confidence.
        diagram, risk: the charts.
    """

    name: str
    about: str
    finding: str
    is_miscalibrated: bool
    accuracy: str
    confidence: str
    ece: ChartEstimate
    ece_mass: ChartEstimate
    brier: ChartEstimate
    expected: str
    expected_high: str
    p: str
    aurc: ChartEstimate
    augrc: ChartEstimate
    references: str
    bins: tuple[ConfidenceBin, ...]
    diagram: ReliabilityDiagram
    risk: RiskCurve


class ConfidenceView:
    """The systems that state confidences, and the names of those that do not."""

    frame = ChartFrame()

    def __init__(self, view: ReportView) -> None:
        systems = [(name, view.policy.systems[name]) for name in view.systems]
        confident_systems = [
            (name, system, system.calibration, system.selective)
            for name, system in systems
            if system.calibration is not None and system.selective is not None
        ]
        curves = [
            [(point.coverage, point.risk) for point in selective.points]
            for _, _, _, selective in confident_systems
        ]
        ceiling = choose_risk_ceiling(curves)
        self.risk_ticks = build_risk_ticks(ceiling)
        self.lines: list[ConfidenceLine] = [
            _build_line(name, system, calibration, selective, ceiling)
            for name, system, calibration, selective in confident_systems
        ]
        confident_names = {name for name, *_ in confident_systems}
        self.without_confidence = join_list(
            [format_name(name) for name, _ in systems if name not in confident_names]
        )

    @property
    def has_confidence(self) -> bool:
        """Whether any system states confidences."""
        return bool(self.lines)


def _build_line(
    name: str,
    system: SystemReport,
    calibration: CalibrationReport,
    selective: SelectiveReport,
    ceiling: float,
) -> ConfidenceLine:
    confidence_counts, expected = system.confidence, calibration.ece_expected
    about = f"{calibration.n:,} replies with a confidence"
    if confidence_counts is not None and confidence_counts.reason:
        about += f"; {make_visible(confidence_counts.reason)}"
    bins = build_bins(calibration)
    points = [(point.coverage, point.risk) for point in selective.points]
    return ConfidenceLine(
        name=format_name(name),
        about=about,
        finding=describe_calibration(calibration.confidence, calibration.accuracy, expected.p),
        is_miscalibrated=expected.p < ALPHA,
        accuracy=format_number(calibration.accuracy),
        confidence=format_number(calibration.confidence),
        ece=to_chart_estimate(calibration.ece),
        ece_mass=to_chart_estimate(calibration.ece_equal_mass),
        brier=to_chart_estimate(calibration.brier),
        expected=format_number(expected.mean),
        expected_high=format_number(expected.high),
        p=format_p_value(expected.p),
        aurc=to_chart_estimate(selective.aurc),
        augrc=to_chart_estimate(selective.augrc),
        references=f"{format_number(selective.aurc_best)} to "
        f"{format_number(selective.aurc_random)}",
        bins=bins,
        diagram=build_reliability_diagram(bins),
        risk=build_risk_curve(points, selective.aurc_random, ceiling),
    )


def build_bins(calibration: CalibrationReport) -> tuple[ConfidenceBin, ...]:
    """Converts the equal-width bins, in ascending order of confidence, for the chart."""
    return tuple(
        ConfidenceBin(
            low=bin_.low,
            high=bin_.high,
            n=bin_.n,
            n_right=bin_.n_right,
            confidence=bin_.confidence,
            accuracy=bin_.accuracy,
            accuracy_low=bin_.accuracy_low,
            accuracy_high=bin_.accuracy_high,
        )
        for bin_ in calibration.bins
    )
