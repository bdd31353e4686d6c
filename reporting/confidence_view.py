"""Calibration and selective prediction of every system, as plain records for the template."""

from __future__ import annotations

from dataclasses import dataclass

from eval.metrics.record import CalibrationReport, SelectiveReport, SystemReport
from eval.stats.paired import ALPHA
from kg.words.plain_text import listing
from reporting.charts import Estimate, estimate, number
from reporting.confidence_charts import (
    Bin,
    Curve,
    Frame,
    Reliability,
    curve,
    reliability,
    risk_ceiling,
    risk_ticks,
)
from reporting.pair_words import calibration_finding, shown_p
from reporting.view import View
from reporting.visible import shown_name, visible


@dataclass(frozen=True)
class ConfidenceLine:
    """One system that says how sure it is.

    Attributes:
        name: fit to be shown.
        about: how many replies carry a confidence, and what is left out.
        finding: whether the confidences can be taken at their word, in a few words.
        miscalibrated: whether the data show that they cannot.
        accuracy, confidence: means over the replies that carry a confidence.
        ece, ece_mass, brier, aurc, augrc: the metrics.
        expected, expected_high: what a calibrated system would show by chance, on average and at
            most.
        references: AURC if confidence sorted perfectly, and if it said nothing.
        bins: equal-width, by rising confidence.
        diagram, risk: the charts.
    """

    name: str
    about: str
    finding: str
    miscalibrated: bool
    accuracy: str
    confidence: str
    ece: Estimate
    ece_mass: Estimate
    brier: Estimate
    expected: str
    expected_high: str
    p: str
    aurc: Estimate
    augrc: Estimate
    references: str
    bins: tuple[Bin, ...]
    diagram: Reliability
    risk: Curve


class ConfidenceView:
    """The systems with confidences, and those without."""

    frame = Frame()

    def __init__(self, view: View) -> None:
        systems = [(name, view.policy.systems[name]) for name in view.systems]
        self.lines: list[ConfidenceLine] = []
        given = [
            (name, system, system.calibration, system.selective)
            for name, system in systems
            if system.calibration is not None and system.selective is not None
        ]
        curves = [
            [(point.coverage, point.risk) for point in selective.points]
            for _, _, _, selective in given
        ]
        ceiling = risk_ceiling(curves)
        self.risk_ticks = risk_ticks(ceiling)
        self.lines = [
            _line(name, system, calibration, selective, ceiling)
            for name, system, calibration, selective in given
        ]
        said = {name for name, *_ in given}
        self.silent = listing([shown_name(name) for name, _ in systems if name not in said])

    @property
    def known(self) -> bool:
        """Whether any system says how sure it is."""
        return bool(self.lines)


def _line(
    name: str,
    system: SystemReport,
    calibration: CalibrationReport,
    selective: SelectiveReport,
    ceiling: float,
) -> ConfidenceLine:
    counts, expected = system.confidence, calibration.ece_expected
    about = f"{calibration.n:,} replies with a confidence"
    if counts is not None and counts.reason:
        about += f"; {visible(counts.reason)}"
    bins = bins_of(calibration)
    points = [(point.coverage, point.risk) for point in selective.points]
    return ConfidenceLine(
        name=shown_name(name),
        about=about,
        finding=calibration_finding(calibration.confidence, calibration.accuracy, expected.p),
        miscalibrated=expected.p < ALPHA,
        accuracy=number(calibration.accuracy),
        confidence=number(calibration.confidence),
        ece=estimate(calibration.ece),
        ece_mass=estimate(calibration.ece_equal_mass),
        brier=estimate(calibration.brier),
        expected=number(expected.mean),
        expected_high=number(expected.high),
        p=shown_p(expected.p),
        aurc=estimate(selective.aurc),
        augrc=estimate(selective.augrc),
        references=f"{number(selective.aurc_best)} to {number(selective.aurc_random)}",
        bins=bins,
        diagram=reliability(bins),
        risk=curve(points, selective.aurc_random, ceiling),
    )


def bins_of(calibration: CalibrationReport) -> tuple[Bin, ...]:
    """The equal-width bins, by rising confidence, ready to be drawn."""
    return tuple(
        Bin(
            low=one.low,
            high=one.high,
            n=one.n,
            n_right=one.n_right,
            confidence=one.confidence,
            accuracy=one.accuracy,
            accuracy_low=one.accuracy_low,
            accuracy_high=one.accuracy_high,
        )
        for one in calibration.bins
    )
