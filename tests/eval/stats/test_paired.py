"""Tests McNemar, Holm, Newcombe and bootstrap p-values against SciPy and manual values."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.stats.bootstrap import (
    ClusterResamples,
    Distribution,
    ResampledCounts,
    compute_ratio_distribution,
    resample_blocks,
)
from eval.stats.paired_tests import (
    Discordant,
    adjust_holm,
    choose_resamples,
    compute_bootstrap_p,
    compute_newcombe_p,
    count_discordant,
    describe_floor,
    mcnemar_exact,
    mcnemar_minimum_effect,
    minimum_detectable_effect,
    newcombe_paired_interval,
    square_and_add,
)
from kg.base.proportions import wilson_interval

PROBABILITIES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_matches_the_exact_binomial_test(only_candidate: int, only_baseline: int) -> None:
    trials = only_candidate + only_baseline
    expected = stats.binomtest(only_candidate, trials).pvalue if trials else 1.0
    assert mcnemar_exact(only_candidate, only_baseline) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_exact(only_candidate, only_baseline) == mcnemar_exact(
        only_baseline, only_candidate
    )


def test_mcnemar_is_exact_for_large_counts() -> None:
    assert mcnemar_exact(0, 400) == pytest.approx(2 * 0.5**400, rel=1e-9)
    expected = stats.binomtest(49_000, 99_000).pvalue
    assert mcnemar_exact(49_000, 50_000) == pytest.approx(expected, rel=1e-8)


def test_mcnemar_on_nine_against_twelve_of_twelve() -> None:
    assert mcnemar_exact(0, 3) == pytest.approx(0.25)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


def adjust_holm_by_definition(values: list[float | None]) -> list[float | None]:
    """Returns the smallest level at which Holm's procedure still rejects each hypothesis."""
    known_values = sorted(value for value in values if value is not None)
    count = len(known_values)

    def is_rejected(value: float, alpha: float) -> bool:
        for rank, other in enumerate(known_values):
            if other * (count - rank) > alpha:
                return value < other
        return True

    levels = sorted({v * (count - r) for r, v in enumerate(known_values)})
    return [
        None if value is None else next(level for level in levels if is_rejected(value, level))
        for value in values
    ]


@given(PROBABILITIES)
def test_holm_matches_its_definition(values: list[float | None]) -> None:
    adjusted = adjust_holm(values)
    for adjusted_p, expected_p, p_value in zip(
        adjusted, adjust_holm_by_definition(values), values, strict=True
    ):
        if p_value is None:
            assert adjusted_p is None
        else:
            assert adjusted_p is not None
            assert expected_p is not None
            assert adjusted_p == min(1.0, expected_p)
            assert p_value <= adjusted_p <= 1


@given(PROBABILITIES)
def test_holm_keeps_the_order_of_p_values(values: list[float | None]) -> None:
    pairs = [
        (p_value, adjusted)
        for p_value, adjusted in zip(values, adjust_holm(values), strict=True)
        if p_value is not None
    ]
    for (first_p, first_adjusted), (second_p, second_adjusted) in product(pairs, pairs):
        if first_p <= second_p:
            assert first_adjusted is not None
            assert second_adjusted is not None
            assert first_adjusted <= second_adjusted


def test_holm_matches_manual_values() -> None:
    assert adjust_holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert adjust_holm([]) == []


def test_discordance_counts_pairs() -> None:
    a, b = np.array([1.0, 1, 0, 0, 1]), np.array([1.0, 0, 1, 0, 0])
    assert count_discordant(a, b) == Discordant(1, 2, 1, 1)


COUNTS = st.tuples(*[st.integers(0, 50)] * 4).filter(lambda counts: sum(counts) > 0)


@given(COUNTS)
def test_newcombe_contains_the_difference_and_is_symmetric(
    counts: tuple[int, int, int, int],
) -> None:
    # Pairs that both systems, only the first, only the second and neither answer right.
    a, b, c, d = counts
    low, high = newcombe_paired_interval(Discordant(a, b, c, d))
    difference = (b - c) / (a + b + c + d)
    assert -1 <= low <= difference <= high <= 1
    assert newcombe_paired_interval(Discordant(a, c, b, d)) == pytest.approx((-high, -low))


def test_newcombe_of_two_perfect_systems_has_positive_width() -> None:
    low, high = newcombe_paired_interval(Discordant(30, 0, 0, 0))
    assert low == pytest.approx(-high)
    assert high > 0.05
    with pytest.raises(ValueError, match="trials"):
        newcombe_paired_interval(Discordant(0, 0, 0, 0))


def test_newcombe_matches_manual_values() -> None:
    # Of 50 pairs, 20 + 12 are right for the first system and 20 + 2 for the second. The limits are
    # Wilson's by SciPy, and phi has the continuity correction.
    a, b, c, d = 20, 12, 2, 16
    first, second = (stats.binomtest(k, 50).proportion_ci(method="wilson") for k in (a + b, a + c))
    phi = (a * d - b * c - 25) / math.sqrt(32 * 18 * 22 * 28)
    lower_parts = (32 / 50 - first.low, second.high - 22 / 50)
    upper_parts = (first.high - 32 / 50, 22 / 50 - second.low)
    expected = (
        0.2
        - math.sqrt(
            lower_parts[0] ** 2 - 2 * phi * lower_parts[0] * lower_parts[1] + lower_parts[1] ** 2
        ),
        0.2
        + math.sqrt(
            upper_parts[0] ** 2 - 2 * phi * upper_parts[0] * upper_parts[1] + upper_parts[1] ** 2
        ),
    )
    assert newcombe_paired_interval(Discordant(a, b, c, d)) == pytest.approx(expected)
    # The correction sets a weak phi to zero, as if the systems were independent.
    weak_interval = newcombe_paired_interval(Discordant(3, 2, 2, 3))
    assert weak_interval == pytest.approx(
        square_and_add((0.5, wilson_interval(5, 10)), (0.5, wilson_interval(5, 10)))
    )


def test_newcombe_has_nominal_coverage() -> None:
    rng = np.random.default_rng(11)
    cell_probabilities = (0.85, 0.08, 0.02, 0.05)
    covered = 0
    for _ in range(500):
        low, high = newcombe_paired_interval(
            Discordant(*rng.multinomial(80, cell_probabilities).tolist())
        )
        covered += low <= 0.06 <= high
    assert covered / 500 > 0.93


def test_square_and_add_of_equal_extremes() -> None:
    edge = (1.0, wilson_interval(10, 10))
    low, high = square_and_add(edge, edge)
    assert (low, high) == (pytest.approx(wilson_interval(10, 10)[0] - 1), pytest.approx(-low))


def make_difference(seed: int, shift: float) -> Distribution:
    rng = np.random.default_rng(seed)
    correct = [(rng.random((80, 1)) < rate).astype(float) for rate in (0.5 + shift, 0.5)]
    blocks = [np.concatenate([column, 1 - column], axis=1) for column in correct]
    first, second = (
        compute_ratio_distribution(
            ResampledCounts(block.per_cluster, block.sums), np.eye(1, 2), np.ones((1, 2))
        )
        for block in resample_blocks(blocks, ClusterResamples(80, 500, seed))
    )
    return first - second


def test_identical_systems_show_no_difference() -> None:
    difference = make_difference(1, 0.2)
    zero_difference = difference - difference
    assert zero_difference.degenerate[0]
    assert compute_bootstrap_p(zero_difference)[0] == 1.0


def test_bootstrap_p_value_detects_only_real_differences() -> None:
    assert compute_bootstrap_p(make_difference(1, 0.4))[0] == pytest.approx(2 / 501)
    false_alarms = sum(
        float(compute_bootstrap_p(make_difference(seed, 0.0))[0]) < 0.05 for seed in range(200)
    )
    assert 1 <= false_alarms <= 22, "about 10 of 200 (5 %) are expected"


def test_bootstrap_p_without_values_is_nan() -> None:
    # The shapes of the values, the replicates and the jackknife values.
    empty = Distribution(*(np.full(s, np.nan) for s in ((1,), (9, 1), (4, 1))), np.zeros(1))
    assert math.isnan(compute_bootstrap_p(empty)[0])
    assert math.isnan(empty.compute_standard_errors()[0])


def test_resamples_suffice_for_the_number_of_tests() -> None:
    assert [choose_resamples(n) for n in (1, 10, 11, 91, 5000)] == [2000, 2000, 3000, 19000, 20000]
    for n_tests in (1, 10, 11, 55, 91, 100):
        assert describe_floor(n_tests, choose_resamples(n_tests)) is None
    assert describe_floor(36, 2000) == (
        "No bootstrap test of 36 by 2000 resamples can have a p below 0.036 after Holm's "
        "correction: use --resamples 8000."
    )
    note = describe_floor(91, 2000, " or --baseline")
    assert note is not None
    assert "below 0.091 after Holm's correction, so none can show a difference: use" in note
    assert note.endswith("--resamples 19000 or --baseline.")


def test_minimum_detectable_effect_follows_from_the_standard_error() -> None:
    assert minimum_detectable_effect(0.01) == pytest.approx(0.01 * (1.959964 + 0.841621), rel=1e-6)
    assert minimum_detectable_effect(0.0) is None
    assert minimum_detectable_effect(math.nan) is None
    assert minimum_detectable_effect(0.0, 5) is None
    assert minimum_detectable_effect(0.0, 100) == mcnemar_minimum_effect(100)
    assert minimum_detectable_effect(0.2, 100) == minimum_detectable_effect(0.2)


@settings(max_examples=25, deadline=None)
@given(st.integers(6, 5000))
def test_mcnemar_floor_has_the_requested_power(n_cards: int) -> None:
    floor = mcnemar_minimum_effect(n_cards)
    assert floor is not None
    # Six discordant cards in one direction are the fewest with p < 0.05.
    assert stats.binom.sf(5, n_cards, floor) == pytest.approx(0.8, abs=1e-6)
    assert mcnemar_exact(0, 6) < 0.05 < mcnemar_exact(0, 5)


def test_minimum_detectable_effect_is_found_with_its_power() -> None:
    # McNemar's test must find the detectable effect in about 80 % of simulated samples.
    rng = np.random.default_rng(5)
    standard_error = math.sqrt((0.16 - 0.08**2) / 400)
    effect = minimum_detectable_effect(standard_error, 400)
    assert effect is not None
    probabilities = np.array([0.70, 0.08 + effect / 2, 0.08 - effect / 2, 0.14])
    detections = 0
    for _ in range(400):
        _, only_candidate, only_baseline, _ = rng.multinomial(
            400, probabilities / probabilities.sum()
        ).tolist()
        detections += mcnemar_exact(only_candidate, only_baseline) < 0.05
    assert 0.72 < detections / 400 < 0.88


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 200),
    st.integers(1, 200),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from((0.0, 0.1)),
    st.sampled_from((0.8, 0.95, 0.999)),
)
def test_p_of_newcombe_says_what_its_interval_says(
    n_1: int, n_2: int, share_1: float, share_2: float, null: float, confidence: float
) -> None:
    first, second = (round(share_1 * n_1), n_1), (round(share_2 * n_2), n_2)
    sides = [(k / n, wilson_interval(k, n, confidence)) for k, n in (first, second)]
    low, high = square_and_add(sides[0], sides[1])
    p_value = compute_newcombe_p(first, second, null)
    assert 0 < p_value <= 1
    if min(abs(low - null), abs(high - null)) > 1e-6:
        assert (p_value < 1 - confidence) == (not low <= null <= high)
