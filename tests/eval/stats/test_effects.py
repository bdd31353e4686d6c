from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.effects import (
    cohens_d_paired,
    cohens_d_pooled,
    hedges_correction,
    paired_t_test,
    wilcoxon_test,
)

SMALL = st.lists(st.integers(-4, 4), min_size=1, max_size=9).map(lambda d: np.array(d, float))


def wilcoxon_by_enumeration(differences: np.ndarray) -> float:
    """Two-sided p over all signs of the ranks; zeros are ranked and then left out (Pratt)."""
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    seen = ranks[differences[differences != 0] > 0].sum()
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))]
    low, high = np.mean(np.array(sums) <= seen), np.mean(np.array(sums) >= seen)
    return min(1.0, 2 * min(low, high))


@settings(deadline=None)
@given(SMALL)
def test_wilcoxon_is_exact_with_ties_and_zeros(differences: np.ndarray) -> None:
    found = wilcoxon_test(differences)
    assert found.is_exact
    assert found.n_zero == int((differences == 0).sum())
    assert found.p_value == pytest.approx(wilcoxon_by_enumeration(differences))
    assert wilcoxon_test(-differences).p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("seed", range(5))
def test_wilcoxon_matches_scipy_without_ties(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.2, 1, 40)
    theirs = stats.wilcoxon(differences, method="exact")
    found = wilcoxon_test(differences)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert min(found.statistic, 40 * 41 / 2 - found.statistic) == pytest.approx(theirs.statistic)


@pytest.mark.parametrize("seed", range(3))
def test_large_samples_use_the_normal_approximation_of_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-3, 5, 900).astype(float)
    theirs = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    found = wilcoxon_test(differences)
    assert not found.is_exact
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


def test_normal_approximation_and_exact_test_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(8).integers(-2, 4, 190).astype(float) / 5
    exact = wilcoxon_test(differences)
    monkeypatch.setattr("eval.stats.effects._MAX_EXACT_DIFFERENCES", 0)
    assert wilcoxon_test(differences).p_value == pytest.approx(exact.p_value, rel=0.1)


def test_all_zero_differences_give_p_1() -> None:
    assert wilcoxon_test(np.zeros(7)).p_value == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_t_test_and_cohens_d_match_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, 25), rng.normal(0, 1, 25)
    theirs = stats.ttest_rel(first, second)
    found = paired_t_test(first - second)
    assert found is not None
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.degrees_of_freedom == theirs.df
    d = cohens_d_paired(first - second)
    assert d == pytest.approx(theirs.statistic / 5)
    pooled = cohens_d_pooled(first, second)
    independent = stats.ttest_ind(first, second)
    assert pooled == pytest.approx(independent.statistic * np.sqrt(2 / 25))


def test_no_variation_gives_no_effect_size() -> None:
    assert cohens_d_paired(np.ones(5)) is None
    assert cohens_d_paired(np.full(7, 0.1)) is None
    assert cohens_d_paired(np.array([1.0])) is None
    assert paired_t_test(np.ones(5)) is None
    assert cohens_d_pooled(np.ones(3), np.ones(3)) is None
    assert cohens_d_pooled(np.ones(1), np.arange(3.0)) is None


def test_hedges_correction_removes_the_bias() -> None:
    assert hedges_correction(10) == pytest.approx(1 - 3 / (4 * 10 - 1), abs=1e-3)
    assert hedges_correction(1000) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="degrees"):
        hedges_correction(1)
    draws = np.random.default_rng(0).normal(0.5, 1, (20_000, 8))
    plain = (draws.mean(axis=1) / draws.std(axis=1, ddof=1)).mean()
    assert plain > 0.54
    assert plain * hedges_correction(7) == pytest.approx(0.5, abs=0.01)


def test_rounding_errors_of_means_have_no_effect() -> None:
    thirds = np.array([0, 1, 2, 3]) / 3
    first, second = np.meshgrid(thirds, thirds)
    right = np.concatenate([(first - second).ravel(), np.array([1 / 3, 2 / 3, 2 / 3])])
    wrong = np.concatenate([((1 - second) - (1 - first)).ravel(), np.array([1 / 3, 2 / 3, 2 / 3])])
    whole = np.round(3 * right)
    assert len(np.unique(np.abs(wrong))) > len(np.unique(np.abs(whole)))
    assert wilcoxon_test(right) == wilcoxon_test(wrong) == wilcoxon_test(whole)
    assert wilcoxon_test(np.array([(1 - 1 / 3) - 2 / 3, 1.0])).n_zero == 1
