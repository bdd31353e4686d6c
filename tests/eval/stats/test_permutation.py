from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.paired import mcnemar_exact
from eval.stats.permutation import sign_flips

SMALL = st.lists(st.sampled_from([-1.0, -0.63, -0.5, 0.0, 0.25, 0.5, 0.63, 1.0]), max_size=9)


def every_pattern(differences: list[float]) -> float:
    """The definition: of all patterns of signs, the share whose sum is as far from zero."""
    sizes = [abs(one) for one in differences]
    observed = abs(sum(differences)) - 1e-9
    sums = [
        abs(sum(s * size for s, size in zip(signs, sizes, strict=True)))
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    return sum(one >= observed for one in sums) / len(sums)


@given(SMALL)
def test_few_differences_are_tested_exactly(differences: list[float]) -> None:
    found = sign_flips(np.array(differences))
    assert found.exact
    assert found.p == pytest.approx(every_pattern(differences))
    assert found.n_differ == sum(one != 0 for one in differences)


@given(SMALL)
def test_neither_order_nor_direction_nor_scale_nor_zeros_matter(differences: list[float]) -> None:
    once = sign_flips(np.array(differences)).p
    shuffled = sorted(differences)
    assert sign_flips(np.array(shuffled)).p == pytest.approx(once)
    assert sign_flips(-np.array(differences)).p == pytest.approx(once)
    assert sign_flips(np.array([*differences, 0.0, 0.0]) * 7).p == pytest.approx(once)


@given(st.integers(0, 40), st.integers(0, 40))
def test_differences_of_one_size_are_mcnemars(up: int, down: int) -> None:
    found = sign_flips(np.array([1 / 3] * up + [2 / 3 - 1] * down))
    assert found.mcnemar
    assert found.exact
    assert found.p == mcnemar_exact(up, down)


def test_agrees_with_scipy_where_all_patterns_are_tried() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.3, 1, 12)
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
    )
    assert sign_flips(values).p == pytest.approx(expected.pvalue)


@settings(max_examples=5)
@given(st.integers(0, 100))
def test_many_differences_agree_with_the_t_test_of_large_samples(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.05, 1, 400)
    found = sign_flips(values, seed=seed)
    assert not found.exact
    assert found.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)
    assert 0 < found.p <= 1


def test_no_number_of_random_signs_claims_a_p_of_zero() -> None:
    values = np.linspace(1, 2, 30)
    assert sign_flips(values, flips=200).p == pytest.approx(1 / 201)


def test_random_signs_come_from_the_seed() -> None:
    values = np.random.default_rng(1).normal(0.2, 1, 50)
    assert sign_flips(values, seed=3) == sign_flips(values, seed=3)
    assert sign_flips(values, seed=3).p != sign_flips(values, seed=4).p


def test_flips_drawn_in_pieces_are_all_counted_once() -> None:
    # 20,000 flips of 1,500 signs are drawn in many pieces.
    values = np.random.default_rng(2).normal(0.02, 1, 1500)
    p = sign_flips(values).p
    assert p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)
    assert p * 20_001 == pytest.approx(round(p * 20_001))


def test_nothing_to_tell_apart() -> None:
    assert sign_flips(np.array([])).p == 1.0
    assert sign_flips(np.zeros(5)).p == 1.0
