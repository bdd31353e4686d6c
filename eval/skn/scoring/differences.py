"""Tests the differences between two pipelines on the same samples.

A metric with a value per sample is compared on the samples where both pipelines have a value, so
that difference, interval and test refer to the same samples. A metric without such values
(calibration, ratios with random denominators, quantiles) is compared over all samples, by the
bootstrap. Every difference is candidate − baseline.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.metrics.comparison import (
    BootstrapDifference,
    Comparison,
    add_bootstrap_test,
    adjust_family,
    compare_item_values,
)
from eval.skn.scoring.metric_definitions import METRICS, VERDICT_METRICS
from eval.skn.scoring.pipeline_report import (
    CALIBRATION_METRICS,
    QUANTILE_METRICS,
    compute_latency_quantiles,
    select_confident_replies,
)
from eval.skn.scoring.record import Pair
from eval.skn.scoring.sample_counts import SampleCounts
from eval.stats.bootstrap import Distribution, round_significant
from eval.stats.confidences import STATISTICS
from eval.stats.ratio_metrics import RatioMetric

OVERALL_METRICS = (
    *("normalized_hallucination_micro", "abstention_precision", "abstention_f1"),
    *(*CALIBRATION_METRICS, *QUANTILE_METRICS),
)
"""Metrics that have a value only over all samples, not for a single one."""
# The confidences of correct and of wrong answers are not compared, because each pipeline has other
# answers that are correct or wrong.
PER_SAMPLE_METRICS = tuple(
    name
    for name in METRICS
    if name not in (*OVERALL_METRICS, "confidence_when_correct", "confidence_when_wrong")
)


def compare_pipelines(samples: SampleCounts, pairs: Sequence[Pair]) -> tuple[Comparison, ...]:
    """Compares pairs of pipelines by every metric.

    p-values are adjusted for multiple tests by Holm's method, over the pairs of each metric. A pair
    is left out where a metric needs verdicts, and one of the two was not judged.

    Returns:
        The differences, ordered by metric and then by pair.
    """
    distributions = {
        name: _compute_overall_distributions(samples, name)
        for name in {name for pair in pairs for name in (pair.candidate, pair.baseline)}
    }
    unjudged = samples.plan.unjudged
    judged = [pair for pair in pairs if unjudged.isdisjoint((pair.candidate, pair.baseline))]
    comparisons: list[Comparison] = []
    for metric in (*PER_SAMPLE_METRICS, *OVERALL_METRICS):
        compared = judged if metric in VERDICT_METRICS else pairs
        if metric in OVERALL_METRICS:
            family = [_compare_overall(metric, pair, distributions, samples) for pair in compared]
        else:
            family = _compare_per_sample(samples, METRICS[metric], compared)
        comparisons += adjust_family(family, higher_is_better=_is_higher_better(metric))
    return tuple(comparisons)


def _is_higher_better(metric: str) -> bool | None:
    """Returns the direction of a metric; ``None`` for descriptive metrics."""
    if metric in (*CALIBRATION_METRICS, *QUANTILE_METRICS):
        return False
    return METRICS[metric].higher_is_better


def _compare_per_sample(
    samples: SampleCounts, metric: RatioMetric, pairs: Sequence[Pair]
) -> list[Comparison]:
    return compare_item_values(
        [
            Comparison(metric=metric.name, candidate=pair.candidate, baseline=pair.baseline)
            for pair in pairs
        ],
        [
            (
                samples.compute_sample_values(metric, pair.candidate),
                samples.compute_sample_values(metric, pair.baseline),
            )
            for pair in pairs
        ],
        samples.resamples,
        confidence=samples.plan.confidence,
        is_binary=metric.is_binary and samples.repeats == 1,
        is_share=metric.in_unit_interval,
    )


def _compute_overall_distributions(samples: SampleCounts, pipeline: str) -> dict[str, Distribution]:
    """Computes the distributions of the metrics that have no value per sample."""
    metrics = [METRICS[name] for name in OVERALL_METRICS if name in METRICS]
    distributions = _split_columns(
        samples.compute_distribution(metrics, pipeline), [metric.name for metric in metrics]
    )
    replies = select_confident_replies(samples, pipeline)
    if replies is not None:
        calibration = _split_columns(replies.compute_distribution(samples.resamples), STATISTICS)
        distributions |= {name: calibration[name] for name in CALIBRATION_METRICS}
    latencies = compute_latency_quantiles(samples, pipeline)
    if latencies is not None:
        distributions |= _split_columns(latencies, QUANTILE_METRICS)
    return distributions


def _split_columns(distribution: Distribution, names: Sequence[str]) -> dict[str, Distribution]:
    return {
        name: Distribution(
            distribution.values[[index]],
            distribution.replicates[:, [index]],
            distribution.jackknife[:, [index]],
            distribution.support[[index]],
        )
        for index, name in enumerate(names)
    }


def _compare_overall(
    metric: str,
    pair: Pair,
    distributions: dict[str, dict[str, Distribution]],
    samples: SampleCounts,
) -> Comparison:
    candidate = distributions[pair.candidate].get(metric)
    baseline = distributions[pair.baseline].get(metric)
    comparison = Comparison(
        metric=metric,
        candidate=pair.candidate,
        baseline=pair.baseline,
        value_candidate=_get_value(candidate),
        value_baseline=_get_value(baseline),
    )
    if candidate is None or baseline is None:
        return comparison
    if comparison.value_candidate is None or comparison.value_baseline is None:
        return comparison
    difference = BootstrapDifference(candidate - baseline, samples.plan.confidence)
    return add_bootstrap_test(comparison, difference, n_items=len(samples.names))


def _get_value(distribution: Distribution | None) -> float | None:
    if distribution is None or np.isnan(distribution.values[0]):
        return None
    return round_significant(float(distribution.values[0]))
