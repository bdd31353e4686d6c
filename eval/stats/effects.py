"""Tests and effect sizes on one difference per item: signed ranks, t, and Cohen's d.

Sources: Wilcoxon, Biometrics Bulletin 1945; Pratt, JASA 1959, 54:655 (what to do with zeros);
Streitberg & Röhmel, Statistical Software Newsletter 1986 (exact distribution with ties); Cohen,
"Statistical Power Analysis for the Behavioral Sciences", 1988; Hedges, J. Educational Statistics
1981, 6:107 (small-sample correction).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from eval.stats.bootstrap import Floats

_MAX_EXACT_DIFFERENCES = 200
_MAX_RANK_SUM = 10_000_000
"""Maximum sum of the doubled ranks of an exact test, whose distribution has a value per sum. Many
zeros make the ranks of few differences large."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class SignedRanks:
    """Result of Wilcoxon's signed-rank test.

    Attributes:
        statistic: sum of the ranks of positive differences.
        p_value: two-sided p-value.
        is_exact: whether the p-value is from the exact distribution given the ranks.
        n_zero: number of zero differences.
    """

    statistic: float
    p_value: float
    is_exact: bool
    n_zero: int


def wilcoxon_test(differences: Floats) -> SignedRanks:
    """Computes Wilcoxon's signed-rank test that differences are symmetric about zero.

    Differences are ranked by size; equal sizes share their mean rank. Zeros are ranked with the
    others and then left out, as Pratt proposed: dropping them first can reverse the result when
    most differences are zero.

    With up to 200 non-zero differences, the distribution of the rank sum is exact, ties included:
    given the ranks, all signs are equally likely. With more, or where the ranks are so large that
    the distribution would need much memory, it is normal with the variance of these ranks.

    Sizes that differ by less than 1e-12 of the largest count as equal. Means over repeats have
    rounding errors (1 - 1/3 is not 2/3), which must neither break a tie nor turn a zero into a
    difference.

    Args:
        differences: one per item, shape (n,).

    Returns:
        p = 1 where all differences are zero.
    """
    sizes = np.abs(differences)
    largest = float(sizes.max(initial=0.0))
    if largest:
        sizes = np.round(sizes / largest, 12)
    _, group, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    # Twice the mean rank of each group of equal sizes, which is a whole number.
    doubled_ranks = 2 * np.cumsum(counts) - counts + 1
    ranks = doubled_ranks[group][sizes > 0]
    positive_sum = int(ranks[differences[sizes > 0] > 0].sum())
    n_zero = int((sizes == 0).sum())
    if not ranks.size:
        return SignedRanks(0.0, 1.0, is_exact=True, n_zero=n_zero)
    if ranks.size <= _MAX_EXACT_DIFFERENCES and int(ranks.sum()) <= _MAX_RANK_SUM:
        # Index = sum of the doubled ranks of positive differences. Each rank is added to the sum
        # with probability 1/2.
        probabilities = np.ones(1)
        for rank in ranks.tolist():
            extended = np.zeros(probabilities.size + rank)
            extended[: probabilities.size] = probabilities / 2
            extended[rank:] += probabilities / 2
            probabilities = extended
        tails = (
            float(probabilities[: positive_sum + 1].sum()),
            float(probabilities[positive_sum:].sum()),
        )
        p, is_exact = min(1.0, 2 * min(tails)), True
    else:
        deviation = math.sqrt(float((ranks.astype(np.float64) ** 2).sum()) / 4)
        z = (positive_sum - float(ranks.sum()) / 2) / deviation
        p, is_exact = min(1.0, 2 * _NORMAL.cdf(-abs(z))), False
    return SignedRanks(positive_sum / 2, p, is_exact, n_zero)


@dataclass(frozen=True)
class PairedTTest:
    """Result of Student's t test of paired differences."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


def paired_t_test(differences: Floats) -> PairedTTest | None:
    """Computes Student's two-sided t test that the mean difference is zero.

    Args:
        differences: one per item, shape (n,).

    Returns:
        ``None`` for fewer than two differences, or where they do not vary.
    """
    from scipy.special import stdtr

    n = differences.size
    effect = cohens_d_paired(differences)
    if effect is None:
        return None
    statistic = effect * math.sqrt(n)
    return PairedTTest(statistic, n - 1, float(2 * stdtr(n - 1, -abs(statistic))))


def cohens_d_paired(differences: Floats) -> float | None:
    """Computes Cohen's d of paired differences, d_z: mean over standard deviation (n - 1).

    Returns:
        ``None`` for fewer than two differences, or where they do not vary.
    """
    if differences.size < 2:
        return None
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    # A deviation this small is rounding error of differences that are all equal.
    return mean / deviation if deviation > 1e-12 * max(1.0, abs(mean)) else None


def cohens_d_pooled(first: Floats, second: Floats) -> float | None:
    """Computes Cohen's d of two independent samples: difference of means / pooled deviation.

    Returns:
        ``None`` where a sample has fewer than two values or neither varies.
    """
    n, m = first.size, second.size
    if n < 2 or m < 2:
        return None
    squares = (n - 1) * float(first.var(ddof=1)) + (m - 1) * float(second.var(ddof=1))
    difference = float(first.mean() - second.mean())
    deviation = math.sqrt(squares / (n + m - 2))
    return difference / deviation if deviation > 1e-12 * max(1.0, abs(difference)) else None
