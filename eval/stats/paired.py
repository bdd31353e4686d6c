"""Paired comparisons: two systems on the same items, tested against each other.

That two intervals overlap, or do not, is never used: it is not a test. What is used is the exact
McNemar test on the items where only one of the two is right, the cluster bootstrap of the
difference on shared draws, and Holm's correction over the pairs compared.

Sources: McNemar, Psychometrika 1947 (exact form: binomial on the discordant items); Holm, Scand.
J. Statistics 1979; Newcombe, Statistics in Medicine 1998, 17:2635 (method 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from eval.stats.intervals import Distribution, Floats
from eval.stats.shown import Interval
from kg.base.proportions import normal_quantile, wilson

ALPHA = 0.05
POWER = 0.80


class Discordant(msgspec.Struct, frozen=True):
    """The 2×2 table behind exact McNemar: on how many items each system counts in the numerator.

    For accuracy that is being right; for FAR-NE it is a false answer.
    """

    both: int
    only_a: int
    only_b: int
    neither: int


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Exact two-sided McNemar test that both systems are right equally often.

    Args:
        only_a: items on which only the first system is right.
        only_b: items on which only the second is.

    Returns:
        p = min(1, 2·P(X ≤ min)) with X ~ Binomial(only_a + only_b, ½); 1 without discordant items.

    Raises:
        ValueError: a negative count.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError("counts of items cannot be negative")
    trials, fewer = only_a + only_b, min(only_a, only_b)
    if only_a == only_b:
        return 1.0
    # The tail is summed from its largest term downwards; each term follows from the one before.
    largest = (
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
    return min(1.0, 2 * math.exp(largest) * total)


def discordance(right_a: Floats, right_b: Floats) -> Discordant:
    """The 2×2 table of two systems' right items.

    Args:
        right_a: 1 where the first system is right, else 0; shape (items,).
        right_b: the same for the second.
    """
    both = int((right_a * right_b).sum())
    only_a, only_b = int(right_a.sum()) - both, int(right_b.sum()) - both
    return Discordant(both, only_a, only_b, right_a.size - both - only_a - only_b)


def newcombe_paired(counts: Discordant, confidence: float = 0.95) -> tuple[float, float]:
    """Newcombe's score interval for the difference of two paired proportions (method 10).

    Args:
        counts: the 2×2 table; the difference is the first proportion less the second.
        confidence: coverage aimed at.

    Returns:
        (low, high) within [-1, 1].

    Raises:
        ValueError: an empty table.
    """
    a, b, c, d = counts.both, counts.only_a, counts.only_b, counts.neither
    n = a + b + c + d
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = float(a * d - b * c)
    if cross > 0:
        cross = max(cross - n / 2, 0.0)
    return square_and_add(
        ((a + b) / max(n, 1), wilson(a + b, n, confidence)),
        ((a + c) / max(n, 1), wilson(a + c, n, confidence)),
        cross / math.sqrt(margins) if margins else 0.0,
    )


def square_and_add(
    first: tuple[float, tuple[float, float]],
    second: tuple[float, tuple[float, float]],
    correlation: float = 0.0,
) -> tuple[float, float]:
    """Newcombe's interval for a difference, from an estimate and interval of each part.

    Without a correlation it is the interval for independent parts, which is too wide, hence on
    the safe side, for parts that go together.
    """
    (value_1, (low_1, high_1)), (value_2, (low_2, high_2)) = first, second
    difference = value_1 - value_2

    def spread(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))

    return (
        difference - spread(value_1 - low_1, high_2 - value_2),
        difference + spread(high_1 - value_1, value_2 - low_2),
    )


def edge_of_difference(
    first: Floats, second: Floats, confidence: float, *, table: bool
) -> Interval:
    """Newcombe's interval, where every sample shows one difference, so that no resample varies.

    Args:
        first: one value a sample, within 0 and 1, shape (n,), n at least 1.
        second: of the same samples.
        confidence: coverage that the interval aims at.
        table: whether each sample says yes or no. For parts that are no plain proportions the
            interval is the one for independent ones, which is too wide.
    """
    if table:
        return Interval(*newcombe_paired(discordance(first, second), confidence), "newcombe-paired")
    n = first.size
    parts = [
        (float(v.mean()), wilson(min(float(v.sum()), n), n, confidence)) for v in (first, second)
    ]
    return Interval(*square_and_add(parts[0], parts[1]), "newcombe")


def bootstrap_p(difference: Distribution) -> Floats:
    """Two-sided p of no difference, by inverting the percentile interval.

    Twice the share of replicates on the far side of zero, counted with one added to both parts so
    that no finite number of resamples claims p = 0 (Davison & Hinkley 1997, §4.4).

    Returns:
        Shape (m,); nan where no replicate has a value.
    """
    known = ~np.isnan(difference.replicates)
    total = known.sum(axis=0)
    not_above = ((difference.replicates <= 0) & known).sum(axis=0)
    not_below = ((difference.replicates >= 0) & known).sum(axis=0)
    p = 2 * (np.minimum(not_above, not_below) + 1) / (total + 1)
    return np.where(total > 0, np.minimum(p, 1.0), np.nan)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment of a family of p-values, in their own order.

    ``None`` (no test was possible) is no member of the family and stays ``None``.
    """
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[place] = highest
    return adjusted


def minimum_detectable_effect(
    standard_error: float,
    n_items: int | None = None,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> float | None:
    """The smallest true difference that such a comparison finds with the given power.

    (z₁₋α/₂ + z_power) standard errors, and never below what exact McNemar needs even if one system
    is never alone in being right.

    Args:
        standard_error: of the difference, from the paired bootstrap.
        n_items: items behind a metric that is a yes or no per item, else ``None``.
        alpha: two-sided level.
        power: probability of finding the effect.

    Returns:
        The effect on the metric's scale, or ``None`` where no effect can be found or nothing is
        known (no spread seen and no McNemar test).
    """
    spread = 0.0 if math.isnan(standard_error) else standard_error
    effect = (normal_quantile(1 - alpha / 2) + normal_quantile(power)) * spread
    if n_items is not None:
        floor = mcnemar_floor(n_items, alpha, power)
        return None if floor is None else max(effect, floor)
    return effect or None


@lru_cache(maxsize=256)
def mcnemar_floor(n_items: int, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """The smallest effect exact McNemar finds with the given power when all discord is one-sided.

    Fewer than k discordant items, six for α = .05, reach no p below α however one-sided they are;
    the floor is the share e of discordant items with P(Binomial(n_items, e) ≥ k) = power.

    Returns:
        The share, or ``None`` when there are fewer than k items.
    """
    fewest = math.floor(1 - math.log2(alpha)) + 1
    if n_items < fewest:
        return None

    def found(share: float) -> float:
        kept = 1 - share
        terms = (
            math.comb(n_items, k) * share**k * math.exp((n_items - k) * math.log(kept))
            for k in range(fewest)
        )
        return 1 - math.fsum(terms)

    low, high = 0.0, 1.0 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high
