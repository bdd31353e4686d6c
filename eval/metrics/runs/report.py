"""The records that ``epoche metrics`` and ``epoche compare`` write for runs of any benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from eval.metrics.comparison import Comparison, describe_coarse_tests
from eval.metrics.measurement import Measurement, SystemPair
from eval.stats.estimates import Estimate
from eval.stats.paired_tests import ALPHA
from kg.base.provenance import package_version


class _RunNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The fields common to both records."""

    version: str
    signature: str
    benchmark: str
    systems: tuple[str, ...]
    n_items: int
    """Number of items on which all systems are measured."""
    n_left_out: int
    """Number of further items, which not all runs have."""
    higher_is_better: dict[str, bool | None]
    """Metric → direction; null for descriptive metrics."""
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()


class RunMetrics(_RunNumbers, frozen=True, kw_only=True):
    """The metrics of the systems of some runs."""

    schema: str = "epoche.run-metrics/1"
    metrics: dict[str, dict[str, Estimate]]
    """System → metric → estimate."""


class RunComparison(_RunNumbers, frozen=True, kw_only=True):
    """The differences between systems of some runs."""

    schema: str = "epoche.run-comparison/1"
    comparisons: tuple[Comparison, ...]
    """By metric, then by pair. Benchmarks may add further statistics."""
    alpha: float = ALPHA


def build_metrics(measurement: Measurement) -> RunMetrics:
    """Computes the metrics of all systems."""
    return RunMetrics(
        **_describe(measurement, list(measurement.runs.metrics)),
        metrics={name: dict(measurement.estimates(name)) for name in measurement.runs.names},
    )


def build_comparison(measurement: Measurement, pairs: Sequence[SystemPair]) -> RunComparison:
    """Compares pairs of systems on all metrics whose differences can be tested."""
    metrics = [name for name, info in measurement.runs.metrics.items() if info.is_compared]
    comparisons = measurement.compare(pairs, metrics)
    families = [[pair for pair in comparisons if pair.metric == name] for name in metrics]
    coarse = [describe_coarse_tests(family, measurement.plan.resamples) for family in families]
    fields = _describe(measurement, metrics)
    fields["notes"] += tuple(dict.fromkeys(note for note in coarse if note))[:1]
    return RunComparison(**fields, comparisons=comparisons)


def _describe(measurement: Measurement, metrics: Sequence[str]) -> dict[str, Any]:
    runs, plan = measurement.runs, measurement.plan
    return {
        "version": package_version(),
        "signature": measurement.signature,
        "benchmark": runs.benchmark,
        "systems": runs.names,
        "n_items": runs.n_items,
        "n_left_out": runs.n_left_out,
        "higher_is_better": {name: runs.metrics[name].higher_is_better for name in metrics},
        "confidence": plan.confidence,
        "resamples": plan.resamples,
        "seed": plan.seed,
        "notes": (*runs.warnings, *runs.notes),
    }
