"""Computes one pipeline's report: every metric with its interval and worst-case bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from eval.metrics.confidence import build_calibration_report
from eval.metrics.record import CalibrationReport, ConfidenceCounts, MetricValue
from eval.skn.scoring.metric_definitions import (
    CATEGORY_METRICS,
    COLUMNS,
    METRICS,
    NO_REPLY,
    VALIDITY_METRICS,
)
from eval.skn.scoring.observation import Observation
from eval.skn.scoring.record import Outcomes, PipelineReport
from eval.skn.scoring.sample_counts import SampleCounts
from eval.stats.bootstrap import (
    Distribution,
    ResampledCounts,
    compute_resampled_sums,
    round_significant,
)
from eval.stats.confidences import ConfidentReplies
from eval.stats.estimates import (
    Estimate,
    add_interval,
    choose_interval,
    compute_edge_interval,
    compute_ratios,
)
from eval.stats.quantiles import bootstrap_quantiles
from eval.stats.ratio_metrics import RatioMetric, compute_estimates

_UNBOUNDED_METRIC = "ece_equal_mass"
CALIBRATION_METRICS = ("ece", "ece_equal_mass", "brier")
QUANTILE_METRICS = ("latency_p50_s", "latency_p95_s")


def build_pipeline_report(samples: SampleCounts, pipeline: str) -> PipelineReport:
    """Computes all numbers of one pipeline."""
    rows = samples.rows[pipeline]
    replies = select_confident_replies(samples, pipeline)
    calibration = None if replies is None else _compute_calibration(samples, replies)
    return PipelineReport(
        outcomes=_count_outcomes(rows),
        metrics={
            **_compute_ratios(samples, list(METRICS.values()), pipeline),
            **_build_calibration_values(samples, pipeline, calibration),
            **_build_latency_values(samples, pipeline),
        },
        per_category={
            category: _compute_ratios(samples, CATEGORY_METRICS, pipeline, category)
            for category in samples.categories
        },
        validity=_compute_ratios(samples, list(VALIDITY_METRICS.values()), pipeline),
        retention=_compute_retention(samples, rows),
        confidences=_count_confidences(rows),
        calibration=calibration,
    )


def select_confident_replies(samples: SampleCounts, pipeline: str) -> ConfidentReplies | None:
    """Returns the judged answers to answerable samples that state a confidence; None without."""
    rows = [row for row in samples.rows[pipeline] if _is_judged(row) and row.confidence is not None]
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


def _is_judged(row: Observation) -> bool:
    return row.outcome == "ANSWERED" and row.answerable and row.correct is not None


def _compute_ratios(
    samples: SampleCounts, metrics: Sequence[RatioMetric], pipeline: str, category: str = ""
) -> dict[str, Estimate]:
    return compute_estimates(
        metrics,
        COLUMNS,
        samples.get_resampled(pipeline, category),
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
    missing = round(totals["unsettled"] + totals["failed_answerable"])
    if calibration is None:
        why = "no judged answer states a confidence"
        bounded = missing > 0
        return {
            name: Estimate(
                value=None,
                worst=1.0 if bounded and name != _UNBOUNDED_METRIC else None,
                best=0.0 if bounded and name != _UNBOUNDED_METRIC else None,
                higher_is_better=False,
                missing=missing,
                why=why,
            )
            for name in CALIBRATION_METRICS
        }
    values: tuple[MetricValue, ...] = (
        *(calibration.ece, calibration.ece_equal_mass, calibration.brier),
    )
    return {
        name: _add_bounds(name, value, calibration.n, missing)
        for name, value in zip(CALIBRATION_METRICS, values, strict=True)
    }


def _add_bounds(name: str, found: MetricValue, n: int, missing: int) -> Estimate:
    """Returns a calibration metric with bounds over rows of unknown confidence and correctness.

    A calibration error is a sum of gaps divided by n. Each such row changes the sum by at most 1
    up or down (triangle inequality; the bounds are valid, but may not be attained). The Brier
    score is a mean, to whose sum a row adds between 0 and 1. Bins of equal mass depend on the
    replies themselves and would change with more of them, so that error has no bounds.
    """
    value = found.value or 0.0
    total = n + missing
    lowest_sum = value * n if name == "brier" else max(0.0, value * n - missing)
    bounded = name != _UNBOUNDED_METRIC
    return Estimate(
        value=found.value,
        low=found.low,
        high=found.high,
        method=found.method,
        n=n,
        worst=round_significant((value * n + missing) / total) if bounded else None,
        best=round_significant(lowest_sum / total) if bounded else None,
        higher_is_better=False,
        missing=missing,
    )


def _build_latency_values(samples: SampleCounts, pipeline: str) -> dict[str, Estimate]:
    rows = samples.rows[pipeline]
    known = sum(row.latency_s is not None for row in rows)
    distribution = compute_latency_quantiles(samples, pipeline)
    base = Estimate(value=None, n=known, higher_is_better=False, missing=len(rows) - known)
    if distribution is None:
        return {name: replace(base, why=NO_REPLY) for name in QUANTILE_METRICS}
    intervals = distribution.compute_intervals(samples.plan.confidence)
    return {
        name: add_interval(
            base, float(distribution.values[column]), choose_interval(intervals, column)
        )
        for column, name in enumerate(QUANTILE_METRICS)
    }


def _count_outcomes(rows: Sequence[Observation]) -> Outcomes:
    ended = Counter(row.outcome for row in rows)
    read = [row for row in rows if not row.failed]
    cells = Counter((row.outcome == "ABSTAINED", row.answerable) for row in read)
    failures: Counter[str] = Counter()
    for row in rows:
        failures.update(row.failures)
    return Outcomes(
        rows=len(rows),
        answered=ended["ANSWERED"],
        abstained=ended["ABSTAINED"],
        invalid=ended["INVALID"],
        error=ended["ERROR"],
        unjudged=sum(row.unjudged for row in rows),
        stages=_count_names(row.stage for row in rows if row.failed),
        judge_failures=dict(sorted(failures.items())),
        abstention_read=_count_names(row.read_by for row in read),
        true_positives=cells[True, False],
        false_positives=cells[True, True],
        false_negatives=cells[False, False],
        true_negatives=cells[False, True],
    )


def _count_names(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _count_confidences(rows: Sequence[Observation]) -> ConfidenceCounts:
    judged = [row for row in rows if _is_judged(row)]
    given = sum(row.confidence is not None for row in judged)
    failed = sum(row.failed and row.answerable for row in rows)
    reasons = []
    if not given:
        reasons.append("no judged answer states a confidence")
    elif given < len(judged):
        reasons.append(f"{len(judged) - given} of {len(judged)} judged answers state none")
    return ConfidenceCounts(
        given=given, missing=len(judged) - given, unreadable=failed, reason="; ".join(reasons)
    )


def _compute_retention(samples: SampleCounts, rows: Sequence[Observation]) -> dict[str, Estimate]:
    """Computes, for each kind of item, the share that is kept over all texts together."""
    kinds = sorted({kind for row in rows for kind in row.retained})
    if not kinds:
        return {}
    width = len(kinds)
    table = np.zeros((len(samples.names), 2 * width))
    known = Counter(kind for row in rows for kind, (_, total) in row.retained.items() if total)
    for row in rows:
        for column, kind in enumerate(kinds):
            n_kept, total = row.retained.get(kind, (0.0, 0.0))
            table[samples.sample_index[row.sample], [column, width + column]] += (n_kept, total)
    distribution = compute_ratios(
        ResampledCounts(table, compute_resampled_sums(table, samples.resamples)),
        np.eye(width, 2 * width),
        np.eye(width, 2 * width, k=width),
    )
    intervals = distribution.compute_intervals(samples.plan.confidence)
    numerators, denominators = np.split(table.sum(axis=0), 2)
    estimates: dict[str, Estimate] = {}
    for column, kind in enumerate(kinds):
        base = Estimate(
            value=None,
            n=known[kind],
            numerator=round_significant(float(numerators[column])),
            denominator=round_significant(float(denominators[column])),
            higher_is_better=True,
        )
        if not denominators[column]:
            estimates[kind] = replace(base, why="no text has any")
            continue
        value = float(distribution.values[column])
        estimates[kind] = add_interval(
            base,
            value,
            choose_interval(intervals, column)
            or compute_edge_interval(
                value, float(intervals.support[column]), samples.plan.confidence
            ),
        )
    return estimates
