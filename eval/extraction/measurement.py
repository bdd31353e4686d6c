"""Measures and compares extraction runs for the commands that serve all benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from eval.extraction.aggregate import aggregate_rows
from eval.extraction.comparison import compare_pairs
from eval.extraction.comparison_record import ComparedMetric
from eval.extraction.metrics.metric_definitions import (
    COST_PER_SAMPLE,
    FABRICATED_VALUE_RATE,
    FIELD_METRICS,
    FORBIDDEN_NULL_RATE,
    MEAN_LATENCY,
    NOT_FOUND_RATE,
    QUOTE_METRICS,
    RELIABILITY_METRICS,
    SAMPLE_METRICS,
    TOKEN_EFFICIENCY,
)
from eval.extraction.record import Estimate, ExtractionReport
from eval.extraction.run_set import NOUN, RunSet, list_run_notes, open_runs
from eval.extraction.summary import select_metrics
from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    FAILURE_METRIC,
    MeasuredRuns,
    Measurement,
    MetricInfo,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.metric_value import ConfidenceCounts
from eval.metrics.runs.run_set import hash_items, list_systems
from eval.stats.bootstrap import round_significant

_COMPARED_AS: Final[dict[str, ComparedMetric]] = {
    "extraction_quality_score": "extraction_quality_score",
    "schema_validity": "schema_validity",
    "exact_match": "exact_match",
    "field_f1_strict": "field_f1_strict",
    "field_f1_partial": "field_f1_partial",
    "field_f1_lenient": "field_f1_lenient",
    "field_precision_partial": "field_precision_partial",
    "field_recall_partial": "field_recall_partial",
    "type_accuracy": "type_accuracy",
    "field_accuracy_macro": "field_accuracy_macro",
    "hallucination_rate": "hallucination_rate",
    "omission_rate": "omission_rate",
    "latency_mean_s": "latency_s",
    "cost_usd_per_sample": "cost_usd",
}
"""Name of a metric → its name in ``eval.extraction.comparison``."""

_METRICS: Final[dict[str, MetricInfo]] = {
    **{
        metric.name: MetricInfo(
            metric.higher_is_better, metric.in_unit_interval, metric.name in _COMPARED_AS
        )
        for metric in (
            *SAMPLE_METRICS,
            *FIELD_METRICS["micro"],
            FABRICATED_VALUE_RATE,
            FORBIDDEN_NULL_RATE,
            NOT_FOUND_RATE,
            *QUOTE_METRICS,
            MEAN_LATENCY,
            TOKEN_EFFICIENCY,
            COST_PER_SAMPLE,
            *RELIABILITY_METRICS,
        )
    },
    FAILURE_METRIC: MetricInfo(False, is_compared=False),
    "extraction_quality_score_micro": MetricInfo(True, is_compared=False),
    "field_accuracy_macro": MetricInfo(True),
    **{
        f"latency_{name}_s": MetricInfo(False, is_share=False, is_compared=False)
        for name in ("p50", "p95", "p99", "min", "max")
    },
    "throughput_rps": MetricInfo(True, is_share=False, is_compared=False),
    "exact_match_consistency": MetricInfo(True, is_compared=False),
    "field_level_consistency": MetricInfo(True, is_compared=False),
    "value_variance": MetricInfo(False, is_share=False, is_compared=False),
    "expected_calibration_error": MetricInfo(False, is_compared=False, is_of_confidences=True),
}


class ExtractionMeasurement(Measurement):
    """Measures extraction runs with the settings of the first run.

    Args:
        run_set: the runs.
        plan: how samples are resampled.
    """

    def __init__(self, run_set: RunSet, plan: ResamplingPlan) -> None:
        first = run_set.runs[0].manifest
        self._run_set = run_set
        self._plan = replace(
            first.build_measurement_plan(),
            repeats=run_set.repeats,
            resamples=plan.resamples,
            seed=plan.seed,
            confidence=plan.confidence,
        )
        runs = MeasuredRuns(
            benchmark="extraction",
            noun=NOUN,
            systems=list_systems([run.system_names for run in run_set.runs]),
            n_items=len(run_set.samples),
            n_left_out=run_set.n_left_out,
            metrics=_METRICS,
            headline=select_metrics(self._plan.headline),
            items=hash_items(run_set.samples),
            details={
                "repeats": str(run_set.repeats),
                "match": self._plan.matching,
                "invalid": self._plan.invalid,
                "failed": self._plan.failed,
                "avg": self._plan.average,
            },
            notes=tuple(list_run_notes(run_set)),
            asked=run_set.asked,
        )
        super().__init__(runs, plan)

    @cached_property
    def _report(self) -> ExtractionReport:
        return aggregate_rows(self._run_set.iter_rows(), self._plan)

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """See ``Measurement``."""
        metrics = self._report.systems[system].metrics
        return metrics | {FAILURE_METRIC: _complement(metrics["success_rate"])}

    def count_confidences(self) -> Mapping[str, ConfidenceCounts]:
        """See ``Measurement``."""
        return {name: report.confidences for name, report in self._report.systems.items()}

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """See ``Measurement``. Differences are means over samples, also of pooled metrics."""
        names = {_COMPARED_AS[name]: name for name in metric_names}
        comparisons = compare_pairs(self._run_set.iter_rows(), pairs, tuple(names), self._plan)
        return tuple(
            msgspec.structs.replace(comparison, metric=names[comparison.metric])
            for comparison in comparisons
        )


def _complement(share: Estimate) -> Estimate:
    """Returns the estimate of the share of all other rows."""
    return msgspec.structs.replace(
        share,
        value=None if share.value is None else round_significant(1 - share.value),
        low=None if share.high is None else round_significant(1 - share.high),
        high=None if share.low is None else round_significant(1 - share.low),
        numerator=(share.denominator or 0.0) - (share.numerator or 0.0),
        higher_is_better=False,
    )


def measure_runs(folders: Sequence[Path], plan: ResamplingPlan) -> ExtractionMeasurement:
    """Measures extraction runs.

    Raises:
        EpocheError: see ``eval.extraction.run_set.open_runs``.
    """
    return ExtractionMeasurement(open_runs(folders), plan)
