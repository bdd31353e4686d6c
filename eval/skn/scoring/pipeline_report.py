"""Computes one pipeline's report: every metric with its interval and worst-case bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from eval.metrics.calibration import build_calibration_report
from eval.metrics.metric_value import CalibrationReport, ConfidenceCounts, MetricValue
from eval.skn.scoring.metric_definitions import (
    CATEGORY_METRICS,
    COLUMNS,
    METRICS,
    NO_REPLY,
    NOT_JUDGED,
    RETENTION_METRICS,
    VALIDITY_METRICS,
    VERDICT_METRICS,
)
from eval.skn.scoring.observation import Observation
from eval.skn.scoring.record import Outcomes, PipelineReport
from eval.skn.scoring.sample_counts import SampleCounts
from eval.stats.bootstrap import Distribution, round_significant
from eval.stats.confidences import ConfidentReplies
from eval.stats.estimates import (
    Estimate,
    add_interval,
    choose_interval,
)
from eval.stats.quantiles import bootstrap_quantiles
from eval.stats.ratio_metrics import RatioMetric, compute_estimates

_UNBOUNDED_METRIC = "ece_equal_mass"
"""A calibration metric without worst-case bounds; ``_add_bounds`` gives the reason."""
CALIBRATION_METRICS = ("ece", "ece_equal_mass", "brier")
QUANTILE_METRICS = ("latency_p50_s", "latency_p95_s")


def build_pipeline_report(samples: SampleCounts, pipeline: str) -> PipelineReport:
    """Computes all numbers of one pipeline."""
    rows, is_judged = samples.rows[pipeline], pipeline not in samples.plan.unjudged
    replies = select_confident_replies(samples, pipeline) if is_judged else None
    calibration = None if replies is None else _compute_calibration(samples, replies)
    metrics = {
        **compute_ratio_estimates(samples, list(METRICS.values()), pipeline),
        **_build_calibration_values(samples, pipeline, calibration),
        **_build_latency_values(samples, pipeline),
    }
    per_category = {
        category: compute_ratio_estimates(samples, CATEGORY_METRICS, pipeline, category)
        for category in samples.categories
    }
    if not is_judged:
        metrics = _remove_verdict_metrics(metrics)
        per_category = {name: _remove_verdict_metrics(part) for name, part in per_category.items()}
    return PipelineReport(
        outcomes=_count_outcomes(rows),
        metrics=metrics,
        per_category=per_category,
        validity=compute_ratio_estimates(samples, list(VALIDITY_METRICS.values()), pipeline),
        retention=_compute_retention(samples, pipeline),
        confidences=count_confidences(rows),
        calibration=calibration,
    )


def _remove_verdict_metrics(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Replaces the metrics that need verdicts by empty ones with the reason."""
    return {
        name: Estimate(value=None, higher_is_better=estimate.higher_is_better, why=NOT_JUDGED)
        if name in VERDICT_METRICS
        else estimate
        for name, estimate in estimates.items()
    }


def select_confident_replies(samples: SampleCounts, pipeline: str) -> ConfidentReplies | None:
    """Returns the judged answers to answerable samples that state a confidence.

    None if there are none.
    """
    rows = [
        row for row in samples.rows[pipeline] if _has_judgement(row) and row.confidence is not None
    ]
    if not rows:
        return None
    return ConfidentReplies(
        confidences=np.array([row.confidence for row in rows], dtype=np.float64),
        right=np.array([row.correct for row in rows], dtype=np.float64),
        clusters=np.array([samples.sample_index[row.sample] for row in rows], dtype=np.int64),
    )


def compute_latency_quantiles(samples: SampleCounts, pipeline: str) -> Distribution | None:
    """Computes the quantiles of latency; None if no row has a latency."""
    rows = [row for row in samples.rows[pipeline] if row.latency_s is not None]
    if not rows:
        return None
    return bootstrap_quantiles(
        np.array([row.latency_s for row in rows], dtype=np.float64),
        np.array([samples.sample_index[row.sample] for row in rows], dtype=np.int64),
        samples.resamples,
    )


def _has_judgement(row: Observation) -> bool:
    return row.outcome == "ANSWERED" and row.answerable and row.correct is not None


def compute_ratio_estimates(
    samples: SampleCounts, metrics: Sequence[RatioMetric], pipeline: str, category: str = ""
) -> dict[str, Estimate]:
    """Computes estimates of some metrics over the samples of a category, or over all samples."""
    return compute_estimates(
        metrics,
        COLUMNS,
        samples.get_resampled_counts(pipeline, category),
        confidence=samples.plan.confidence,
        repeated=samples.repeats > 1,
    )


def _compute_calibration(samples: SampleCounts, replies: ConfidentReplies) -> CalibrationReport:
    return build_calibration_report(
        replies,
        replies.clusters,
        replies.compute_distribution(samples.resamples),
        confidence=samples.plan.confidence,
        seed=samples.plan.seed,
    )


def _build_calibration_values(
    samples: SampleCounts, pipeline: str, calibration: CalibrationReport | None
) -> dict[str, Estimate]:
    totals = samples.sum_columns(pipeline)
    # Unsettled rows are answerable, and it is not known whether their answers are correct.
    n_missing = round(totals["unsettled"] + totals["failed_answerable"])
    if calibration is None:
        reason = "no judged answer states a confidence"
        has_missing = n_missing > 0
        return {
            name: Estimate(
                value=None,
                worst=1.0 if has_missing and name != _UNBOUNDED_METRIC else None,
                best=0.0 if has_missing and name != _UNBOUNDED_METRIC else None,
                higher_is_better=False,
                missing=n_missing,
                why=reason,
            )
            for name in CALIBRATION_METRICS
        }
    values: tuple[MetricValue, ...] = (
        calibration.ece,
        calibration.ece_equal_mass,
        calibration.brier,
    )
    return {
        name: _add_bounds(name, value, calibration.n, n_missing)
        for name, value in zip(CALIBRATION_METRICS, values, strict=True)
    }


def _add_bounds(name: str, metric_value: MetricValue, n: int, missing: int) -> Estimate:
    """Returns a calibration metric with its bounds.

    ``missing`` rows may have any confidence and may be right or wrong. A calibration error is a sum
    of gaps divided by n, and each such row changes the sum by at most 1 up or down (triangle
    inequality; the bounds are valid, but may not be attained). The Brier score is a mean, and each
    such row adds between 0 and 1 to its sum. The error over bins of equal mass has no bounds,
    because further rows would change the bins.
    """
    value = metric_value.value or 0.0
    total = n + missing
    lowest_sum = value * n if name == "brier" else max(0.0, value * n - missing)
    is_bounded = name != _UNBOUNDED_METRIC
    return Estimate(
        value=metric_value.value,
        low=metric_value.low,
        high=metric_value.high,
        method=metric_value.method,
        n=n,
        worst=round_significant((value * n + missing) / total) if is_bounded else None,
        best=round_significant(lowest_sum / total) if is_bounded else None,
        higher_is_better=False,
        missing=missing,
    )


def _build_latency_values(samples: SampleCounts, pipeline: str) -> dict[str, Estimate]:
    rows = samples.rows[pipeline]
    n_known = sum(row.latency_s is not None for row in rows)
    distribution = compute_latency_quantiles(samples, pipeline)
    empty_estimate = Estimate(
        value=None, n=n_known, higher_is_better=False, missing=len(rows) - n_known
    )
    if distribution is None:
        return {name: replace(empty_estimate, why=NO_REPLY) for name in QUANTILE_METRICS}
    intervals = distribution.compute_intervals(samples.plan.confidence)
    return {
        name: add_interval(
            empty_estimate, float(distribution.values[column]), choose_interval(intervals, column)
        )
        for column, name in enumerate(QUANTILE_METRICS)
    }


def _count_outcomes(rows: Sequence[Observation]) -> Outcomes:
    outcome_counts = Counter(row.outcome for row in rows)
    readable_rows = [row for row in rows if not row.failed]
    abstention_counts = Counter(
        (row.outcome == "ABSTAINED", row.answerable) for row in readable_rows
    )
    failures: Counter[str] = Counter()
    for row in rows:
        failures.update(row.failures)
    return Outcomes(
        rows=len(rows),
        answered=outcome_counts["ANSWERED"],
        abstained=outcome_counts["ABSTAINED"],
        invalid=outcome_counts["INVALID"],
        error=outcome_counts["ERROR"],
        unjudged=sum(row.unjudged for row in rows),
        stages=_count_names(row.stage for row in rows if row.failed),
        judge_failures=dict(sorted(failures.items())),
        abstention_read=_count_names(row.abstention_source for row in readable_rows),
        true_positives=abstention_counts[True, False],
        false_positives=abstention_counts[True, True],
        false_negatives=abstention_counts[False, False],
        true_negatives=abstention_counts[False, True],
    )


def _count_names(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def count_confidences(rows: Sequence[Observation]) -> ConfidenceCounts:
    """Counts the judged answers to answerable samples with and without a confidence."""
    judged = [row for row in rows if _has_judgement(row)]
    n_stated = sum(row.confidence is not None for row in judged)
    n_failed = sum(row.failed and row.answerable for row in rows)
    reasons = []
    if not n_stated:
        reasons.append("no judged answer states a confidence")
    elif n_stated < len(judged):
        reasons.append(f"{len(judged) - n_stated} of {len(judged)} judged answers state none")
    return ConfidenceCounts(
        given=n_stated,
        missing=len(judged) - n_stated,
        unreadable=n_failed,
        reason="; ".join(reasons),
    )


def _compute_retention(samples: SampleCounts, pipeline: str) -> dict[str, Estimate]:
    """Computes the share of facts, of numbers and so on that the extractions keep; may be empty."""
    if not any(row.retained for row in samples.rows[pipeline]):
        return {}
    estimates = compute_ratio_estimates(samples, list(RETENTION_METRICS.values()), pipeline)
    return {kind: estimates[metric.name] for kind, metric in RETENTION_METRICS.items()}
