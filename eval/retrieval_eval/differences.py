"""Compares pairs of retrievers on the same questions, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from eval.metrics.comparison import (
    BootstrapDifference,
    add_bootstrap_test,
    add_sign_flip_test,
    adjust_families,
)
from eval.retrieval_eval.answerability import ANSWERABILITY_MEASURES, FALSE_POSITIVES
from eval.retrieval_eval.metrics import ALL_GOLD, METRIC_NAMES
from eval.retrieval_eval.question_scores import QuestionScores
from eval.retrieval_eval.record import ALL_QUESTIONS, RetrieverComparison
from eval.stats.bootstrap import round_significant
from eval.stats.permutation import sign_flip_test

Pair = tuple[str, str]


def compare_retrievers(
    scores: QuestionScores, pairs: Sequence[Pair]
) -> tuple[RetrieverComparison, ...]:
    """Compares pairs of retrievers by every metric and group of questions.

    p-values are adjusted by Holm's method, for each metric separately. The tests on all questions
    are one family, with one test per pair. The tests by kind are another, with one test per pair
    and kind.

    Args:
        scores: the retrievers' scores.
        pairs: candidate and baseline; difference = candidate − baseline.

    Returns:
        The comparisons, by group, then metric, then pair.
    """
    comparisons = [
        comparison
        for group in scores.groups
        for comparison in _compare_in_group(scores, group, pairs)
    ]
    return tuple(
        adjust_families(
            comparisons,
            lambda comparison: (comparison.group == ALL_QUESTIONS, comparison.metric),
            lambda comparison: comparison.metric != FALSE_POSITIVES,
        )
    )


def _compare_in_group(
    scores: QuestionScores, group: str, pairs: Sequence[Pair]
) -> list[RetrieverComparison]:
    differences = [
        BootstrapDifference(
            scores.get_distribution(candidate, group) - scores.get_distribution(baseline, group),
            scores.confidence,
        )
        for candidate, baseline in pairs
    ]
    return [
        _compare_pair(scores, group, column, pair, difference)
        for column in range(len(scores.list_metrics(group)))
        for pair, difference in zip(pairs, differences, strict=True)
    ]


def _compare_pair(
    scores: QuestionScores, group: str, column: int, pair: Pair, difference: BootstrapDifference
) -> RetrieverComparison:
    metric = scores.list_metrics(group)[column]
    values = [float(scores.get_distribution(name, group).values[column]) for name in pair]
    comparison = RetrieverComparison(
        group=group,
        metric=metric,
        candidate=pair[0],
        baseline=pair[1],
        value_candidate=None if np.isnan(values[0]) else round_significant(values[0]),
        value_baseline=None if np.isnan(values[1]) else round_significant(values[1]),
    )
    if np.isnan(values).any():
        return comparison
    if metric in ANSWERABILITY_MEASURES:
        # Paired tests need a value per question, which these metrics do not have: they compare the
        # scores of different questions.
        return add_bootstrap_test(comparison, difference, column, n_items=len(scores.kinds))
    candidate, baseline = (
        scores.get_values(name, group)[:, METRIC_NAMES.index(metric)] for name in pair
    )
    flip_test = sign_flip_test(candidate - baseline, seed=scores.resamples.seed)
    comparison = add_sign_flip_test(
        comparison,
        (candidate, baseline),
        difference,
        column,
        flip_test=flip_test,
        is_binary=metric == ALL_GOLD,
        is_share=True,
    )
    # A metric with several values can still differ by one size only, which is McNemar's test.
    return replace(comparison, test="mcnemar" if flip_test.is_mcnemar else "sign-flip")
