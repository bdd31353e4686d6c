"""Resamples the measures of graded answers, and compares pairs of systems on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from eval.metrics.comparison import (
    BootstrapDifference,
    add_bootstrap_test,
    add_interval,
    adjust_family,
    compare_item_values,
    flip_signs,
)
from eval.metrics.measurement import ResamplingPlan, SystemPair
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.measures import Measure
from eval.outcomes.record import OutcomeComparison
from eval.outcomes.table import OutcomeTable
from eval.stats.bootstrap import (
    MIN_CLUSTERS,
    ClusterResamples,
    Distribution,
    Floats,
    resample_blocks,
    round_significant,
)
from eval.stats.estimates import compute_ratios
from eval.stats.paired_tests import compute_edge_difference

ACCURACY = "accuracy"
"""The measure that is compared by the exact McNemar test, where each cluster is one question."""


def resample_measures(
    table: OutcomeTable, counts: Floats, measures: Sequence[Measure], resamples: ClusterResamples
) -> Distribution:
    """Computes the bootstrap distribution of the measures, one column each."""
    (data,) = resample_blocks([table.sum_clusters(table.to_cells(counts))], resamples)
    numerators = np.array([numerator for m in measures for numerator, _ in m.ratios])
    denominators = np.array([denominator for m in measures for _, denominator in m.ratios])
    ratios = compute_ratios(data, numerators, denominators)
    # Not a matrix product: a ratio without a value would leave the others without one.
    ends = np.cumsum([len(m.ratios) for m in measures])
    parts = [np.arange(end - len(m.ratios), end) for m, end in zip(measures, ends, strict=True)]

    def add_ratios(values: Floats) -> Floats:
        sums = [
            values[..., part].sum(axis=-1) + m.offset
            for m, part in zip(measures, parts, strict=True)
        ]
        return np.stack(sums, axis=-1)

    return Distribution(
        add_ratios(ratios.values),
        add_ratios(ratios.replicates),
        add_ratios(ratios.jackknife),
        np.array([ratios.support[part].min() for part in parts]),
    )


def compare_pairs(
    table: OutcomeTable,
    pairs: Sequence[SystemPair],
    measures: Sequence[Measure],
    names: Sequence[str],
    distributions: Mapping[str, Distribution],
    resamples: ClusterResamples,
    plan: ResamplingPlan,
) -> tuple[OutcomeComparison, ...]:
    """Compares pairs of systems on measures, with Holm's correction over the pairs of a measure.

    Measures whose denominators do not depend on the answers are compared by the sign-flip test of
    the clusters' differences, which holds for any number of clusters; accuracy by the exact McNemar
    test, where each cluster is one question. Others have the test of the bootstrap, and with fewer
    than ``MIN_CLUSTERS`` clusters none, and Newcombe's interval.

    Args:
        table: the answers of all systems.
        pairs: candidate and baseline of each pair.
        measures: the measures of the distributions, in order.
        names: the measures to compare.
        distributions: by system, the distribution of the measures.
        resamples: of which the distributions are.
        plan: the parameters of ``resamples``.
    """
    compared: list[OutcomeComparison] = []
    for column, measure in enumerate(measures):
        if measure.name not in names:
            continue
        if measure.name == ACCURACY and table.has_single_questions:
            tested = _compare_accuracies(table, pairs, resamples, plan)
        else:
            tested = [
                _compare_pair(table, pair, measure, column, distributions, plan) for pair in pairs
            ]
        compared += adjust_family(tested, higher_is_better=measure.higher_is_better)
    return tuple(compared)


def _compare_pair(
    table: OutcomeTable,
    pair: SystemPair,
    measure: Measure,
    column: int,
    distributions: Mapping[str, Distribution],
    plan: ResamplingPlan,
) -> OutcomeComparison:
    first, second = (distributions[system] for system in pair)
    comparison = replace(
        _name_pair(table, pair, measure.name),
        value_candidate=_to_optional(first.values[column]),
        value_baseline=_to_optional(second.values[column]),
    )
    if comparison.value_candidate is None or comparison.value_baseline is None:
        return comparison
    difference = BootstrapDifference(first - second, plan.confidence)
    edge_interval = compute_edge_difference(
        (comparison.value_candidate, float(first.support[column])),
        (comparison.value_baseline, float(second.support[column])),
        plan.confidence,
        measure.minimum,
    )
    compared = add_bootstrap_test(
        comparison, difference, column, n_items=len(table.ids), edge_interval=edge_interval
    )
    if compared.p is None:
        return compared
    if measure.has_fixed_denominators:
        scores = [_score_clusters(table, system, measure) for system in pair]
        flips = flip_signs(scores[0] - scores[1], plan.seed)
        return replace(
            compared,
            test="sign-flip",
            exact=flips.is_exact,
            p=round_significant(flips.p_value),
        )
    if difference.distribution.support[column] < MIN_CLUSTERS:
        # The bootstrap of so few finds differences where there are none.
        return replace(add_interval(compared, edge_interval), test="none", p=None)
    return compared


def _score_clusters(table: OutcomeTable, system: str, measure: Measure) -> Floats:
    """Returns what each cluster adds to a measure whose denominators are fixed."""
    cells = table.sum_clusters(table.to_cells(table.counts[system]))
    totals = cells.sum(axis=0)
    parts = [cells @ top / float(totals @ bottom) for top, bottom in measure.ratios]
    return np.asarray(np.sum(parts, axis=0))


def _name_pair(table: OutcomeTable, pair: SystemPair, metric: str) -> OutcomeComparison:
    """Makes the comparison of a pair without values."""
    is_shared = table.is_answered[pair[0]] & table.is_answered[pair[1]]
    return OutcomeComparison(
        metric=metric, candidate=pair[0], baseline=pair[1], n_shared=int(is_shared.sum())
    )


def _compare_accuracies(
    table: OutcomeTable,
    pairs: Sequence[SystemPair],
    resamples: ClusterResamples,
    plan: ResamplingPlan,
) -> list[OutcomeComparison]:
    order = np.argsort(table.clusters)
    right = {
        system: counts[order, OUTCOMES.index("right")] / table.repeats[system]
        for system, counts in table.counts.items()
    }
    return compare_item_values(
        [_name_pair(table, pair, ACCURACY) for pair in pairs],
        [(right[c], right[b]) for c, b in pairs],
        resamples,
        confidence=plan.confidence,
        is_binary=set(table.repeats.values()) == {1},
        is_share=True,
    )


def _to_optional(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
