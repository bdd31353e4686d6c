"""Compares pairs of retrievers on the same questions, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from eval.ranking.answerability import ANSWERABILITY_MEASURES, FALSE_POSITIVES
from eval.ranking.metrics import ALL_GOLD, METRIC_NAMES
from eval.ranking.question_scores import QuestionScores
from eval.ranking.record import ALL_QUESTIONS, Difference
from eval.stats.bootstrap import BootstrapIntervals, Distribution, round_significant
from eval.stats.estimates import Interval, choose_interval
from eval.stats.paired_tests import (
    ALPHA,
    adjust_holm,
    compute_bootstrap_p,
    compute_newcombe_interval,
    minimum_detectable_effect,
)
from eval.stats.permutation import sign_flip_test

Pair = tuple[str, str]


def compare_retrievers(scores: QuestionScores, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Compares pairs of retrievers by every metric and group of questions.

    p-values are adjusted by Holm's method, for each metric separately. The tests on all questions
    are one family, with one test per pair. The tests by kind are another, with one test per pair
    and kind.

    Args:
        scores: the retrievers' scores.
        pairs: first and second; difference = first − second.

    Returns:
        The differences, by group, then metric, then pair.
    """
    differences = [
        difference
        for group in scores.groups
        for difference in _compare_in_group(scores, group, pairs)
    ]
    families: dict[tuple[bool, str], list[int]] = {}
    for i, difference in enumerate(differences):
        families.setdefault((difference.group == ALL_QUESTIONS, difference.measure), []).append(i)
    for family in families.values():
        adjusted = adjust_holm([differences[i].p for i in family])
        for i, p in zip(family, adjusted, strict=True):
            differences[i] = _add_verdict(differences[i], p)
    return tuple(differences)


def _compare_in_group(
    scores: QuestionScores, group: str, pairs: Sequence[Pair]
) -> list[Difference]:
    distributions = []
    for first, second in pairs:
        distribution = scores.get_distribution(first, group) - scores.get_distribution(
            second, group
        )
        distributions.append((distribution, distribution.compute_intervals(scores.confidence)))
    return [
        _test_difference(scores, group, column, pair, *distribution)
        for column in range(len(scores.list_metrics(group)))
        for pair, distribution in zip(pairs, distributions, strict=True)
    ]


def _test_difference(
    scores: QuestionScores,
    group: str,
    column: int,
    pair: Pair,
    distribution: Distribution,
    intervals: BootstrapIntervals,
) -> Difference:
    first, second = pair
    measure = scores.list_metrics(group)[column]
    values = [float(scores.get_distribution(name, group).values[column]) for name in pair]
    difference = Difference(
        group=group,
        measure=measure,
        first=first,
        second=second,
        value_first=None if np.isnan(values[0]) else round_significant(values[0]),
        value_second=None if np.isnan(values[1]) else round_significant(values[1]),
        difference=None,
    )
    if np.isnan(values).any():
        return difference
    difference = msgspec.structs.replace(
        difference, difference=round_significant(float(distribution.values[column]))
    )
    if measure in ANSWERABILITY_MEASURES:
        return _add_bootstrap_test(difference, scores, distribution, intervals, column)
    paired_values = [
        scores.get_values(name, group)[:, METRIC_NAMES.index(measure)] for name in pair
    ]
    paired_differences = paired_values[0] - paired_values[1]
    flip_test = sign_flip_test(paired_differences, seed=scores.resamples.seed)
    difference = _add_interval(difference, choose_interval(intervals, column))
    # If no resample varies, the computed standard error is only rounding error.
    standard_error = (
        0.0
        if difference.method == "none"
        else float(distribution.compute_standard_errors()[column])
    )
    if difference.method == "none" and (flip_test.n_differ or measure == ALL_GOLD):
        is_binary = measure == ALL_GOLD
        interval = compute_newcombe_interval(
            paired_values[0], paired_values[1], scores.confidence, is_binary=is_binary
        )
        difference = _add_interval(difference, interval)
    n = len(paired_differences)
    effect = minimum_detectable_effect(standard_error, n if measure == ALL_GOLD else None)
    return msgspec.structs.replace(
        difference,
        test="mcnemar" if flip_test.is_mcnemar else "sign-flip",
        exact=flip_test.is_exact,
        p=round_significant(flip_test.p_value),
        n=n,
        n_differ=flip_test.n_differ,
        minimum_detectable_effect=None if effect is None else round_significant(effect),
    )


def _add_bootstrap_test(
    difference: Difference,
    scores: QuestionScores,
    distribution: Distribution,
    intervals: BootstrapIntervals,
    column: int,
) -> Difference:
    """Tests a difference of one of the ``ANSWERABILITY_MEASURES`` by the bootstrap.

    Paired tests need a value per question, which these do not have: they compare the scores of
    different questions.
    """
    difference = _add_interval(difference, choose_interval(intervals, column))
    effect = minimum_detectable_effect(float(distribution.compute_standard_errors()[column]))
    return msgspec.structs.replace(
        difference,
        test="bootstrap",
        p=round_significant(float(compute_bootstrap_p(distribution)[column])),
        n=len(scores.kinds),
        minimum_detectable_effect=None if effect is None else round_significant(effect),
    )


def _add_interval(difference: Difference, interval: Interval | None) -> Difference:
    """Returns the difference with an interval, if there is one."""
    if interval is None:
        return difference
    return msgspec.structs.replace(
        difference,
        low=round_significant(interval.low),
        high=round_significant(interval.high),
        method=interval.method,
    )


def _add_verdict(difference: Difference, p_holm: float | None) -> Difference:
    """Returns the difference with the adjusted p-value and the better retriever, if any."""
    better = None
    if (
        difference.low is not None
        and difference.high is not None
        and p_holm is not None
        and p_holm < ALPHA
    ):
        better_if_positive, better_if_negative = difference.first, difference.second
        if difference.measure == FALSE_POSITIVES:
            better_if_positive, better_if_negative = better_if_negative, better_if_positive
        if difference.low > 0:
            better = better_if_positive
        elif difference.high < 0:
            better = better_if_negative
    return msgspec.structs.replace(
        difference, p_holm=None if p_holm is None else round_significant(p_holm), better=better
    )
