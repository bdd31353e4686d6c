"""Tests the comparison of paired values of two systems against SciPy and manual values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats

from eval.metrics.comparison import (
    Comparison,
    choose_better,
    compare_item_values,
    describe_coarse_tests,
)
from eval.stats.bootstrap import ClusterResamples, Floats

NAN = math.nan
NAMES = Comparison(metric="metric", candidate="a", baseline="b")
VALUES = st.lists(
    st.tuples(*[st.one_of(st.just(NAN), st.integers(0, 8).map(lambda n: n / 8))] * 2),
    min_size=1,
    max_size=12,
)


def compare_pairs(
    first: list[float] | Floats,
    second: list[float] | Floats,
    *,
    is_binary: bool = False,
    is_share: bool = True,
    resamples: int = 400,
) -> Comparison:
    """Compares values of two systems; ``is_share`` means that all values are in [0, 1]."""
    first_values, second_values = np.array(first, dtype=float), np.array(second, dtype=float)
    (comparison,) = compare_item_values(
        [NAMES],
        [(first_values, second_values)],
        ClusterResamples(first_values.size, resamples, 7),
        confidence=0.95,
        is_binary=is_binary,
        is_share=is_share,
    )
    return comparison


def test_only_tests_of_the_bootstrap_are_called_coarse() -> None:
    family = [replace(NAMES, test="mcnemar", p=0.5)] * 15
    assert describe_coarse_tests(family, 400) is None
    family[3] = replace(NAMES, test="bootstrap", p=0.5)
    note = describe_coarse_tests(family, 400)
    assert note is not None
    assert note.startswith("No bootstrap test of 15 by 400 resamples can have a p below 0.075 ")
    assert describe_coarse_tests(family, 3000) is None


def test_means_and_difference_use_shared_samples_only() -> None:
    comparison = compare_pairs([0.5, 1.0, NAN, 0.25, NAN], [0.25, NAN, 0.9, 0.75, NAN])
    assert comparison.n == 2
    assert (comparison.value_candidate, comparison.value_baseline) == (0.375, 0.5)
    assert comparison.difference == -0.125
    # The differences are .25 and -.5. All four sign patterns have a sum of at least .25, so p is 1.
    assert (comparison.test, comparison.exact, comparison.p, comparison.n_differ) == (
        "sign-flip",
        True,
        1.0,
        2,
    )
    assert comparison.discordant is None


def test_significance_needs_six_samples_that_differ_in_one_direction() -> None:
    five = compare_pairs([0.9, 0.8, 0.7, 0.6, 0.5], [0.1, 0.2, 0.3, 0.4, 0.45])
    six = compare_pairs([0.9, 0.8, 0.7, 0.6, 0.5, 0.9], [0.1, 0.2, 0.3, 0.4, 0.45, 0.2])
    assert five.p == 2 / 2**5
    assert six.p == 2 / 2**6
    assert six.exact


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_sign_flip_test_matches_scipy_permutation_test(pairs: list[tuple[float, float]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    comparison = compare_pairs(first, second, resamples=20)
    differences = [a - b for a, b in pairs if not math.isnan(a - b)]
    if not differences:
        assert comparison == NAMES
        return
    assert comparison.n == len(differences)
    assert comparison.value_candidate is not None
    assert comparison.value_baseline is not None
    assert comparison.difference == pytest.approx(
        comparison.value_candidate - comparison.value_baseline
    )
    if len(differences) < 2 or not any(differences):
        assert comparison.p == 1.0
        return
    expected = stats.permutation_test(
        (np.array(differences),), np.sum, permutation_type="samples", n_resamples=2**12
    )
    assert comparison.p == pytest.approx(float(expected.pvalue), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_binary_values_use_the_exact_binomial_test(pairs: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    comparison = compare_pairs(first, second, is_binary=True, resamples=20)
    only_first = sum(a > b for a, b in pairs)
    only_second = sum(a < b for a, b in pairs)
    assert comparison.test == "mcnemar"
    assert comparison.exact
    assert comparison.discordant is not None
    table = comparison.discordant
    assert (table.only_candidate, table.only_baseline) == (only_first, only_second)
    assert table.both == sum(a and b for a, b in pairs)
    assert table.both + table.only_candidate + table.only_baseline + table.neither == len(pairs)
    trials = only_first + only_second
    expected = stats.binomtest(only_first, trials).pvalue if trials else 1.0
    assert comparison.p == pytest.approx(expected, rel=1e-9)


@given(VALUES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_swapping_systems_mirrors_the_result(
    pairs: list[tuple[float, float]], is_share: bool
) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    comparison = compare_pairs(first, second, is_share=is_share, resamples=60)
    mirrored = compare_pairs(second, first, is_share=is_share, resamples=60)
    assert (mirrored.n, mirrored.p, mirrored.n_differ) == (
        comparison.n,
        comparison.p,
        comparison.n_differ,
    )
    assert (mirrored.value_candidate, mirrored.value_baseline) == (
        comparison.value_baseline,
        comparison.value_candidate,
    )
    assert mirrored.method == comparison.method
    assert mirrored.minimum_detectable_effect == comparison.minimum_detectable_effect
    if comparison.difference is not None and mirrored.difference is not None:
        assert mirrored.difference == pytest.approx(-comparison.difference, abs=1e-12)
    if comparison.low is not None and comparison.high is not None:
        assert mirrored.low == pytest.approx(-comparison.high, abs=1e-9)
        assert mirrored.high == pytest.approx(-comparison.low, abs=1e-9)


@given(VALUES, st.booleans())
@settings(max_examples=40, deadline=None)
def test_identical_systems_show_no_difference(
    pairs: list[tuple[float, float]], is_share: bool
) -> None:
    first = [a for a, _ in pairs]
    comparison = compare_pairs(first, first, is_share=is_share, resamples=20)
    present_values = [a for a in first if not math.isnan(a)]
    assert comparison.n == len(present_values)
    if present_values:
        assert (comparison.difference, comparison.p, comparison.n_differ) == (0.0, 1.0, 0)
        assert (comparison.low, comparison.high, comparison.method) == (None, None, "none")
        assert comparison.minimum_detectable_effect is None


def test_identical_binary_values_have_a_newcombe_interval() -> None:
    comparison = compare_pairs([1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], is_binary=True)
    assert comparison.method == "newcombe-paired"
    assert comparison.low is not None
    assert comparison.high is not None
    assert comparison.low <= 0 <= comparison.high
    assert comparison.low == pytest.approx(-comparison.high)


def test_constant_difference_gives_no_zero_width_interval() -> None:
    comparison = compare_pairs([0.8] * 9, [0.5] * 9)
    assert comparison.method == "newcombe"
    assert comparison.difference == pytest.approx(0.3)
    assert comparison.low is not None
    assert comparison.high is not None
    assert comparison.low < 0.3 < comparison.high
    assert comparison.p == 2 / 2**9
    # The standard error is only rounding error, so no power can be computed.
    assert compare_pairs([0.01] * 3, [0.0] * 3).minimum_detectable_effect is None
    # Seconds are not a share, so their differences are unbounded.
    seconds = compare_pairs([3.0] * 9, [2.0] * 9, is_share=False)
    assert (seconds.low, seconds.high, seconds.method) == (None, None, "none")


def test_interval_matches_scipy_bootstrap() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.uniform(0, 1, 120), rng.uniform(0, 0.9, 120)
    comparison = compare_pairs(first, second, resamples=8000)
    expected = stats.bootstrap(
        (first - second,), np.mean, n_resamples=8000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert comparison.method == "bootstrap-bca"
    assert comparison.low == pytest.approx(expected.low, abs=0.005)
    assert comparison.high == pytest.approx(expected.high, abs=0.005)
    # Unlike means, binary values have a minimum detectable effect only from six discordant samples
    # on.
    small_sample = compare_pairs([0.9, 0.8, 0.7], [0.1, 0.3, 0.1])
    assert small_sample.minimum_detectable_effect is not None
    assert (
        compare_pairs([1.0, 1.0, 0.0], [0.0, 1.0, 0.0], is_binary=True).minimum_detectable_effect
        is None
    )
    # 2.8016 is z(.975) + z(.8).
    standard_error = float((first - second).std()) / math.sqrt(120)
    assert comparison.minimum_detectable_effect == pytest.approx(2.8016 * standard_error, rel=0.03)


def test_random_signs_agree_with_the_t_test() -> None:
    rng = np.random.default_rng(5)
    first = rng.normal(0.6, 0.1, 3000)
    second = first + rng.normal(0.004, 0.1, 3000)
    comparison = compare_pairs(first, second)
    assert not comparison.exact
    assert comparison.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)


@pytest.mark.parametrize(
    ("interval", "p", "higher_is_better", "expected"),
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
        ((0.1, 0.3), 0.01, None, None),
    ],
)
def test_better_system_needs_interval_and_significance(
    interval: tuple[float | None, float | None],
    p: float | None,
    higher_is_better: bool | None,
    expected: str | None,
) -> None:
    comparison = replace(NAMES, low=interval[0], high=interval[1])
    assert choose_better(comparison, p, higher_is_better=higher_is_better) == expected
