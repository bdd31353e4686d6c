"""Compares pairs of systems on the same cards: differences, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from msgspec.structs import astuple, replace

from eval.metrics.abstention import COMPANION_METRICS, HEADLINE_METRICS, Metric, get_metrics
from eval.metrics.outcomes import score_cards
from eval.metrics.record import PairedComparison, TestName
from eval.metrics.samples import Samples
from eval.metrics.signature import Signature
from eval.stats.bootstrap import Distribution, Floats, round_significant
from eval.stats.effects import cohens_d_paired, wilcoxon_test
from eval.stats.estimates import IntervalMethod
from eval.stats.paired_tests import (
    ALPHA,
    Discordant,
    adjust_holm,
    compute_bootstrap_p,
    count_discordant,
    mcnemar_exact,
    minimum_detectable_effect,
    newcombe_paired_interval,
    square_and_add,
)
from kg.base.proportions import wilson_interval

Interval = tuple[float, float]

COMPARED_METRICS = (*HEADLINE_METRICS, *COMPANION_METRICS)


def compare_systems(
    samples: Samples, *, signature: Signature, baseline: str | None = None
) -> tuple[PairedComparison, ...]:
    """Compares all pairs of systems, or each system with a baseline, on every headline metric.

    Controls are not compared, unless one of them is the baseline. Holm's correction covers the
    pairs compared on one metric under one policy.

    Args:
        samples: the systems on shared resamples.
        signature: signature of the values; metric and policy are added to it.
        baseline: a system to compare all others with; ``None`` for all pairs.

    Returns:
        The comparisons, sorted by policy, metric and pair.

    Raises:
        ValueError: there is no such baseline.
    """
    systems = samples.observations.systems_under_test
    pairs = list(combinations(systems, 2))
    if baseline is not None:
        if baseline not in samples.observations.preds:
            raise ValueError(f"no such baseline: {baseline}")
        pairs = [(system, baseline) for system in systems if system != baseline]
    return compare_pairs(samples, pairs, signature=signature)


def compare_pairs(
    samples: Samples,
    pairs: Sequence[tuple[str, str]],
    *,
    signature: Signature,
    metric_names: Sequence[str] = COMPARED_METRICS,
) -> tuple[PairedComparison, ...]:
    """Compares the given pairs of systems; difference = first − second.

    Args:
        samples: the systems on shared resamples.
        pairs: names of systems; Holm's correction covers the pairs of one metric and policy.
        signature: as in ``compare_systems``.
        metric_names: the metrics.

    Returns:
        The comparisons, sorted by policy, metric and pair.
    """
    systems = dict.fromkeys(name for pair in pairs for name in pair)
    comparisons: list[PairedComparison] = []
    for policy in samples.plan.policies:
        policy_signature = replace(signature, policy=policy)
        metrics = get_metrics(metric_names, policy)
        distributions = {
            name: samples.compute_distribution(metrics, policy, name) for name in systems
        }
        bootstraps = [
            _bootstrap_pair(distributions[a], distributions[b], samples.plan.confidence)
            for a, b in pairs
        ]
        for column, metric in enumerate(metrics):
            family = [
                _compare_pair(samples, metric, pair, bootstrap[column], policy_signature)
                for pair, bootstrap in zip(pairs, bootstraps, strict=True)
            ]
            comparisons.extend(_adjust_family(family, metric.higher_is_better))
    return tuple(comparisons)


def _compare_pair(
    samples: Samples,
    metric: Metric,
    pair: tuple[str, str],
    bootstrap: _PairedBootstrap,
    signature: Signature,
) -> PairedComparison:
    """Compares one pair on one metric; ``_adjust_family`` adds adjusted p and better system."""
    a, b = pair
    counts = samples.get_counts(metric.policy, a), samples.get_counts(metric.policy, b)
    value_a, value_b = metric.compute_value(counts[0]), metric.compute_value(counts[1])
    comparison = PairedComparison(
        a=a,
        b=b,
        policy=metric.policy,
        metric=metric.name,
        value_a=value_a,
        value_b=value_b,
        difference=None,
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        signature=str(signature.with_metric(metric.name)),
    )
    if value_a is None or value_b is None:
        return comparison
    discordant = signed_ranks = effect_size = None
    if metric.is_proportion(counts[0]) and metric.is_proportion(counts[1]):
        scores_a, scores_b = (_score_system(samples, metric, name) for name in pair)
        effect_size = cohens_d_paired(scores_a - scores_b)
        if any(samples.observations.count_repeats(name) > 1 for name in pair):
            signed_ranks = wilcoxon_test(scores_a - scores_b)
        else:
            discordant = count_discordant(scores_a, scores_b)
    method, interval = bootstrap.interval
    if interval is None:
        method, interval = _compute_edge_interval(
            (value_a, bootstrap.supports[0]), (value_b, bootstrap.supports[1]), discordant, samples
        )
    detectable_effect = minimum_detectable_effect(
        bootstrap.standard_error, None if discordant is None else sum(astuple(discordant))
    )
    test: TestName = "none"
    p_value = None
    if discordant is not None:
        test, p_value = "mcnemar-exact", mcnemar_exact(discordant.only_a, discordant.only_b)
    elif signed_ranks is not None:
        test, p_value = "wilcoxon", signed_ranks.p_value
    elif bootstrap.interval[1] is not None:
        test, p_value = "cluster-bootstrap", bootstrap.p_value
    return replace(
        comparison,
        difference=round_significant(value_a - value_b),
        low=round_significant(interval[0]),
        high=round_significant(interval[1]),
        method=method,
        test=test,
        p=None if p_value is None else round_significant(p_value),
        discordant=discordant,
        cohens_d=None if effect_size is None else round_significant(effect_size),
        minimum_detectable_effect=None
        if detectable_effect is None
        else round_significant(detectable_effect),
    )


@dataclass(frozen=True)
class _PairedBootstrap:
    """The paired bootstrap of one pair on one metric.

    Attributes:
        interval: method and ends: BCa, percentile if BCa is undefined, none if the resamples are
            degenerate (too few different values to reflect the uncertainty).
        p_value: p-value of the hypothesis that there is no difference, by resampling.
        standard_error: standard error of the difference; nan if unknown.
        supports: number of clusters that contribute to each system's denominator.
    """

    interval: tuple[IntervalMethod, Interval | None]
    p_value: float
    standard_error: float
    supports: tuple[float, float]


def _bootstrap_pair(a: Distribution, b: Distribution, confidence: float) -> list[_PairedBootstrap]:
    """Computes the paired bootstrap of one pair, one entry per metric."""
    difference = a - b
    intervals = difference.compute_intervals(confidence)
    standard_errors, p_values = (
        difference.compute_standard_errors(),
        compute_bootstrap_p(difference),
    )
    bootstraps = []
    for column, is_degenerate in enumerate(intervals.degenerate.tolist()):
        method: IntervalMethod = "bootstrap-bca"
        low, high = intervals.bca[:, column].tolist()
        if math.isnan(low) or math.isnan(high):
            method = "bootstrap-percentile"
            low, high = intervals.percentile[:, column].tolist()
        bootstraps.append(
            _PairedBootstrap(
                interval=("none", None) if is_degenerate else (method, (low, high)),
                p_value=float(p_values[column]),
                standard_error=float(standard_errors[column]),
                supports=(float(a.support[column]), float(b.support[column])),
            )
        )
    return bootstraps


def _score_system(samples: Samples, metric: Metric, system: str) -> Floats:
    return score_cards(
        samples.get_labels(metric.policy),
        samples.get_preds(system),
        metric.numerator,
        metric.denominator,
    )


def _compute_edge_interval(
    a: tuple[float, float],
    b: tuple[float, float],
    discordant: Discordant | None,
    samples: Samples,
) -> tuple[IntervalMethod, Interval]:
    """Computes a score interval of the difference, for use if the resamples are degenerate.

    Args:
        a: the first system's value, and the number of clusters behind it.
        b: value and number of clusters of the second system.
        discordant: the 2×2 table of both systems, for metrics that are 0 or 1 per card.
        samples: contains the confidence level.
    """
    confidence = samples.plan.confidence
    if discordant is not None:
        return "newcombe-paired", newcombe_paired_interval(discordant, confidence)
    interval_a, interval_b = (
        (value, wilson_interval(value * support, support, confidence)) for value, support in (a, b)
    )
    return "newcombe", square_and_add(interval_a, interval_b)


def _adjust_family(
    family: Sequence[PairedComparison], higher_is_better: bool | None
) -> list[PairedComparison]:
    """Adds Holm-adjusted p-values and the better systems to comparisons on one metric.

    A system is better only if the adjusted test is significant and the interval excludes 0.
    McNemar's test assumes independent cards; the interval of the cluster bootstrap does not.
    """
    adjusted_comparisons = []
    for pair, adjusted_p in zip(family, adjust_holm([pair.p for pair in family]), strict=True):
        better_system = None
        if (
            higher_is_better is not None
            and pair.difference is not None
            and (pair.low is not None and pair.high is not None)
            and adjusted_p is not None
            and adjusted_p < ALPHA
            and (pair.low > 0 or pair.high < 0)
        ):
            better_system = pair.a if (pair.difference > 0) == higher_is_better else pair.b
        p_holm = None if adjusted_p is None else round_significant(adjusted_p)
        adjusted_comparisons.append(replace(pair, p_holm=p_holm, better=better_system))
    return adjusted_comparisons
