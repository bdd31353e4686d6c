"""Compares pairs of systems on the same cards: differences, intervals and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from msgspec.structs import astuple, replace

from eval.abstention.metrics.cluster_samples import Plan, Samples, compute_metric_distribution
from eval.abstention.metrics.definitions import (
    ALL_THREE,
    GEOMEAN_RECALL,
    HEADLINE_METRICS,
    SHOWN_METRICS,
    Metric,
    get_metrics,
    is_higher_better,
)
from eval.abstention.metrics.observations import Observations
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
from eval.stats.bootstrap import (
    MIN_CLUSTERS,
    Distribution,
    Floats,
    ResampledCounts,
    round_significant,
)
from eval.stats.effects import cohens_d_paired, wilcoxon_test
from eval.stats.estimates import Interval
from eval.stats.paired_tests import (
    Discordant,
    compute_edge_difference,
    count_discordant,
    describe_floor,
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
    pairs = list_pairs(samples.observations, baseline)
    return compare_pairs(samples, pairs, signature=signature)


def list_pairs(observations: Observations, baseline: str | None = None) -> list[tuple[str, str]]:
    """Lists the pairs that ``compare_systems`` compares: candidate and baseline."""
    systems = observations.systems_under_test
    if baseline is None:
        return list(combinations(systems, 2))
    if baseline not in observations.preds:
        raise ValueError(f"no such baseline: {baseline}")
    return [(system, baseline) for system in systems if system != baseline]


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
    systems = list(dict.fromkeys(name for pair in pairs for name in pair))
    n_resamples = samples.plan.count_resamples(len(pairs))
    comparisons: list[CardComparison] = []
    for policy in samples.plan.policies:
        policy_signature = replace(signature, policy=policy, resamples=n_resamples)
        names = metric_names or list_compared_metrics(samples, policy)
        metrics = get_metrics([name for name in names if name != ALL_THREE], policy)
        units = [  # all-three needs none
            _Units(counts, metrics, samples.plan.confidence)
            for counts in samples.resample_units(policy, systems, n_resamples)
            if metrics
        ]
        families: dict[str, list[CardComparison]] = {name: [] for name in names}
        # Resamples of many pairs take much memory, so those of one pair are computed at a time.
        for pair in pairs:
            differences = [_PairResamples(one, pair) for one in units]
            for column, metric in enumerate(metrics):
                families[metric.name].append(
                    _compare_pair(samples, metric, pair, differences, column, policy_signature)
                )
            if ALL_THREE in families:
                families[ALL_THREE].append(_compare_triplets(samples, pair, policy_signature))
        for name, family in families.items():
            comparisons += adjust_family(family, higher_is_better=is_higher_better(name, policy))
    return tuple(comparisons)


def describe_pair_resamples(comparisons: Sequence[CardComparison], plan: Plan) -> Iterator[str]:
    """Says how many resamples the differences have, if not as many as values, and if too few."""
    families = Counter((pair.policy, pair.metric) for pair in comparisons)
    n_pairs = max(families.values(), default=0)
    n_resamples = plan.count_resamples(n_pairs)
    if n_resamples != plan.n_resamples:
        yield (
            f"The differences of the {n_pairs} pairs are by {n_resamples:,} resamples, since "
            "Holm's correction multiplies the smallest p by the number of pairs."
        )
    n_tests = Counter(
        (pair.policy, pair.metric) for pair in comparisons if pair.test == "cluster-bootstrap"
    )
    if note := describe_floor(max(n_tests.values(), default=0), n_resamples, " or --baseline"):
        yield note


@dataclass
class _Units:
    """Counts of all systems by what is drawn as a whole, clusters or triplets, with resamples."""

    counts: dict[str, ResampledCounts]
    metrics: Sequence[Metric]
    confidence: float

    @cached_property
    def distributions(self) -> dict[str, Distribution]:
        """The bootstrap of each system's metrics."""
        return {
            name: compute_metric_distribution(counts, self.metrics)
            for name, counts in self.counts.items()
        }


class _PairResamples:
    """The bootstrap of a pair's differences, one column per metric.

    Args:
        units: the units that are drawn.
        pair: names of candidate and baseline.
    """

    def __init__(self, units: _Units, pair: tuple[str, str]) -> None:
        self._confidence = units.confidence
        self.counts = [units.counts[name] for name in pair]
        self._distributions = [units.distributions[name] for name in pair]
        self.difference = BootstrapDifference(
            self._distributions[0] - self._distributions[1], units.confidence
        )

    def choose_interval(
        self, metric: Metric, column: int, values: tuple[float, float], table: Discordant | None
    ) -> Interval:
        """Returns the interval of the difference; Newcombe's where resamples say nothing."""
        interval = self.difference.intervals[column]
        if interval is not None:
            return interval
        if table is not None:
            return Interval(*newcombe_paired_interval(table, self._confidence), "newcombe-paired")
        supports = [float(one.support[column]) for one in self._distributions]
        return compute_edge_difference(
            (values[0], supports[0]), (values[1], supports[1]), self._confidence, metric.minimum
        )

    def test(self, metric: Metric, column: int) -> tuple[float | None, TestName, bool]:
        """Returns p, the test, and whether it is exact."""
        p_value = self.difference.p_values[column]
        if p_value is None:
            return None, "none", False
        if metric.is_skill and len(self.counts[0].per_cluster) < MIN_CLUSTERS:
            # The bootstrap of so few finds differences where there are none.
            parts = [_score_units(metric, counts) for counts in self.counts]
            flips = sign_flip_test(parts[0] - parts[1])
            return flips.p_value, "sign-flip", flips.is_exact
        return p_value, "cluster-bootstrap", False


def _compare_pair(
    samples: Samples,
    metric: Metric,
    pair: tuple[str, str],
    resampled: Sequence[_PairResamples],
    column: int,
    signature: Signature,
) -> CardComparison:
    """Compares one pair on one metric; adjusted p and better system are added later.

    Args:
        samples: the systems.
        metric: the metric.
        pair: names of candidate and baseline.
        resampled: the bootstrap of the difference by cluster and, if there are any, by triplet.
            The wider interval and the larger p count.
        column: the metric's column in ``resampled``.
        signature: signature of the values, with the policy.
    """
    counts = [one.totals for one in resampled[0].counts]
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
    intervals = [
        one.choose_interval(metric, column, (values[0], values[1]), discordant) for one in resampled
    ]
    detectable_effect = minimum_detectable_effect(
        float(np.fmax.reduce([one.difference.standard_errors[column] for one in resampled])),
        None if discordant is None else n,
    )
    test: TestName
    if discordant is not None:
        p_value: float | None = mcnemar_exact(discordant.only_candidate, discordant.only_baseline)
        test, is_exact = "mcnemar-exact", True
    elif signed_ranks is not None:
        test, p_value, is_exact = "wilcoxon", signed_ranks.p_value, signed_ranks.is_exact
    else:
        tests = [one.test(metric, column) for one in resampled]
        # A test that cannot be done counts as the largest p.
        p_value, test, is_exact = max(tests, key=lambda found: 2 if found[0] is None else found[0])
    return replace(
        add_interval(comparison, max(intervals, key=lambda one: one.high - one.low)),
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


def _score_units(metric: Metric, counts: ResampledCounts) -> Floats:
    """Returns what each cluster or triplet adds to the means of the labels."""
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
