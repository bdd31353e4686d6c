"""Tests the differences between two pipelines on the same samples.

A metric with a value per sample is compared on the samples where both pipelines have a value, so
that difference, interval and test refer to the same samples. A metric without such values
(calibration, ratios with random denominators, quantiles) is compared over all samples, by the
bootstrap. Every difference is first − second.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from eval.skn.scoring.metric_definitions import METRICS
from eval.skn.scoring.pipeline_report import (
    CALIBRATION_METRICS,
    QUANTILE_METRICS,
    compute_latency_quantiles,
    select_confident_replies,
)
from eval.skn.scoring.record import Difference, Pair
from eval.skn.scoring.sample_counts import SampleCounts
from eval.stats.bootstrap import (
    Distribution,
    Floats,
    ResampledCounts,
    resample_blocks,
    round_significant,
)
from eval.stats.confidences import STATISTICS
from eval.stats.estimates import Interval, choose_interval
from eval.stats.paired_tests import adjust_holm, compute_bootstrap_p, minimum_detectable_effect
from eval.stats.paired_values import build_difference_block, choose_better, compare_values
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
_LOWER_IS_BETTER = frozenset(
    (
        *CALIBRATION_METRICS,
        *QUANTILE_METRICS,
        *(name for name, metric in METRICS.items() if metric.higher_is_better is False),
    )
)
# For these metrics neither direction is better, so no pipeline is named as the better one.
_DESCRIPTIVE = frozenset(
    name for name, metric in METRICS.items() if metric.higher_is_better is None
)


def compare_pipelines(samples: SampleCounts, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Compares pairs of pipelines by every metric.

    p-values are adjusted for multiple tests by Holm's method, over the pairs of each metric.

    Returns:
        The differences, ordered by metric and then by pair.
    """
    distributions = {
        name: _compute_overall_distributions(samples, name)
        for name in {name for pair in pairs for name in (pair.first, pair.second)}
    }
    all_differences: list[Difference] = []
    for metric in (*PER_SAMPLE_METRICS, *OVERALL_METRICS):
        if metric in OVERALL_METRICS:
            differences = [_compare_overall(metric, pair, distributions, samples) for pair in pairs]
        else:
            differences = _compare_per_sample(samples, METRICS[metric], pairs)
        adjusted = adjust_holm([difference.p for difference in differences])
        all_differences += [
            _add_adjusted_p(difference, p)
            for difference, p in zip(differences, adjusted, strict=True)
        ]
    return tuple(all_differences)


def _compare_per_sample(
    samples: SampleCounts, metric: RatioMetric, pairs: Sequence[Pair]
) -> list[Difference]:
    value_pairs = [
        (
            samples.compute_sample_values(metric, pair.first),
            samples.compute_sample_values(metric, pair.second),
        )
        for pair in pairs
    ]
    blocks = [build_difference_block(first, second) for first, second in value_pairs]
    return [
        _build_difference(samples, metric, pair, values, resampled)
        for pair, values, resampled in zip(
            pairs, value_pairs, resample_blocks(blocks, samples.resamples), strict=True
        )
    ]


def _build_difference(
    samples: SampleCounts,
    metric: RatioMetric,
    pair: Pair,
    values: tuple[Floats, Floats],
    resampled: ResampledCounts,
) -> Difference:
    result = compare_values(
        *values,
        resampled,
        confidence=samples.plan.confidence,
        seed=samples.plan.seed,
        is_binary=metric.is_binary and samples.repeats == 1,
        is_share=metric.in_unit_interval,
    )
    return Difference(first=pair.first, second=pair.second, metric=metric.name, **result.to_dict())


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
) -> Difference:
    first, second = distributions[pair.first].get(metric), distributions[pair.second].get(metric)
    result = Difference(
        first=pair.first,
        second=pair.second,
        metric=metric,
        value_first=_get_value(first),
        value_second=_get_value(second),
        difference=None,
    )
    if first is None or second is None or result.value_first is None or result.value_second is None:
        return result
    difference = first - second
    result = _add_interval(
        result, choose_interval(difference.compute_intervals(samples.plan.confidence), 0)
    )
    p = float(compute_bootstrap_p(difference)[0])
    effect = minimum_detectable_effect(float(difference.compute_standard_errors()[0]))
    return msgspec.structs.replace(
        result,
        difference=round_significant(float(difference.values[0])),
        test="none" if np.isnan(p) else "bootstrap",
        p=None if np.isnan(p) else round_significant(p),
        n=len(samples.names),
        minimum_detectable_effect=None if effect is None else round_significant(effect),
    )


def _get_value(distribution: Distribution | None) -> float | None:
    if distribution is None or np.isnan(distribution.values[0]):
        return None
    return round_significant(float(distribution.values[0]))


def _add_interval(difference: Difference, interval: Interval | None) -> Difference:
    """Adds an interval, if there is one."""
    if interval is None:
        return difference
    return msgspec.structs.replace(
        difference,
        low=round_significant(interval.low),
        high=round_significant(interval.high),
        method=interval.method,
    )


def _add_adjusted_p(difference: Difference, p_holm: float | None) -> Difference:
    """Adds the adjusted p-value, and the better pipeline if the difference is significant."""
    better = None
    if difference.metric not in _DESCRIPTIVE:
        better = choose_better(
            (difference.first, difference.second),
            (difference.low, difference.high),
            p_holm,
            higher_is_better=difference.metric not in _LOWER_IS_BETTER,
        )
    return msgspec.structs.replace(
        difference, p_holm=None if p_holm is None else round_significant(p_holm), better=better
    )
