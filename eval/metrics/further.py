"""The numbers of a system that are no ratios of counts, under the names they are called by."""

from __future__ import annotations

from eval.metrics.record import MetricValue, SystemReport

CONFIDENCE_METRICS = ("ECE", "ECE-equal-mass", "Brier", "AURC", "AUGRC")
"""Of systems that say how sure they are; lower is better in each."""

SELF_CONSISTENCY = "self-consistency"
"""Of systems that were asked each card several times."""


def further_metrics(system: SystemReport) -> dict[str, MetricValue]:
    """Those that could be computed, in a fixed order; the rest is left out."""
    found: dict[str, MetricValue] = {}
    if system.calibration is not None:
        found["ECE"] = system.calibration.ece
        found["ECE-equal-mass"] = system.calibration.ece_equal_mass
        found["Brier"] = system.calibration.brier
    if system.selective is not None:
        found["AURC"], found["AUGRC"] = system.selective.aurc, system.selective.augrc
    if system.self_consistency is not None:
        found[SELF_CONSISTENCY] = system.self_consistency
    return found
