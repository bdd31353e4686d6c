"""Builds the records of the report's section on calibration and selective prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.abstention.metrics.record import SelectiveReport, SystemReport
from eval.blocks.charts import ConfidenceBin, ReliabilityChart, RiskChart
from eval.blocks.comparison_text import build_bins, describe_calibration
from eval.blocks.text_format import (
    ChartEstimate,
    format_name,
    format_number,
    format_p_value,
    to_chart_estimate,
)
from eval.metrics.metric_value import CalibrationReport
from eval.stats.paired_tests import ALPHA
from kg.base.plain_text import join_list
from reporting.card_report.report_view import ReportView
from reporting.charts.confidence import describe_risk
from reporting.visible_text import make_visible


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
        reliability, risk: the charts.
        risk_text: the risk–coverage curve in words.
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
    reliability: ReliabilityChart
    risk: RiskChart
    risk_text: str


class ConfidenceView:
    """The systems that state confidences, and the names of those that do not."""

    def __init__(self, view: ReportView) -> None:
        systems = [(name, view.policy.systems[name]) for name in view.systems]
        confident_systems = [
            (name, system, system.calibration, system.selective)
            for name, system in systems
            if system.calibration is not None and system.selective is not None
        ]
        curves = [
            tuple((point.coverage, point.risk) for point in selective.points)
            for _, _, _, selective in confident_systems
        ]
        ceiling = choose_risk_ceiling(curves)
        keys = [str(number) for number in range(1, len(curves) + 1)]
        self.lines: list[ConfidenceLine] = [
            _build_line(
                name,
                system,
                calibration,
                RiskChart(
                    points=points,
                    error_rate=selective.aurc_random,
                    ceiling=ceiling,
                    key=key,
                    other_keys=tuple(other for other in keys if other != key),
                ),
                selective,
            )
            for (name, system, calibration, selective), points, key in zip(
                confident_systems, curves, keys, strict=True
            )
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
    risk: RiskChart,
    selective: SelectiveReport,
) -> ConfidenceLine:
    confidence_counts, expected = system.confidence, calibration.ece_expected
    about = f"{calibration.n:,} replies with a confidence"
    if confidence_counts is not None and confidence_counts.reason:
        about += f"; {make_visible(confidence_counts.reason)}"
    bins = build_bins(calibration)
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
        reliability=ReliabilityChart(format_name(name), bins),
        risk=risk,
        risk_text=describe_risk(risk.points),
    )


def choose_risk_ceiling(curves: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Chooses the end of the risk axis: a round share above all curves.

    A curve starts with few replies, where risk jumps between 0 and 1. Points below 5 % coverage are
    therefore ignored; they are cut off where they exceed the axis.

    Args:
        curves: per system (coverage, risk), in ascending order of coverage.
    """
    highest = max(
        (risk for curve in curves for coverage, risk in curve if coverage >= 0.05), default=0.0
    )
    return next(
        (top for top in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75) if highest <= top),
        1.0,
    )
