"""Maps our numbers of one pipeline to the keys of the published ``metrics.json``.

"Seed" means the published benchmark, from which this one was developed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from eval.skn.scoring.record import PipelineReport
from eval.stats.estimates import Estimate

# Published key, and the name of our metric.
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


def select_published_keys(report: PipelineReport) -> dict[str, Any]:
    """Returns the published keys in their order, unrounded; undefined values are null."""
    values: dict[str, Any] = {}
    for key, metric in _KEYS:
        estimate = report.metrics[metric]
        values[key] = estimate.value
        if key in _WITH_INTERVAL:
            values[f"{key}_ci"] = _build_interval(estimate)
    return values


def remove_withheld_keys(values: dict[str, Any], withheld: Collection[str]) -> dict[str, Any]:
    """Replaces the published keys of metrics that are not given, and their intervals, by null."""
    removed = {key for key, metric in _KEYS if metric in withheld}
    return {
        key: dict.fromkeys(value)
        if key.removesuffix("_ci") in removed and isinstance(value, dict)
        else None
        if key in removed
        else value
        for key, value in values.items()
    }


def _build_interval(estimate: Estimate) -> dict[str, Any]:
    return {
        "mean": estimate.value,
        "ci_low": estimate.low,
        "ci_high": estimate.high,
        "std": estimate.std,
        "method": estimate.method,
    }
