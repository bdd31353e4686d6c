"""Tests Wilcoxon's test, the paired t-test and effect sizes against enumeration and SciPy."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.effects import (
    cohens_d_paired,
    cohens_d_pooled,
    paired_t_test,
    wilcoxon_test,
)

SMALL_DIFFERENCES = st.lists(st.integers(-4, 4), min_size=1, max_size=9).map(
    lambda d: np.array(d, float)
)


def compute_wilcoxon_p_by_enumeration(differences: np.ndarray) -> float:
    """Returns the two-sided p over all signs of the ranks; zeros are left out after ranking."""
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    positive_rank_sum = ranks[differences[differences != 0] > 0].sum()
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))]
    lower_tail, upper_tail = (
        np.mean(np.array(sums) <= positive_rank_sum),
        np.mean(np.array(sums) >= positive_rank_sum),
    )
    return min(1.0, 2 * min(lower_tail, upper_tail))


@settings(deadline=None)
@given(SMALL_DIFFERENCES)
def test_wilcoxon_is_exact_with_ties_and_zeros(differences: np.ndarray) -> None:
    result = wilcoxon_test(differences)
    assert result.is_exact
    assert result.n_zero == int((differences == 0).sum())
    assert result.p_value == pytest.approx(compute_wilcoxon_p_by_enumeration(differences))
    assert wilcoxon_test(-differences).p_value == pytest.approx(result.p_value)


@pytest.mark.parametrize("seed", range(5))
def test_wilcoxon_matches_scipy_without_ties(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.2, 1, 40)
    expected = stats.wilcoxon(differences, method="exact")
    result = wilcoxon_test(differences)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert min(result.statistic, 40 * 41 / 2 - result.statistic) == pytest.approx(
        expected.statistic
    )


@pytest.mark.parametrize("seed", range(3))
def test_large_samples_use_the_normal_approximation_of_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-3, 5, 900).astype(float)
    expected = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    result = wilcoxon_test(differences)
    assert not result.is_exact
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_normal_approximation_and_exact_test_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(8).integers(-2, 4, 190).astype(float) / 5
    exact = wilcoxon_test(differences)
    monkeypatch.setattr("eval.stats.effects._MAX_EXACT_DIFFERENCES", 0)
    assert wilcoxon_test(differences).p_value == pytest.approx(exact.p_value, rel=0.1)


def test_few_differences_among_very_many_items_need_little_memory() -> None:
    differences = np.zeros(1_000_000)
    differences[:40], differences[40:60] = 0.5, -0.5
    tracemalloc.start()
    result = wilcoxon_test(differences)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000_000
    assert not result.is_exact
    expected = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-6)


def test_all_zero_differences_give_p_1() -> None:
    assert wilcoxon_test(np.zeros(7)).p_value == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_t_test_and_cohens_d_match_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, 25), rng.normal(0, 1, 25)
    expected = stats.ttest_rel(first, second)
    result = paired_t_test(first - second)
    assert result is not None
    assert (result.statistic, result.p_value) == pytest.approx(
        (expected.statistic, expected.pvalue)
    )
    assert result.degrees_of_freedom == expected.df
    effect_size = cohens_d_paired(first - second)
    assert effect_size == pytest.approx(expected.statistic / 5)  # 5 is the root of the 25 pairs
    pooled_effect_size = cohens_d_pooled(first, second)
    independent = stats.ttest_ind(first, second)
    assert pooled_effect_size == pytest.approx(independent.statistic * np.sqrt(2 / 25))


def test_no_variation_gives_no_effect_size() -> None:
    assert cohens_d_paired(np.ones(5)) is None
    assert cohens_d_paired(np.full(7, 0.1)) is None
    assert cohens_d_paired(np.array([1.0])) is None
    assert paired_t_test(np.ones(5)) is None
    assert cohens_d_pooled(np.ones(3), np.ones(3)) is None
    assert cohens_d_pooled(np.ones(1), np.arange(3.0)) is None


def test_rounding_errors_of_means_have_no_effect() -> None:
    thirds = np.array([0, 1, 2, 3]) / 3
    first, second = np.meshgrid(thirds, thirds)
    differences = np.concatenate([(first - second).ravel(), np.array([1 / 3, 2 / 3, 2 / 3])])
    differences_of_complements = np.concatenate(
        [((1 - second) - (1 - first)).ravel(), np.array([1 / 3, 2 / 3, 2 / 3])]
    )
    integer_differences = np.round(3 * differences)
    # The differences of the complements are the same except for rounding errors, which break ties.
    assert len(np.unique(np.abs(differences_of_complements))) > len(
        np.unique(np.abs(integer_differences))
    )
    assert (
        wilcoxon_test(differences)
        == wilcoxon_test(differences_of_complements)
        == wilcoxon_test(integer_differences)
    )
    assert wilcoxon_test(np.array([(1 - 1 / 3) - 2 / 3, 1.0])).n_zero == 1
