"""The metrics of cards that ``epoche gate`` checks."""

from __future__ import annotations

import msgspec

from eval.abstention.metrics.definitions import SYSTEM_METRICS
from eval.abstention.metrics.optional_metrics import (
    CONFIDENCE_METRICS,
    SELF_CONSISTENCY,
    collect_optional_metrics,
)
from eval.abstention.metrics.record import SystemReport
from eval.metrics.metric_value import MetricValue

GATED_METRICS = (*SYSTEM_METRICS, *CONFIDENCE_METRICS, SELF_CONSISTENCY)
"""The metrics of cards that a condition may be about."""


def collect_gated_values(system: SystemReport) -> dict[str, MetricValue]:
    """Returns a system's metrics by name; one without a value says why."""
    values = dict.fromkeys(GATED_METRICS, MetricValue(value=None))
    values |= system.metrics | collect_optional_metrics(system)
    return {
        name: value
        if value.value is not None or value.why
        else msgspec.structs.replace(value, why=_explain_null(name))
        for name, value in values.items()
    }


def _explain_null(metric: str) -> str:
    """Explains why a metric of cards has no value."""
    if metric in CONFIDENCE_METRICS:
        return "the system gives no confidence"
    if metric == SELF_CONSISTENCY:
        return "the run has no repeats"
    reasons = {
        "AP": "the system never abstained",
        "CVRR": "there is no usable reply to a contradictory card",
        "answer_accuracy": "the system never answered",
    }
    return f"its denominator is 0, {reasons.get(metric, 'there is no card it is about')}"
