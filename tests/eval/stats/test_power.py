"""Tests power and sample sizes against sums over all outcomes."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from eval.stats.paired_tests import mcnemar_exact, mcnemar_minimum_effect
from eval.stats.power import (
    compute_cards_for_half_width,
    compute_cards_needed,
    compute_detectable_effect,
    design_effect,
    mcnemar_power,
    wilson_half_width,
)
from kg.base.proportions import wilson_interval

cached_mcnemar = cache(mcnemar_exact)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.0625])
@pytest.mark.parametrize(
    ("n", "effect", "discordant"),
    [(1, 0.2, 0.5), (5, 0.3, 1.0), (30, 0.1, 0.4), (30, 0.4, 0.4), (45, 0.0, 0.3), (60, 0.2, 1.0)],
)
def test_power_matches_the_sum_over_all_tables(
    n: int, effect: float, discordant: float, alpha: float
) -> None:
    first_only, second_only = (discordant + effect) / 2, (discordant - effect) / 2
    table = multinomial(n, [first_only, second_only, 1 - first_only - second_only])
    expected = sum(
        table.pmf([a, b, n - a - b])
        for a in range(n + 1)
        for b in range(n + 1 - a)
        if cached_mcnemar(a, b) < alpha
    )
    assert mcnemar_power(n, effect, discordant, alpha) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 400),
    st.floats(0.02, 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_power_rises_with_the_effect(n: int, discordant: float, small: float, large: float) -> None:
    small, large = sorted((small * discordant, large * discordant))
    lower_power, higher_power = (mcnemar_power(n, effect, discordant) for effect in (small, large))
    assert 0 <= lower_power <= higher_power + 1e-9 <= 1 + 2e-9
    assert mcnemar_power(n, -large, discordant) == pytest.approx(higher_power, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(8, 800), st.floats(0.05, 0.6), st.floats(0.2, 1))
def test_power_rises_with_the_number_of_cards(
    n: int, discordant: float, effect_share: float
) -> None:
    effect = effect_share * discordant
    lower_power, higher_power = (mcnemar_power(cards, effect, discordant) for cards in (n, 2 * n))
    assert higher_power >= lower_power - 1e-9


def test_mcnemar_false_positive_rate_is_at_most_alpha() -> None:
    for n in (10, 42, 300):
        for discordant in (0.05, 0.2, 1.0):
            assert mcnemar_power(n, 0.0, discordant) <= 0.05


@pytest.mark.parametrize("effect", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("discordant", [0.3, 0.5, 1.0])
def test_required_cards_are_the_smallest_sufficient_number(
    effect: float, discordant: float
) -> None:
    needed = compute_cards_needed(effect, discordant)
    assert all(mcnemar_power(needed + k, effect, discordant) >= 0.8 for k in range(50))
    assert mcnemar_power(needed - 1, effect, discordant) < 0.8
    detectable = compute_detectable_effect(needed, discordant)
    assert detectable is not None
    assert detectable <= effect
    assert mcnemar_power(needed, detectable, discordant) == pytest.approx(0.8, abs=1e-6)


def test_one_sided_discordance_gives_the_mcnemar_floor() -> None:
    for n in (20, 100, 600):
        floor = mcnemar_minimum_effect(n)
        assert floor is not None
        assert mcnemar_power(n, floor, floor) == pytest.approx(0.8, abs=0.02)


def test_too_few_cards_have_no_power() -> None:
    assert compute_detectable_effect(5, 1.0) is None
    assert compute_detectable_effect(10, 0.2) is None
    with pytest.raises(ValueError, match="more than"):
        compute_cards_needed(0.0001, 1.0)


@pytest.mark.parametrize(
    "arguments", [(0, 0.1, 0.2), (10, 0.3, 0.2), (10, 0.1, 0.0), (10, 0.1, 1.5)]
)
def test_impossible_effects_are_refused(arguments: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="impossible comparison"):
        mcnemar_power(*arguments)
    with pytest.raises(ValueError, match="impossible effect"):
        compute_cards_needed(0.3, 0.2)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.005, 0.4), st.floats(0, 1))
def test_cards_for_half_width_are_the_smallest_sufficient_number(
    width: float, share: float
) -> None:
    n = compute_cards_for_half_width(width, share)
    assert wilson_half_width(n, share) <= width
    assert n == 1 or wilson_half_width(n - 1, share) > width
    low, high = wilson_interval(share * n, n)
    assert wilson_half_width(n, share) == pytest.approx((high - low) / 2)


def test_known_sample_sizes_are_reproduced() -> None:
    assert compute_cards_for_half_width(0.05) == 381
    # If all discordant cards favour one system, McNemar's test needs six of them for p < 0.05.
    assert mcnemar_power(100, 0.1, 0.1) == pytest.approx(binom.sf(5, 100, 0.1), abs=1e-9)
    assert design_effect(3, 0.5) == 2.0
    with pytest.raises(ValueError, match="width"):
        compute_cards_for_half_width(0)
