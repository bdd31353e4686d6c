"""Computes the report of one system from its collected rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from eval.extraction.metrics.associations import correlate_metrics
from eval.extraction.metrics.breakdowns import (
    SAMPLE_COLUMNS,
    build_breakdowns,
    build_field_parts,
    build_sample_parts,
)
from eval.extraction.metrics.calibration import measure_field_risks, summarise_confidences
from eval.extraction.metrics.columns import (
    MetricColumns,
    compute_outcome_columns,
    compute_weighted_sum,
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
from eval.extraction.metrics.measurement_plan import Failed, MeasurementPlan
from eval.extraction.metrics.metric_definitions import (
    AVERAGES,
    COST_PER_SAMPLE,
    FABRICATED_VALUE_RATE,
    FIELD_METRICS,
    FORBIDDEN_NULL_RATE,
    MEAN_LATENCY,
    NOT_FOUND_RATE,
    QUOTE_METRICS,
    RELIABILITY_METRICS,
    SAMPLE_METRICS,
    SEVERITY_METRICS,
    TOKEN_EFFICIENCY,
)
from eval.extraction.metrics.notes import count_ambiguous_values, system_notes
from eval.extraction.metrics.performance import measure_performance
from eval.extraction.metrics.quality_report import QUALITY_COLUMNS, compute_quality
from eval.extraction.metrics.quality_score import CREDIT_WEIGHTS, SCORE_PARTS
from eval.extraction.metrics.recommendation import NO_VERDICT, build_recommendation
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
    NOT_FOUND_RATE,
    *QUOTE_METRICS,
    FORBIDDEN_NULL_RATE,
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
        positions: position in the run of each of the system's samples, shape (n,).
        resamples: bootstrap resamples over all samples of the run.
        plan: settings of the measurement.
    """
    n_samples = resamples.n_clusters
    outcome_values = compute_outcome_columns(system_rows, plan.prices, plan.failed)
    columns = MetricColumns(
        system_rows,
        positions,
        invalid=plan.invalid,
        failed=plan.failed,
        weights=plan.weights,
    )
    main_sample_sums = _headline_sums(columns, outcome_values, n_samples)
    other_sample_sums = _other_policy_sums(system_rows, positions, plan, outcome_values, n_samples)
    field_parts, left_out = build_field_parts(system_rows, columns, plan.max_names)
    group_parts = field_parts | build_sample_parts(
        system_rows, main_sample_sums.table, main_sample_sums.names, columns.sample
    )
    consistency_part = build_consistency_part(system_rows, positions, n_samples)
    # The sums are in the order of the parts: the headline, the other policy, consistency, groups.
    resampled = resample_parts(
        [main_sample_sums.part, other_sample_sums.part, consistency_part, *group_parts.values()],
        resamples,
    )

    main_sums, other_sums = (
        ResampledSums(
            sample_sums,
            sample_sums.part.with_sums(sums),
            plan.confidence,
            repeated=plan.repeats > 1,
        )
        for sample_sums, sums in zip((main_sample_sums, other_sample_sums), resampled, strict=False)
    )
    averages = {
        average: main_sums.compute_estimates(FIELD_METRICS[average]) for average in AVERAGES
    }
    metrics = {
        **main_sums.compute_estimates(SAMPLE_METRICS),
        **averages[plan.average],
        "field_accuracy_macro": averages["macro"]["field_accuracy"],
        **main_sums.compute_estimates(_OTHER_METRICS),
    }
    quality = compute_quality(
        metrics[_SCORE],
        main_sums.data,
        main_sample_sums.names,
        main_sample_sums.totals,
        plan.weights,
        plan.confidence,
        (plan.headline, metrics[plan.headline]),
    )
    # Invalid replies count as in the headline. Replies without a known cost are left out, because
    # ``cost_usd:n`` is 0 for them.
    n_correct_fields = float(
        compute_weighted_sum(columns.tallies, CREDIT_WEIGHTS["partial"])
        @ outcome_values["cost_usd:n"]
    )
    performance = measure_performance(
        system_rows,
        columns.sample,
        resamples,
        plan.confidence,
        metrics,
        n_correct_fields=n_correct_fields,
    )
    confidence_summary = summarise_confidences(
        system_rows, columns.sample, resamples, plan.confidence
    )
    consistency = (
        compute_consistency(consistency_part.with_sums(resampled[2]), plan.confidence)
        if system_rows.output_hashes is not None
        else None
    )
    metrics |= _collect_part_metrics(
        quality.micro, performance, confidence_summary.error, consistency
    )
    breakdowns = build_breakdowns(
        group_parts,
        resampled[3:],
        columns.compute_sample_means(n_samples)["field_f1_partial"],
        confidence=plan.confidence,
        repeated=plan.repeats > 1,
        left_out=left_out,
    )
    feature_correlations, metric_correlations = correlate_metrics(
        system_rows, columns, n_samples, plan.confidence
    )
    outcomes = _count_outcomes(system_rows, plan.failed)
    grades, errors = grade_metrics(metrics), count_errors(system_rows)
    recommendation = build_recommendation(metrics, breakdowns, grades, errors, plan.headline)
    if recommendation.verdict.startswith(NO_VERDICT):
        # The score's own word may be certain while the hallucination rate is not.
        quality = replace(quality, meaning=recommendation.verdict)
    return SystemReport(
        outcomes=outcomes,
        invalid_reasons=system_rows.violations.list_reasons(
            plan.weights.shares,
            round(metrics["schema_validity"].denominator or 0.0),
            round(metrics[_SCORE].denominator or 0.0),
            as_is=plan.invalid == "as_is",
        ),
        metrics=metrics,
        averages=_group_by_metric(averages),
        other_policy=other_sums.compute_estimates(_ACCURACY_METRICS[plan.average]),
        quality=quality,
        categories={
            mode: {
                name: _to_share(estimate)
                for name, estimate in main_sums.compute_estimates(mode_metrics).items()
            }
            for mode, mode_metrics in CATEGORY_METRICS.items()
        },
        composite=score_distribution(system_rows),
        hallucinations=_count_hallucinations(system_rows, main_sums),
        omissions=_omission_rates(breakdowns),
        type_confusion=count_type_confusion(system_rows),
        rules=dict(sorted(system_rows.diagnostics["rules"].items())),
        errors=errors,
        similarities=similarity_distributions(system_rows),
        breakdowns=breakdowns,
        correlations=feature_correlations,
        metric_correlations=metric_correlations,
        performance=performance,
        reliability={metric.name: metrics[metric.name] for metric in RELIABILITY_METRICS},
        confidences=confidence_summary.counts,
        calibration=confidence_summary.report,
        field_risks=measure_field_risks(
            system_rows, positions, resamples, plan.confidence, plan.max_names
        ),
        consistency=consistency,
        grades=grades,
        sla=check_service_levels(metrics, plan.requirements),
        recommendation=recommendation,
        ambiguous_values=count_ambiguous_values(system_rows),
        notes=tuple(system_notes(outcomes, metrics, system_rows, plan)),
    )


_ACCURACY_METRICS: Mapping[Average, tuple[RatioMetric, ...]] = {
    average: (*SAMPLE_METRICS[:1], *FIELD_METRICS[average]) for average in AVERAGES
}
"""The metrics that depend on the policy for invalid replies: the quality score, which is the first
of ``SAMPLE_METRICS``, and the field metrics."""


def _headline_sums(
    columns: MetricColumns, outcome_values: Mapping[str, np.ndarray], n_samples: int
) -> SampleSums:
    metrics: Iterable[RatioMetric] = (
        *SAMPLE_METRICS,
        *(metric for average in AVERAGES for metric in FIELD_METRICS[average]),
        *(metric for mode_metrics in CATEGORY_METRICS.values() for metric in mode_metrics),
        *SEVERITY_METRICS,
        *_OTHER_METRICS,
    )
    part_columns = (f"part:{name}:sum" for name in SCORE_PARTS)
    extra_columns = (*QUALITY_COLUMNS, *SAMPLE_COLUMNS, *part_columns)
    row_values = {**outcome_values, **columns.summable_columns()}
    return SampleSums.from_columns(
        columns, row_values, metrics, n_samples, extra_columns=extra_columns
    )


def _other_policy_sums(
    system_rows: SystemRows,
    positions: NDArray[np.int64],
    plan: MeasurementPlan,
    outcome_values: Mapping[str, np.ndarray],
    n_samples: int,
) -> SampleSums:
    columns = MetricColumns(
        system_rows,
        positions,
        invalid=_OTHER_POLICIES[plan.invalid],
        failed=plan.failed,
        weights=plan.weights,
    )
    row_values = {**outcome_values, **columns.summable_columns()}
    return SampleSums.from_columns(columns, row_values, _ACCURACY_METRICS[plan.average], n_samples)


def _collect_part_metrics(
    micro: Estimate,
    performance_report: Performance,
    calibration_error: Estimate,
    consistency_report: Consistency | None,
) -> dict[str, Estimate]:
    """Collects the metrics that are computed in other parts of the report."""
    without_repeats = Estimate(value=None, why="each sample was asked once")
    throughput = Estimate(
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
        "throughput_rps": throughput,
        "exact_match_consistency": consistency_report.exact_match_consistency
        if consistency_report
        else without_repeats,
        "field_level_consistency": consistency_report.field_level_consistency
        if consistency_report
        else without_repeats,
        "value_variance": consistency_report.value_variance
        if consistency_report
        else without_repeats,
        "expected_calibration_error": calibration_error,
    }


def _group_by_metric(
    averages: Mapping[Average, Mapping[str, Estimate]],
) -> dict[str, dict[Average, Estimate]]:
    return {
        name: {average: estimates[name] for average, estimates in averages.items()}
        for name in averages["micro"]
    }


def _count_hallucinations(system_rows: SystemRows, sums: ResampledSums) -> Hallucinations:
    integers = system_rows.integers
    has_reply = integers[:, INTEGER_COLUMNS.index("outcome")] != OUTCOMES.index("error")
    counts = {
        str(kind): int(integers[has_reply, INTEGER_COLUMNS.index(f"hallucination_{kind}")].sum())
        for kind in (1, 2, 3, 4)
    }
    severities = sums.compute_estimates(SEVERITY_METRICS)
    severity_names: tuple[Severity, ...] = ("critical", "moderate", "minor")
    return Hallucinations(
        by_type=counts,
        severity={name: _to_share(severities[name]) for name in severity_names},
        total=sum(count for kind, count in counts.items() if kind != "2"),
    )


def _omission_rates(
    breakdowns: Mapping[Dimension, Breakdown],
) -> dict[Dimension, dict[str, Estimate]]:
    """Returns the omission rates by group, for groups with at least one expected field."""
    return {
        dimension: {
            key: group.metrics["omission_rate"]
            for key, group in breakdowns[dimension].groups.items()
            if group.expected
        }
        for dimension in _OMISSION_DIMENSIONS
    }


def _count_outcomes(system_rows: SystemRows, failed: Failed) -> Outcomes:
    outcome_codes = system_rows.integers[:, INTEGER_COLUMNS.index("outcome")]
    counts = {name: int((outcome_codes == code).sum()) for code, name in enumerate(OUTCOMES)}
    n_rows = len(outcome_codes)
    scored = n_rows if failed == "zero" else n_rows - counts["error"]
    return Outcomes(rows=n_rows, scored=scored, **counts)


def _to_share(value: Estimate) -> Share:
    """Converts a value that is a proportion to a count with its share."""
    return Share(
        count=round(value.numerator or 0.0),
        share=value.value,
        low=value.low,
        high=value.high,
        method=value.method,
    )
