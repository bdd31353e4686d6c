"""Compares pairs of systems on the same cards: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import astuple, replace

from eval.abstention.metrics.cluster_samples import Samples
from eval.abstention.metrics.definitions import (
    ALL_THREE,
    GEOMEAN_RECALL,
    HEADLINE_METRICS,
    SHOWN_METRICS,
    Metric,
    get_metrics,
)
from eval.abstention.metrics.outcomes import score_cards
from eval.abstention.metrics.record import CardComparison
from eval.abstention.metrics.triplets import score_triplets
from eval.metrics.comparison import (
    BootstrapDifference,
    TestName,
    add_interval,
    adjust_family,
    round_optional,
)
from eval.metrics.measurement import PolicyName
from eval.metrics.signature import Signature
from eval.stats.bootstrap import MIN_CLUSTERS, Distribution, Floats, round_significant
from eval.stats.effects import cohens_d_paired, wilcoxon_test
from eval.stats.estimates import Interval
from eval.stats.paired_tests import (
    compute_edge_difference,
    count_discordant,
    mcnemar_exact,
    minimum_detectable_effect,
    newcombe_paired_interval,
)
from eval.stats.permutation import sign_flip_test


def list_compared_metrics(samples: Samples, policy: PolicyName) -> list[str]:
    """Lists the metrics that are compared unless others are named."""
    if policy == "published":
        return [name for name in SHOWN_METRICS if name not in HEADLINE_METRICS]
    absent = GEOMEAN_RECALL if len(samples.triplets) else ALL_THREE
    return [name for name in SHOWN_METRICS if name != absent]


def compare_systems(
    samples: Samples, *, signature: Signature, baseline: str | None = None
) -> tuple[CardComparison, ...]:
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
    metric_names: Sequence[str] = (),
) -> tuple[CardComparison, ...]:
    """Compares the given pairs of systems; difference = candidate − baseline.

    Args:
        samples: the systems on shared resamples.
        pairs: names of candidate and baseline; Holm's correction covers the pairs of one metric
            and policy.
        signature: as in ``compare_systems``.
        metric_names: the metrics; empty for those of the first tables.

    Returns:
        The comparisons, sorted by policy, metric and pair.
    """
    systems = dict.fromkeys(name for pair in pairs for name in pair)
    comparisons: list[CardComparison] = []
    for policy in samples.plan.policies:
        policy_signature = replace(signature, policy=policy)
        names = metric_names or list_compared_metrics(samples, policy)
        metrics = get_metrics([name for name in names if name != ALL_THREE], policy)
        distributions = {
            name: samples.compute_distribution(metrics, policy, name)
            for name in systems
            if metrics  # all-three needs none
        }
        differences = [
            BootstrapDifference(
                distributions[candidate] - distributions[baseline], samples.plan.confidence
            )
            for candidate, baseline in pairs
            if metrics
        ]
        columns = {metric.name: column for column, metric in enumerate(metrics)}
        for name in names:
            if name == ALL_THREE:
                triplets = [_compare_triplets(samples, pair, policy_signature) for pair in pairs]
                comparisons += adjust_family(triplets, higher_is_better=True)
                continue
            column, metric = columns[name], metrics[columns[name]]
            family = [
                _compare_pair(
                    samples,
                    metric,
                    pair,
                    difference,
                    column,
                    (distributions[pair[0]], distributions[pair[1]]),
                    policy_signature,
                )
                for pair, difference in zip(pairs, differences, strict=True)
            ]
            comparisons += adjust_family(family, higher_is_better=metric.higher_is_better)
    return tuple(comparisons)


def _compare_pair(
    samples: Samples,
    metric: Metric,
    pair: tuple[str, str],
    difference: BootstrapDifference,
    column: int,
    distributions: tuple[Distribution, Distribution],
    signature: Signature,
) -> CardComparison:
    """Compares one pair on one metric; adjusted p and better system are added later.

    Args:
        samples: the systems on shared resamples.
        metric: the metric.
        pair: names of candidate and baseline.
        difference: the bootstrap of the difference.
        column: the metric's column in ``difference``.
        distributions: the bootstrap of each system's metrics.
        signature: signature of the values, with the policy.
    """
    counts = [samples.get_counts(metric.policy, name) for name in pair]
    values = [metric.compute_value(system_counts) for system_counts in counts]
    comparison = CardComparison(
        candidate=pair[0],
        baseline=pair[1],
        policy=metric.policy,
        metric=metric.name,
        value_candidate=values[0],
        value_baseline=values[1],
        n=samples.n_cards,
        n_clusters=samples.n_clusters,
        signature=str(signature.with_metric(metric.name)),
    )
    if values[0] is None or values[1] is None:
        return comparison
    discordant = signed_ranks = effect_size = None
    n, n_differ = samples.n_cards, 0
    if all(metric.is_proportion(system_counts) for system_counts in counts):
        scores = [_score_system(samples, metric, name) for name in pair]
        differences = scores[0] - scores[1]
        n, n_differ = differences.size, int(np.count_nonzero(differences))
        effect_size = cohens_d_paired(differences)
        if any(samples.observations.count_repeats(name) > 1 for name in pair):
            signed_ranks = wilcoxon_test(differences)
        else:
            discordant = count_discordant(*scores)
    interval = difference.intervals[column]
    if interval is None and discordant is not None:
        bounds = newcombe_paired_interval(discordant, samples.plan.confidence)
        interval = Interval(*bounds, "newcombe-paired")
    elif interval is None:
        interval = compute_edge_difference(
            (values[0], float(distributions[0].support[column])),
            (values[1], float(distributions[1].support[column])),
            samples.plan.confidence,
            metric.minimum,
        )
    detectable_effect = minimum_detectable_effect(
        difference.standard_errors[column],
        None if discordant is None else n,
    )
    test: TestName = "none"
    p_value: float | None = None
    is_exact = False
    if discordant is not None:
        p_value = mcnemar_exact(discordant.only_candidate, discordant.only_baseline)
        test, is_exact = "mcnemar-exact", True
    elif signed_ranks is not None:
        test, p_value, is_exact = "wilcoxon", signed_ranks.p_value, signed_ranks.is_exact
    elif (p_value := difference.p_values[column]) is not None:
        test = "cluster-bootstrap"
        if metric.is_skill and samples.n_clusters < MIN_CLUSTERS:
            # The bootstrap of so few finds differences where there are none.
            parts = [_score_clusters(samples, metric, name) for name in pair]
            flips = sign_flip_test(parts[0] - parts[1])
            test, p_value, is_exact = "sign-flip", flips.p_value, flips.is_exact
    return replace(
        add_interval(comparison, interval),
        difference=round_significant(values[0] - values[1]),
        test=test,
        exact=is_exact,
        p=round_optional(p_value),
        n=n,
        n_differ=n_differ,
        discordant=discordant,
        cohens_d=round_optional(effect_size),
        minimum_detectable_effect=round_optional(detectable_effect),
    )


def _score_clusters(samples: Samples, metric: Metric, system: str) -> Floats:
    """Returns what each cluster adds to the means of the labels."""
    counts = samples.get_resampled_counts(metric.policy, system)
    parts = [
        counts.per_cluster @ numerator / float(counts.totals @ denominator)
        for numerator, denominator in metric.ratios
    ]
    return np.asarray(np.sum(parts, axis=0))


def _compare_triplets(
    samples: Samples, pair: tuple[str, str], signature: Signature
) -> CardComparison:
    """Compares one pair on all-three, triplet by triplet."""
    candidate, baseline = (
        score_triplets(samples.triplets, samples.get_labels("licensed"), samples.get_preds(name))
        for name in pair
    )
    n = len(samples.triplets)
    comparison = CardComparison(
        candidate=pair[0],
        baseline=pair[1],
        policy="licensed",
        metric=ALL_THREE,
        n=n,
        n_clusters=n,
        signature=str(signature.with_metric(ALL_THREE)),
    )
    if not n:
        return comparison
    differences = candidate - baseline
    values = float(candidate.mean()), float(baseline.mean())
    comparison = replace(
        comparison,
        value_candidate=values[0],
        value_baseline=values[1],
        difference=round_significant(values[0] - values[1]),
        n_differ=int(np.count_nonzero(differences)),
        cohens_d=round_optional(cohens_d_paired(differences)),
    )
    confidence = samples.plan.confidence
    standard_error = float(differences.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    if any(samples.observations.count_repeats(name) > 1 for name in pair):
        signed_ranks = wilcoxon_test(differences)
        interval = compute_edge_difference((values[0], n), (values[1], n), confidence)
        return replace(
            add_interval(comparison, interval),
            test="wilcoxon",
            exact=signed_ranks.is_exact,
            p=round_optional(signed_ranks.p_value),
            minimum_detectable_effect=round_optional(
                minimum_detectable_effect(standard_error, None)
            ),
        )
    discordant = count_discordant(candidate, baseline)
    return replace(
        add_interval(
            comparison,
            Interval(*newcombe_paired_interval(discordant, confidence), "newcombe-paired"),
        ),
        test="mcnemar-exact",
        exact=True,
        p=round_optional(mcnemar_exact(discordant.only_candidate, discordant.only_baseline)),
        discordant=discordant,
        minimum_detectable_effect=round_optional(
            minimum_detectable_effect(standard_error, sum(astuple(discordant)))
        ),
    )


def _score_system(samples: Samples, metric: Metric, system: str) -> Floats:
    return score_cards(
        samples.get_labels(metric.policy),
        samples.get_preds(system),
        metric.numerator,
        metric.denominator,
    )
