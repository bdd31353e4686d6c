"""Paired values of two systems, against SciPy and manual values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.bootstrap import ClusterResamples, Floats, resample_blocks
from eval.stats.paired_values import (
    PairedValues,
    build_difference_block,
    choose_better,
    compare_values,
)

NAN = math.nan
VALUES = st.lists(
    st.tuples(*[st.one_of(st.just(NAN), st.integers(0, 8).map(lambda n: n / 8))] * 2),
    min_size=1,
    max_size=12,
)


def compare_pairs(
    first: list[float] | Floats,
    second: list[float] | Floats,
    *,
    yes_or_no: bool = False,
    share: bool = True,
    resamples: int = 400,
) -> PairedValues:
    one, other = np.array(first, dtype=float), np.array(second, dtype=float)
    (data,) = resample_blocks(
        [build_difference_block(one, other)], ClusterResamples(one.size, resamples, 7)
    )
    return compare_values(one, other, data, confidence=0.95, is_binary=yes_or_no, is_share=share)


def test_means_and_difference_use_shared_samples_only() -> None:
    found = compare_pairs([0.5, 1.0, NAN, 0.25, NAN], [0.25, NAN, 0.9, 0.75, NAN])
    assert found.n == 2
    assert (found.value_first, found.value_second) == (0.375, 0.5)
    assert found.difference == -0.125
    # Differences .25 and -.5: both signs of the larger one reach a sum of .25.
    assert (found.test, found.exact, found.p, found.n_differ) == ("sign-flip", True, 1.0, 2)
    assert found.discordant is None


def test_six_one_sided_samples_are_the_fewest_significant() -> None:
    five = compare_pairs([0.9, 0.8, 0.7, 0.6, 0.5], [0.1, 0.2, 0.3, 0.4, 0.45])
    six = compare_pairs([0.9, 0.8, 0.7, 0.6, 0.5, 0.9], [0.1, 0.2, 0.3, 0.4, 0.45, 0.2])
    assert five.p == 2 / 2**5
    assert six.p == 2 / 2**6
    assert six.exact


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_sign_flip_test_matches_scipy_permutation_test(pairs: list[tuple[float, float]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    found = compare_pairs(first, second, resamples=20)
    apart = [a - b for a, b in pairs if not math.isnan(a - b)]
    if not apart:
        assert found == PairedValues()
        return
    assert found.n == len(apart)
    assert found.value_first is not None
    assert found.value_second is not None
    assert found.difference == pytest.approx(found.value_first - found.value_second)
    if len(apart) < 2 or not any(apart):
        assert found.p == 1.0
        return
    oracle = stats.permutation_test(
        (np.array(apart),), np.sum, permutation_type="samples", n_resamples=2**12
    )
    assert found.p == pytest.approx(float(oracle.pvalue), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_binary_values_use_the_exact_binomial_test(pairs: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    found = compare_pairs(first, second, yes_or_no=True, resamples=20)
    only_first = sum(a > b for a, b in pairs)
    only_second = sum(a < b for a, b in pairs)
    assert found.test == "mcnemar"
    assert found.exact
    assert found.discordant is not None
    table = found.discordant
    assert (table.only_a, table.only_b) == (only_first, only_second)
    assert table.both == sum(a and b for a, b in pairs)
    assert table.both + table.only_a + table.only_b + table.neither == len(pairs)
    trials = only_first + only_second
    oracle = stats.binomtest(only_first, trials).pvalue if trials else 1.0
    assert found.p == pytest.approx(oracle, rel=1e-9)


@given(VALUES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_swapping_systems_mirrors_the_result(pairs: list[tuple[float, float]], share: bool) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    found = compare_pairs(first, second, share=share, resamples=60)
    mirrored = compare_pairs(second, first, share=share, resamples=60)
    assert (mirrored.n, mirrored.p, mirrored.n_differ) == (found.n, found.p, found.n_differ)
    assert (mirrored.value_first, mirrored.value_second) == (found.value_second, found.value_first)
    assert mirrored.method == found.method
    assert mirrored.minimum_detectable_effect == found.minimum_detectable_effect
    if found.difference is not None and mirrored.difference is not None:
        assert mirrored.difference == pytest.approx(-found.difference, abs=1e-12)
    if found.low is not None and found.high is not None:
        assert mirrored.low == pytest.approx(-found.high, abs=1e-9)
        assert mirrored.high == pytest.approx(-found.low, abs=1e-9)


@given(VALUES, st.booleans())
@settings(max_examples=40, deadline=None)
def test_identical_systems_show_no_difference(
    pairs: list[tuple[float, float]], share: bool
) -> None:
    first = [a for a, _ in pairs]
    found = compare_pairs(first, first, share=share, resamples=20)
    there = [a for a in first if not math.isnan(a)]
    assert found.n == len(there)
    if there:
        assert (found.difference, found.p, found.n_differ) == (0.0, 1.0, 0)
        assert (found.low, found.high, found.method) == (None, None, "none")
        assert found.minimum_detectable_effect is None


def test_identical_binary_values_have_a_newcombe_interval() -> None:
    found = compare_pairs([1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], yes_or_no=True)
    assert found.method == "newcombe-paired"
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0 <= found.high
    assert found.low == pytest.approx(-found.high)


def test_constant_difference_gives_no_zero_width_interval() -> None:
    found = compare_pairs([0.8] * 9, [0.5] * 9)
    assert found.method == "newcombe"
    assert found.difference == pytest.approx(0.3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.3 < found.high
    assert found.p == 2 / 2**9
    # The standard error is only rounding error, so no power can be computed.
    assert compare_pairs([0.01] * 3, [0.0] * 3).minimum_detectable_effect is None
    # Seconds are not a share, so their differences are unbounded.
    seconds = compare_pairs([3.0] * 9, [2.0] * 9, share=False)
    assert (seconds.low, seconds.high, seconds.method) == (None, None, "none")


def test_interval_matches_scipy_bootstrap() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.uniform(0, 1, 120), rng.uniform(0, 0.9, 120)
    found = compare_pairs(first, second, resamples=8000)
    oracle = stats.bootstrap(
        (first - second,), np.mean, n_resamples=8000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.method == "bootstrap-bca"
    assert found.low == pytest.approx(oracle.low, abs=0.005)
    assert found.high == pytest.approx(oracle.high, abs=0.005)
    # Unlike means, binary values need at least six discordant samples.
    few = compare_pairs([0.9, 0.8, 0.7], [0.1, 0.3, 0.1])
    assert few.minimum_detectable_effect is not None
    assert (
        compare_pairs([1.0, 1.0, 0.0], [0.0, 1.0, 0.0], yes_or_no=True).minimum_detectable_effect
        is None
    )
    # (z of .975 + z of .8) standard errors of the mean difference.
    error = float((first - second).std()) / math.sqrt(120)
    assert found.minimum_detectable_effect == pytest.approx(2.8016 * error, rel=0.03)


def test_random_signs_agree_with_the_t_test() -> None:
    rng = np.random.default_rng(5)
    first = rng.normal(0.6, 0.1, 3000)
    second = first + rng.normal(0.004, 0.1, 3000)
    found = compare_pairs(first, second)
    assert not found.exact
    assert found.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)


@pytest.mark.parametrize(
    ("interval", "p", "higher", "expected"),
    [
        ((0.1, 0.3), 0.01, True, "a"),
        ((0.1, 0.3), 0.01, False, "b"),
        ((-0.3, -0.1), 0.01, True, "b"),
        ((-0.3, -0.1), 0.01, False, "a"),
        ((-0.1, 0.3), 0.01, True, None),
        ((0.0, 0.3), 0.01, True, None),
        ((0.1, 0.3), 0.05, True, None),
        ((0.1, 0.3), None, True, None),
        ((None, None), 0.01, True, None),
    ],
)
def test_better_needs_interval_and_test(
    interval: tuple[float | None, float | None], p: float | None, higher: bool, expected: str | None
) -> None:
    assert choose_better(("a", "b"), interval, p, higher_is_better=higher) == expected
