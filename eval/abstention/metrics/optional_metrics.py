"""Metrics that only some runs have: calibration, selective prediction and self-consistency."""

from __future__ import annotations

from eval.abstention.metrics.record import SystemReport
from eval.metrics.metric_value import MetricValue

CONFIDENCE_METRICS = ("ECE", "ECE-equal-mass", "Brier", "AURC", "AUGRC")
"""Metrics of systems that state confidences; lower is better in each."""

MEMORY = "memory"
"""The metric of systems that answered U cards whose claim was set aside; lower is better."""
SELF_CONSISTENCY = "self-consistency"
"""The metric of systems that answered each card several times."""


def collect_optional_metrics(system: SystemReport) -> dict[str, MetricValue]:
    """Returns the optional metrics that could be computed, by name, in a fixed order."""
    metrics: dict[str, MetricValue] = {}
    if system.calibration is not None:
        metrics["ECE"] = system.calibration.ece
        metrics["ECE-equal-mass"] = system.calibration.ece_equal_mass
        metrics["Brier"] = system.calibration.brier
    if system.selective is not None:
        metrics["AURC"], metrics["AUGRC"] = system.selective.aurc, system.selective.augrc
    if system.memory is not None:
        metrics[MEMORY] = system.memory
    if system.self_consistency is not None:
        metrics[SELF_CONSISTENCY] = system.self_consistency
    return metrics
