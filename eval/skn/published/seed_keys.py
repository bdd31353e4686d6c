"""One pipeline's numbers under the keys of the published ``metrics.json``, by our definitions."""

from __future__ import annotations

from typing import Any

from eval.skn.scoring.record import PipelineReport
from eval.stats.shown import Value

_KEYS = (
    ("accuracy", "accuracy"),
    ("ece", "ece"),
    ("avg_confidence", "mean_confidence"),
    ("confidence_when_correct", "confidence_when_correct"),
    ("confidence_when_wrong", "confidence_when_wrong"),
    ("hallucination_rate", "hallucination_rate"),
    ("hallucination_severity", "hallucination_severity"),
    ("normalized_hallucination", "normalized_hallucination"),
    ("groundedness", "groundedness"),
    ("unsupported_fraction", "unsupported_fraction"),
    ("abstention_precision", "abstention_precision"),
    ("abstention_recall", "abstention_recall"),
    ("abstention_f1", "abstention_f1"),
)
_WITH_INTERVAL = frozenset(("accuracy", "normalized_hallucination", "groundedness"))


def seed_keys(report: PipelineReport) -> dict[str, Any]:
    """The published keys in their order; null is what cannot be had, and nothing is rounded."""
    found: dict[str, Any] = {}
    for key, metric in _KEYS:
        value = report.metrics[metric]
        found[key] = value.value
        if key in _WITH_INTERVAL:
            found[f"{key}_ci"] = _interval(value)
    return found


def _interval(value: Value) -> dict[str, Any]:
    return {
        "mean": value.value,
        "ci_low": value.low,
        "ci_high": value.high,
        "std": value.std,
        "method": value.method,
    }
