"""Agreement of raters beyond chance (κ), and the correlation of binary variables (φ).

Sources: J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological
Measurement 20(1), 1960; J. L. Fleiss, Measuring nominal scale agreement among many raters,
Psychological Bulletin 76(5), 1971; φ is Pearson's correlation of two binary variables (K. Pearson,
1900; G. U. Yule, 1912).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum, sqrt


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Computes Cohen's κ of two raters over the same items.

    κ = (p_o - p_e) / (1 - p_e), with p_o the share of items on which they agree and p_e the sum
    over the categories of the product of both raters' shares.

    Args:
        first: the first rater's category of each item; shape (n,).
        second: the second rater's categories in the same form.

    Returns:
        κ: 1 for full agreement, 0 for agreement as by chance. None if there are no items, or if
        both raters use the same single category throughout (p_e = 1).

    Raises:
        ValueError: the raters rated different numbers of items.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} ratings against {len(second)}")
    n = len(first)
    first_counts, second_counts = Counter(first), Counter(second)
    # p_e · n², a whole number, so that the comparison for p_e = 1 is exact.
    chance_pairs = sum(count * second_counts[category] for category, count in first_counts.items())
    if chance_pairs == n * n:
        return None
    n_agreed = sum(a == b for a, b in zip(first, second, strict=True))
    return (n_agreed * n - chance_pairs) / (n * n - chance_pairs)


def fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> float | None:
    """Computes Fleiss' κ of a fixed number of raters, who need not be the same for every item.

    κ = (P̄ - P̄_e) / (1 - P̄_e), with P̄ the mean share of agreeing pairs of raters and P̄_e the
    sum of the squared shares of the categories over all ratings.

    Args:
        items: the ratings of each item; shape (n, raters).

    Returns:
        κ: 1 for full agreement, 0 for agreement as by chance. None if there are no items, or if all
        ratings are of one category.

    Raises:
        ValueError: fewer than two raters, or different numbers of ratings per item.
    """
    if not items:
        return None
    raters = len(items[0])
    if raters < 2 or any(len(item) != raters for item in items):
        raise ValueError("every item needs the same number of ratings, at least two")
    counts = [Counter(item) for item in items]
    totals = sum(counts, Counter[Hashable]())
    if len(totals) == 1:
        return None
    pairs = sum(count * (count - 1) for item in counts for count in item.values())
    observed = pairs / (len(items) * raters * (raters - 1))
    expected = fsum((total / (len(items) * raters)) ** 2 for total in totals.values())
    return (observed - expected) / (1 - expected)


def phi_coefficient(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Computes φ of two binary variables: Pearson's correlation of their 0s and 1s.

    φ = (n₁₁n₀₀ - n₁₀n₀₁) / √(n₁.n₀.n.₁n.₀)

    Args:
        first: values of one variable, shape (n,).
        second: values of the other variable, shape (n,).

    Returns:
        φ, from -1 to 1; None if a variable does not vary.

    Raises:
        ValueError: the two have different lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    n, n_first, n_second = len(first), sum(first), sum(second)
    n_both = sum(a and b for a, b in zip(first, second, strict=True))
    margins = n_first * (n - n_first) * n_second * (n - n_second)
    if not margins:
        return None
    # n₁₁n₀₀ - n₁₀n₀₁ = n·n₁₁ - n₁.n.₁
    return (n * n_both - n_first * n_second) / sqrt(margins)
