from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from eval.stats.paired import mcnemar_exact, mcnemar_floor
from eval.stats.power import (
    cards_for_half_width,
    cards_needed,
    design_effect,
    effect_found,
    half_width,
    mcnemar_power,
)
from kg.base.proportions import wilson

called = cache(mcnemar_exact)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.0625])
@pytest.mark.parametrize(
    ("n", "effect", "discordant"),
    [(1, 0.2, 0.5), (5, 0.3, 1.0), (30, 0.1, 0.4), (30, 0.4, 0.4), (45, 0.0, 0.3), (60, 0.2, 1.0)],
)
def test_power_is_the_sum_over_all_tables(
    n: int, effect: float, discordant: float, alpha: float
) -> None:
    one, other = (discordant + effect) / 2, (discordant - effect) / 2
    table = multinomial(n, [one, other, 1 - one - other])
    expected = sum(
        table.pmf([a, b, n - a - b])
        for a in range(n + 1)
        for b in range(n + 1 - a)
        if called(a, b) < alpha
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
    weak, strong = (mcnemar_power(n, effect, discordant) for effect in (small, large))
    assert 0 <= weak <= strong + 1e-9 <= 1 + 2e-9
    assert mcnemar_power(n, -large, discordant) == pytest.approx(strong, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(8, 800), st.floats(0.05, 0.6), st.floats(0.2, 1))
def test_twice_the_cards_find_more(n: int, discordant: float, part: float) -> None:
    effect = part * discordant
    weak, strong = (mcnemar_power(cards, effect, discordant) for cards in (n, 2 * n))
    assert strong >= weak - 1e-9


def test_the_test_keeps_its_level() -> None:
    for n in (10, 42, 300):
        for discordant in (0.05, 0.2, 1.0):
            assert mcnemar_power(n, 0.0, discordant) <= 0.05


@pytest.mark.parametrize("effect", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("discordant", [0.3, 0.5, 1.0])
def test_so_many_cards_are_needed_and_no_fewer_are_enough(effect: float, discordant: float) -> None:
    needed = cards_needed(effect, discordant)
    assert all(mcnemar_power(needed + k, effect, discordant) >= 0.8 for k in range(50))
    assert mcnemar_power(needed - 1, effect, discordant) < 0.8
    found = effect_found(needed, discordant)
    assert found is not None
    assert found <= effect
    assert mcnemar_power(needed, found, discordant) == pytest.approx(0.8, abs=1e-6)


def test_one_sided_discord_is_the_floor_of_the_comparison() -> None:
    for n in (20, 100, 600):
        floor = mcnemar_floor(n)
        assert floor is not None
        assert mcnemar_power(n, floor, floor) == pytest.approx(0.8, abs=0.02)


def test_too_few_cards_find_nothing() -> None:
    assert effect_found(5, 1.0) is None
    assert effect_found(10, 0.2) is None
    with pytest.raises(ValueError, match="more than"):
        cards_needed(0.0001, 1.0)


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.2), (10, 0.3, 0.2), (10, 0.1, 0.0), (10, 0.1, 1.5)])
def test_what_cannot_be_is_refused(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="no comparison"):
        mcnemar_power(*wrong)
    with pytest.raises(ValueError, match="no such effect"):
        cards_needed(0.3, 0.2)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.005, 0.4), st.floats(0, 1))
def test_half_width_needs_so_many_cards(width: float, share: float) -> None:
    n = cards_for_half_width(width, share)
    assert half_width(n, share) <= width
    assert n == 1 or half_width(n - 1, share) > width
    low, high = wilson(share * n, n)
    assert half_width(n, share) == pytest.approx((high - low) / 2)


def test_known_sizes() -> None:
    assert cards_for_half_width(0.05) == 381
    # All discord one-sided, ten in a hundred: McNemar needs six of them.
    assert mcnemar_power(100, 0.1, 0.1) == pytest.approx(binom.sf(5, 100, 0.1), abs=1e-9)
    assert design_effect(3, 0.5) == 2.0
    with pytest.raises(ValueError, match="width"):
        cards_for_half_width(0)
