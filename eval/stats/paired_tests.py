"""Paired comparisons of two systems on the same items.

Provides the exact McNemar test on the items where only one of the two systems is right, p-values
from the cluster bootstrap of the difference on shared resamples, Newcombe's intervals, and Holm's
correction over the pairs compared. Whether two intervals overlap is not a test and is never used.

Sources: McNemar, Psychometrika 1947 (exact form: binomial on the discordant items); Holm, Scand.
J. Statistics 1979; Newcombe, Statistics in Medicine 1998, 17:2635 (method 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from eval.stats.bootstrap import RESAMPLES, Distribution, Floats
from eval.stats.estimates import Interval, compute_edge_interval
from kg.base.proportions import normal_quantile, wilson_interval

ALPHA = 0.05
POWER = 0.80

_MAX_FLOOR = 0.01
"""The smallest p that a bootstrap test can reach after Holm's correction is at most this."""
MAX_RESAMPLES = 20_000
"""Maximum number of resamples unless a user asks for more: enough for 100 tests, the pairs of 14
systems."""


class Discordant(msgspec.Struct, frozen=True):
    """The 2×2 table of exact McNemar: the number of items that count in each system's numerator.

    For accuracy these are right answers; for FAR-NE they are false answers.
    """

    both: int
    only_candidate: int
    only_baseline: int
    neither: int


def mcnemar_exact(only_candidate: int, only_baseline: int) -> float:
    """Computes the exact two-sided McNemar test that both systems are right equally often.

    Args:
        only_candidate: items on which only the candidate is right.
        only_baseline: items on which only the baseline is right.

    Returns:
        p = min(1, 2·P(X ≤ min)) with X ~ Binomial(only_candidate + only_baseline, ½); 1 without
        discordant items.

    Raises:
        ValueError: a negative count.
    """
    if only_candidate < 0 or only_baseline < 0:
        raise ValueError("numbers of items cannot be negative")
    trials, fewer = only_candidate + only_baseline, min(only_candidate, only_baseline)
    if only_candidate == only_baseline:
        return 1.0
    # The tail is summed from its largest term downwards, each term computed from the previous one,
    # so that large counts neither overflow nor need many terms.
    log_largest_term = (
        math.lgamma(trials + 1)
        - math.lgamma(fewer + 1)
        - math.lgamma(trials - fewer + 1)
        - trials * math.log(2)
    )
    total, term = 1.0, 1.0
    for k in range(fewer, 0, -1):
        term *= k / (trials - k + 1)
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, 2 * math.exp(log_largest_term) * total)


def count_discordant(candidate: Floats, baseline: Floats) -> Discordant:
    """Counts the 2×2 table of two systems' right items.

    Args:
        candidate: 1 where the candidate is right, else 0; shape (items,).
        baseline: the same for the baseline.
    """
    n_both = int((candidate * baseline).sum())
    only_candidate, only_baseline = int(candidate.sum()) - n_both, int(baseline.sum()) - n_both
    n_neither = candidate.size - n_both - only_candidate - only_baseline
    return Discordant(n_both, only_candidate, only_baseline, n_neither)


def newcombe_paired_interval(counts: Discordant, confidence: float = 0.95) -> tuple[float, float]:
    """Computes Newcombe's score interval for a difference of paired proportions (method 10).

    Args:
        counts: the 2×2 table; difference = candidate − baseline.
        confidence: nominal coverage.

    Returns:
        (low, high) within [-1, 1].

    Raises:
        ValueError: an empty table.
    """
    a, b, c, d = counts.both, counts.only_candidate, counts.only_baseline, counts.neither
    n = a + b + c + d
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = float(a * d - b * c)
    # Newcombe's continuity correction of the correlation.
    if cross > 0:
        cross = max(cross - n / 2, 0.0)
    return square_and_add(
        ((a + b) / max(n, 1), wilson_interval(a + b, n, confidence)),
        ((a + c) / max(n, 1), wilson_interval(a + c, n, confidence)),
        cross / math.sqrt(margins) if margins else 0.0,
    )


def square_and_add(
    first: tuple[float, tuple[float, float]],
    second: tuple[float, tuple[float, float]],
    correlation: float = 0.0,
) -> tuple[float, float]:
    """Computes Newcombe's interval for a difference from both values and their intervals.

    Args:
        first: the first value, and its interval.
        second: the second value, and its interval.
        correlation: correlation of the two. With 0 the interval is the one for independent values,
            which is conservative (too wide) for positively correlated ones.
    """
    (value_1, (low_1, high_1)), (value_2, (low_2, high_2)) = first, second
    difference = value_1 - value_2

    def combine_widths(width_1: float, width_2: float) -> float:
        return math.sqrt(
            max(0.0, width_1 * width_1 - 2 * correlation * width_1 * width_2 + width_2 * width_2)
        )

    return (
        difference - combine_widths(value_1 - low_1, high_2 - value_2),
        difference + combine_widths(high_1 - value_1, value_2 - low_2),
    )


_MIN_NEWCOMBE_P = 1e-9
"""Smallest p-value that inverting an interval gives."""


def compute_newcombe_p(
    first: tuple[float, float], second: tuple[float, float], null: float = 0.0
) -> float:
    """Computes the two-sided p-value of a difference of two independent proportions.

    It is 1 minus the confidence at which an end of Newcombe's interval is ``null``, so that p is
    below 5 % exactly if the 95 % interval excludes ``null``.

    Args:
        first: number of successes and of trials.
        second: the same of what is subtracted.
        null: the difference that is tested.

    Returns:
        p from 1e-9 to 1.

    Raises:
        ValueError: no trials.
    """
    value_1, value_2 = (successes / trials for successes, trials in (first, second))

    def is_excluded(p_value: float) -> bool:
        intervals = (wilson_interval(*counts, 1 - p_value) for counts in (first, second))
        low, high = square_and_add((value_1, next(intervals)), (value_2, next(intervals)))
        return not low <= null <= high

    low, high = math.log(_MIN_NEWCOMBE_P), 0.0
    if is_excluded(_MIN_NEWCOMBE_P):
        return _MIN_NEWCOMBE_P
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if is_excluded(math.exp(middle)) else (middle, high)
    return math.exp(high)


def compute_newcombe_interval(
    candidate: Floats, baseline: Floats, confidence: float, *, is_binary: bool
) -> Interval:
    """Computes Newcombe's interval, used where all items have the same difference.

    The bootstrap is degenerate in that case, because its resamples do not vary.

    Args:
        candidate: one value per item, in [0, 1], shape (n,), n at least 1.
        baseline: the baseline's values of the same items.
        confidence: nominal coverage of the interval.
        is_binary: whether each value is 0 or 1. If not, the interval is the one for independent
            proportions, which is too wide.
    """
    if is_binary:
        return Interval(
            *newcombe_paired_interval(count_discordant(candidate, baseline), confidence),
            "newcombe-paired",
        )
    n = candidate.size
    values_and_intervals = [
        (float(values.mean()), wilson_interval(min(float(values.sum()), n), n, confidence))
        for values in (candidate, baseline)
    ]
    return Interval(*square_and_add(values_and_intervals[0], values_and_intervals[1]), "newcombe")


def compute_edge_difference(
    candidate: tuple[float, float],
    baseline: tuple[float, float],
    confidence: float,
    minimum: float = 0.0,
) -> Interval:
    """Computes Newcombe's interval of the difference of two statistics, for degenerate resamples.

    It is the one for independent values, which is too wide.

    Args:
        candidate: the candidate's value, and the number of samples that contribute to it.
        baseline: value and number of samples of the baseline.
        confidence: nominal coverage.
        minimum: the lowest possible value of the statistic; the highest is 1.
    """
    sides = [
        (value, compute_edge_interval(value, support, confidence, minimum)[:2])
        for value, support in (candidate, baseline)
    ]
    return Interval(*square_and_add(sides[0], sides[1]), "newcombe")


def compute_bootstrap_p(difference: Distribution) -> Floats:
    """Computes two-sided p-values of no difference, by inverting the percentile interval.

    p is twice the share of replicates on the other side of zero, with one added to numerator and
    denominator so that no finite number of resamples gives p = 0 (Davison & Hinkley 1997, §4.4).

    Returns:
        Shape (m,); nan where no replicate has a value.
    """
    is_defined = ~np.isnan(difference.replicates)
    total = is_defined.sum(axis=0)
    not_above = ((difference.replicates <= 0) & is_defined).sum(axis=0)
    not_below = ((difference.replicates >= 0) & is_defined).sum(axis=0)
    p = 2 * (np.minimum(not_above, not_below) + 1) / (total + 1)
    return np.where(total > 0, np.minimum(p, 1.0), np.nan)


def count_needed_resamples(n_tests: int) -> int:
    """Returns how many resamples a family of bootstrap tests needs, a multiple of 1,000.

    A p-value is at least 2 / (resamples + 1), and Holm's correction multiplies the smallest one by
    the number of tests. With too few resamples, no difference can be significant.
    """
    return max(RESAMPLES, 1000 * math.ceil((2 * n_tests / _MAX_FLOOR - 1) / 1000))


def choose_resamples(n_tests: int) -> int:
    """Returns how many resamples to use for a family of tests: as many as needed, up to a limit."""
    return min(count_needed_resamples(n_tests), MAX_RESAMPLES)


def describe_floor(n_tests: int, n_resamples: int, advice: str = "") -> str | None:
    """Says that the p of bootstrap tests cannot be small, or returns ``None`` if they can.

    Args:
        n_tests: number of tests that Holm's correction is for.
        n_resamples: number of resamples.
        advice: what else to do than to give more resamples, as in ``" or --baseline"``.
    """
    floor = min(1.0, n_tests * 2 / (n_resamples + 1))
    if floor <= _MAX_FLOOR:
        return None
    verdict = ", so none can show a difference" if floor >= ALPHA else ""
    return (
        f"No bootstrap test of {n_tests} by {n_resamples} resamples can have a p below "
        f"{floor:.2g} after Holm's correction{verdict}: use --resamples "
        f"{count_needed_resamples(n_tests)}{advice}."
    )


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Applies Holm's step-down adjustment to a family of p-values, keeping their order.

    ``None`` (no test was possible) does not count as a member of the family and stays ``None``.
    """
    tested = [(p, index) for index, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(sorted(tested)):
        highest = max(highest, min(1.0, p * (len(tested) - rank)))
        adjusted[index] = highest
    return adjusted


def minimum_detectable_effect(
    standard_error: float,
    n_items: int | None = None,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> float | None:
    """Computes the smallest true difference that a comparison detects with the given power.

    The difference is (z₁₋α/₂ + z_power) standard errors, but at least the effect that exact McNemar
    needs even if all discordant items favour one system.

    Args:
        standard_error: standard error of the difference, from the paired bootstrap.
        n_items: number of items of a metric that is 0 or 1 per item, else ``None``.
        alpha: two-sided level.
        power: probability of detecting the effect.

    Returns:
        The effect on the metric's scale. ``None`` if no effect can be detected, or if the standard
        error is zero and there is no McNemar test, so that nothing is known.
    """
    deviation = 0.0 if math.isnan(standard_error) else standard_error
    effect = (normal_quantile(1 - alpha / 2) + normal_quantile(power)) * deviation
    if n_items is not None:
        floor = mcnemar_minimum_effect(n_items, alpha, power)
        return None if floor is None else max(effect, floor)
    return effect or None


@lru_cache(maxsize=256)
def mcnemar_minimum_effect(
    n_items: int, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Computes the smallest effect that exact McNemar detects if all discordance is one-sided.

    With fewer than k discordant items (k = 6 for α = .05), p is never below α, however one-sided
    they are. The smallest effect is the share e of discordant items for which at least k items are
    discordant with the given power: P(Binomial(n_items, e) ≥ k) = power.

    Returns:
        The share, or ``None`` when there are fewer than k items.
    """
    # The smallest k with 2 · 2**-k < alpha, which is p if all k items favour one system.
    min_discordant = math.floor(1 - math.log2(alpha)) + 1
    if n_items < min_discordant:
        return None

    def compute_power(share: float) -> float:
        concordant = 1 - share
        terms = (
            math.comb(n_items, k) * share**k * math.exp((n_items - k) * math.log(concordant))
            for k in range(min_discordant)
        )
        return 1 - math.fsum(terms)

    low, high = 0.0, 1.0 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if compute_power(middle) >= power else (middle, high)
    return high
