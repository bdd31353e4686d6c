"""Computes the report of one system from its collected rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from eval.extraction.metrics.associations import correlate_metrics
from eval.extraction.metrics.breakdowns import (
    SAMPLE_COLUMNS,
    build_breakdowns,
    build_field_parts,
    build_sample_parts,
)
from eval.extraction.metrics.calibration import summarise_confidences
from eval.extraction.metrics.columns import (
    CREDIT_WEIGHTS,
    MetricColumns,
    outcome_columns,
    weighted_sum,
)
from eval.extraction.metrics.consistency_report import build_consistency_part, compute_consistency
from eval.extraction.metrics.distributions import (
    CATEGORY_METRICS,
    count_errors,
    count_type_confusion,
    score_distribution,
    similarity_distributions,
)
from eval.extraction.metrics.grades import check_service_levels, grade_metrics
from eval.extraction.metrics.measurement_plan import MeasurementPlan
from eval.extraction.metrics.metric_definitions import (
    AVERAGES,
    COST_PER_SAMPLE,
    FABRICATED_VALUE_RATE,
    FIELD_METRICS,
    MEAN_LATENCY,
    RELIABILITY_METRICS,
    SAMPLE_METRICS,
    SEVERITY_METRICS,
    TOKEN_EFFICIENCY,
)
from eval.extraction.metrics.notes import system_notes
from eval.extraction.metrics.performance import measure_performance
from eval.extraction.metrics.quality_report import QUALITY_COLUMNS as OF_QUALITY
from eval.extraction.metrics.quality_report import compute_quality
from eval.extraction.metrics.quality_score import SCORE_PARTS
from eval.extraction.metrics.recommendation import build_recommendation
from eval.extraction.metrics.resampler import resample_parts
from eval.extraction.metrics.sample_sums import ResampledSums, SampleSums
from eval.extraction.metrics.system_rows import INTEGER_COLUMNS, OUTCOMES, SystemRows
from eval.extraction.record import (
    Average,
    Breakdown,
    Consistency,
    Dimension,
    Estimate,
    Hallucinations,
    Invalid,
    Outcomes,
    Performance,
    Severity,
    Share,
    SystemReport,
)
from eval.stats.bootstrap import ClusterResamples
from eval.stats.ratio_metrics import RatioMetric

_SCORE = "extraction_quality_score"
_OTHER_METRICS = (
    FABRICATED_VALUE_RATE,
    MEAN_LATENCY,
    TOKEN_EFFICIENCY,
    COST_PER_SAMPLE,
    *RELIABILITY_METRICS,
)
_OTHER_POLICIES: Mapping[Invalid, Invalid] = {"zero": "as_is", "as_is": "zero"}
_OMISSION_DIMENSIONS: tuple[Dimension, ...] = ("name", "type", "required", "depth")


def build_system_report(
    system_rows: SystemRows,
    positions: NDArray[np.int64],
    resamples: ClusterResamples,
    plan: MeasurementPlan,
) -> SystemReport:
    """Computes the report of one system.

    Args:
        system_rows: rows of the system, at least one.
        positions: position in the run of each of its samples, shape (its samples,).
        resamples: bootstrap resamples over all samples of the run.
        plan: settings of the measurement.
    """
    samples = resamples.n_clusters
    ended = outcome_columns(system_rows, plan.prices)
    columns = MetricColumns(system_rows, positions, invalid=plan.invalid, weights=plan.weights)
    sheet = _headline_sums(columns, ended, samples)
    other = _other_policy_sums(system_rows, positions, plan, ended, samples)
    fields, left_out = build_field_parts(system_rows, columns, plan.max_names)
    groups = fields | build_sample_parts(system_rows, sheet.table, sheet.names, columns.sample)
    repeats = build_consistency_part(system_rows, positions, samples)
    resampled = resample_parts([sheet.part, other.part, repeats, *groups.values()], resamples)

    main_sums, others = (
        ResampledSums(
            sample_sums,
            sample_sums.part.with_sums(sums),
            plan.confidence,
            repeated=plan.repeats > 1,
        )
        for sample_sums, sums in zip((sheet, other), resampled, strict=False)
    )
    averages = {
        average: main_sums.compute_estimates(FIELD_METRICS[average]) for average in AVERAGES
    }
    metrics = {
        **main_sums.compute_estimates(SAMPLE_METRICS),
        **averages[plan.average],
        **main_sums.compute_estimates(_OTHER_METRICS),
    }
    scores = compute_quality(
        metrics[_SCORE], main_sums.data, sheet.names, sheet.totals, plan.weights, plan.confidence
    )
    # Same policy for invalid replies as in the headline; replies without a known cost count 0.
    right = float(weighted_sum(columns.tallies, CREDIT_WEIGHTS["partial"]) @ ended["cost_usd:n"])
    took = measure_performance(
        system_rows, columns.sample, resamples, plan.confidence, metrics, n_correct_fields=right
    )
    sure = summarise_confidences(system_rows, columns.sample, resamples, plan.confidence)
    agreeing = (
        compute_consistency(repeats.with_sums(resampled[2]), plan.confidence)
        if system_rows.output_hashes is not None
        else None
    )
    metrics |= _collect_part_metrics(scores.micro, took, sure.error, agreeing)
    parts = build_breakdowns(
        groups,
        resampled[3:],
        columns.sample_means(samples)["field_f1_partial"],
        confidence=plan.confidence,
        repeated=plan.repeats > 1,
        left_out=left_out,
    )
    with_features, among_metrics = correlate_metrics(system_rows, columns, samples, plan.confidence)
    outcomes = _count_outcomes(system_rows)
    graded, mistakes = grade_metrics(metrics), count_errors(system_rows)
    return SystemReport(
        outcomes=outcomes,
        metrics=metrics,
        averages=_group_by_metric(averages),
        other_policy=others.compute_estimates(_ACCURACY_METRICS[plan.average]),
        quality=scores,
        categories={
            mode: {
                name: _to_share(estimate)
                for name, estimate in main_sums.compute_estimates(measures).items()
            }
            for mode, measures in CATEGORY_METRICS.items()
        },
        composite=score_distribution(system_rows),
        hallucinations=_count_hallucinations(system_rows, main_sums),
        omissions=_omission_rates(parts),
        type_confusion=count_type_confusion(system_rows),
        errors=mistakes,
        similarities=similarity_distributions(system_rows),
        breakdowns=parts,
        correlations=with_features,
        metric_correlations=among_metrics,
        performance=took,
        reliability={metric.name: metrics[metric.name] for metric in RELIABILITY_METRICS},
        confidences=sure.counts,
        calibration=sure.report,
        consistency=agreeing,
        grades=graded,
        sla=check_service_levels(metrics, plan.requirements),
        recommendation=build_recommendation(metrics, parts, graded, mistakes),
        notes=tuple(system_notes(outcomes, metrics, system_rows, plan)),
    )


_ACCURACY_METRICS: Mapping[Average, tuple[RatioMetric, ...]] = {
    average: (*SAMPLE_METRICS[:1], *FIELD_METRICS[average]) for average in AVERAGES
}
"""The metrics that depend on the policy for invalid replies."""


def _headline_sums(
    columns: MetricColumns, outcome_sums: Mapping[str, np.ndarray], n_samples: int
) -> SampleSums:
    measures: Iterable[RatioMetric] = (
        *SAMPLE_METRICS,
        *(metric for average in AVERAGES for metric in FIELD_METRICS[average]),
        *(metric for measures in CATEGORY_METRICS.values() for metric in measures),
        *SEVERITY_METRICS,
        *_OTHER_METRICS,
    )
    besides = (*OF_QUALITY, *SAMPLE_COLUMNS, *(f"part:{name}:sum" for name in SCORE_PARTS))
    every = {**outcome_sums, **columns.summable_columns()}
    return SampleSums.from_columns(columns, every, measures, n_samples, extra_columns=besides)


def _other_policy_sums(
    system_rows: SystemRows,
    positions: NDArray[np.int64],
    plan: MeasurementPlan,
    outcome_sums: Mapping[str, np.ndarray],
    n_samples: int,
) -> SampleSums:
    columns = MetricColumns(
        system_rows, positions, invalid=_OTHER_POLICIES[plan.invalid], weights=plan.weights
    )
    every = {**outcome_sums, **columns.summable_columns()}
    return SampleSums.from_columns(columns, every, _ACCURACY_METRICS[plan.average], n_samples)


def _collect_part_metrics(
    micro: Estimate,
    performance_report: Performance,
    error: Estimate,
    consistency_report: Consistency | None,
) -> dict[str, Estimate]:
    """Collects the metrics that are computed in other parts of the report."""
    once = Estimate(value=None, why="each sample was asked once")
    rate = Estimate(
        value=performance_report.throughput_rps,
        higher_is_better=True,
        why=""
        if performance_report.throughput_rps is not None
        else "the completion times are not recorded",
    )
    return {
        "extraction_quality_score_micro": micro,
        **{
            f"latency_{name}_s": estimate
            for name, estimate in performance_report.latency_s.items()
            if name != "mean"
        },
        "throughput_rps": rate,
        "exact_match_consistency": consistency_report.exact_match_consistency
        if consistency_report
        else once,
        "field_level_consistency": consistency_report.field_level_consistency
        if consistency_report
        else once,
        "value_variance": consistency_report.value_variance if consistency_report else once,
        "expected_calibration_error": error,
    }


def _group_by_metric(
    averages: Mapping[Average, Mapping[str, Estimate]],
) -> dict[str, dict[Average, Estimate]]:
    return {
        name: {average: estimates[name] for average, estimates in averages.items()}
        for name in averages["micro"]
    }


def _count_hallucinations(system_rows: SystemRows, sums: ResampledSums) -> Hallucinations:
    table = system_rows.integers
    replied = table[:, INTEGER_COLUMNS.index("outcome")] != OUTCOMES.index("error")
    counts = {
        str(kind): int(table[replied, INTEGER_COLUMNS.index(f"hallucination_{kind}")].sum())
        for kind in (1, 2, 3, 4)
    }
    severities = sums.compute_estimates(SEVERITY_METRICS)
    named: tuple[Severity, ...] = ("critical", "moderate", "minor")
    return Hallucinations(
        by_type=counts,
        severity={name: _to_share(severities[name]) for name in named},
        total=sum(counts.values()),
    )


def _omission_rates(parts: Mapping[Dimension, Breakdown]) -> dict[Dimension, dict[str, Estimate]]:
    """Returns the omission rates by group, for groups with at least one expected field."""
    return {
        dimension: {
            key: group.metrics["omission_rate"]
            for key, group in parts[dimension].groups.items()
            if group.expected
        }
        for dimension in _OMISSION_DIMENSIONS
    }


def _count_outcomes(system_rows: SystemRows) -> Outcomes:
    ended = system_rows.integers[:, INTEGER_COLUMNS.index("outcome")]
    counts = {name: int((ended == place).sum()) for place, name in enumerate(OUTCOMES)}
    return Outcomes(rows=len(ended), scored=len(ended) - counts["error"], **counts)


def _to_share(value: Estimate) -> Share:
    """Converts a value that is a proportion to a count with its share."""
    return Share(
        count=round(value.numerator or 0.0),
        share=value.value,
        low=value.low,
        high=value.high,
        method=value.method,
    )
