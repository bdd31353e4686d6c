"""Tests the sign-flip test against enumeration, SciPy and McNemar's test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.paired_tests import mcnemar_exact
from eval.stats.permutation import sign_flip_test

SMALL_DIFFERENCES = st.lists(
    st.sampled_from([-1.0, -0.63, -0.5, 0.0, 0.25, 0.5, 0.63, 1.0]), max_size=9
)


def compute_p_value_by_enumeration(differences: list[float]) -> float:
    """Returns the share of all sign patterns whose sum is at least as far from zero."""
    sizes = [abs(difference) for difference in differences]
    observed = abs(sum(differences)) - 1e-9
    sums = [
        abs(sum(s * size for s, size in zip(signs, sizes, strict=True)))
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    return sum(total >= observed for total in sums) / len(sums)


@given(SMALL_DIFFERENCES)
def test_few_differences_are_tested_exactly(differences: list[float]) -> None:
    result = sign_flip_test(np.array(differences))
    assert result.is_exact
    assert result.p_value == pytest.approx(compute_p_value_by_enumeration(differences))
    assert result.n_differ == sum(difference != 0 for difference in differences)


@given(SMALL_DIFFERENCES)
def test_order_direction_scale_and_zeros_do_not_change_p(differences: list[float]) -> None:
    p_value = sign_flip_test(np.array(differences)).p_value
    shuffled = sorted(differences)
    assert sign_flip_test(np.array(shuffled)).p_value == pytest.approx(p_value)
    assert sign_flip_test(-np.array(differences)).p_value == pytest.approx(p_value)
    assert sign_flip_test(np.array([*differences, 0.0, 0.0]) * 7).p_value == pytest.approx(p_value)


@given(st.integers(0, 40), st.integers(0, 40))
def test_equal_differences_match_mcnemar(up: int, down: int) -> None:
    result = sign_flip_test(np.array([1 / 3] * up + [2 / 3 - 1] * down))
    assert result.is_mcnemar
    assert result.is_exact
    assert result.p_value == mcnemar_exact(up, down)


def test_exact_test_matches_scipy() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.3, 1, 12)
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
    )
    assert sign_flip_test(values).p_value == pytest.approx(expected.pvalue)


@settings(max_examples=5)
@given(st.integers(0, 100))
def test_many_differences_agree_with_the_t_test(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.05, 1, 400)
    result = sign_flip_test(values, seed=seed)
    assert not result.is_exact
    assert result.p_value == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)
    assert 0 < result.p_value <= 1


def test_random_signs_never_give_p_zero() -> None:
    values = np.linspace(1, 2, 30)
    assert sign_flip_test(values, flips=200).p_value == pytest.approx(1 / 201)


def test_random_signs_come_from_the_seed() -> None:
    values = np.random.default_rng(1).normal(0.2, 1, 50)
    assert sign_flip_test(values, seed=3) == sign_flip_test(values, seed=3)
    assert sign_flip_test(values, seed=3).p_value != sign_flip_test(values, seed=4).p_value


def test_batched_sign_flips_are_all_counted_once() -> None:
    # 20,000 flips of 1,500 signs are drawn in many batches; p is (count + 1) / 20,001.
    values = np.random.default_rng(2).normal(0.02, 1, 1500)
    p_value = sign_flip_test(values).p_value
    assert p_value == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)
    assert p_value * 20_001 == pytest.approx(round(p_value * 20_001))


def test_no_differences_give_p_1() -> None:
    assert sign_flip_test(np.array([])).p_value == 1.0
    assert sign_flip_test(np.zeros(5)).p_value == 1.0
