"""How many cards to make before a difference can be found, and what so many cards can find.

The test planned for is exact McNemar, two-sided, as comparisons use it; its power is summed over
all outcomes, not approximated. Sources: Connor, Biometrics 1987, 43:207 (sample size of McNemar's
test); Kish, "Survey Sampling", 1965, §8.2 (design effect of clusters).
"""

from __future__ import annotations

import math

import numpy as np

from eval.stats.paired import ALPHA, POWER
from kg.base.proportions import normal_quantile, wilson

DISCORDANT = 0.2
"""Share of cards that only one of two systems gets right, where nobody knows better."""

MOST_CARDS = 10_000_000
_NEGLIGIBLE_SD = 6.5
_LOOK_AHEAD = 50
_SMOOTH_FROM = 20_000
"""With so many cards the jags of the power are below a thousandth."""


def mcnemar_power(n: int, effect: float, discordant: float, alpha: float = ALPHA) -> float:
    """The probability that exact McNemar on ``n`` cards gives p < alpha.

    Args:
        n: cards, independent of each other.
        effect: true difference of the shares of right cards.
        discordant: share of cards that only one of the systems gets right; at least ``effect``.
        alpha: two-sided level.

    Returns:
        The sum over all numbers d of discordant cards, Binomial(n, discordant), of the
        probability that of d the smaller side, of Binomial(d, (discordant ± effect) / 2
        discordant), is small enough.

    Raises:
        ValueError: a share that cannot be, or no cards.
    """
    from scipy.special import bdtr, bdtrc, bdtrik, gammaln, xlog1py, xlogy

    if n < 1 or not 0 < alpha < 1 or not 0 < discordant <= 1 or abs(effect) > discordant:
        raise ValueError(f"no comparison: {n=} {effect=} {discordant=} {alpha=}")
    centre, spread = n * discordant, math.sqrt(n * discordant * (1 - discordant))
    lowest = max(0, math.floor(centre - _NEGLIGIBLE_SD * spread - _NEGLIGIBLE_SD))
    highest = min(n, math.ceil(centre + _NEGLIGIBLE_SD * spread + _NEGLIGIBLE_SD))
    d = np.arange(max(1, lowest), highest + 1)
    # The largest smaller side that is called, -1 where none is: the inverse, put right by steps.
    most = np.floor(np.nan_to_num(bdtrik(alpha / 2, d.astype(np.float64), 0.5), nan=-1.0))
    most = np.clip(most + 1, -1, (d - 1) // 2)
    while (called_in_vain := (most >= 0) & (2 * bdtr(np.maximum(most, 0), d, 0.5) >= alpha)).any():
        most -= called_in_vain
    share = 0.5 + effect / discordant / 2
    with np.errstate(invalid="ignore"):
        found = bdtr(np.maximum(most, 0), d, share) + bdtrc(d - most - 1, d, share)
    chance = np.exp(
        gammaln(n + 1)
        - gammaln(d + 1)
        - gammaln(n - d + 1)
        + xlogy(d, discordant)
        + xlog1py(n - d, -discordant)
    )
    return min(1.0, float((chance * np.where(most >= 0, found, 0.0)).sum()))


def cards_needed(
    effect: float, discordant: float, *, alpha: float = ALPHA, power: float = POWER
) -> int:
    """The number of cards from which on exact McNemar finds an effect with the power asked for.

    The power of an exact test is jagged: a card more may give a little less. The number returned
    is such that none of the next fifty falls short either (below 20,000 cards).

    Args:
        effect: true difference of the shares of right cards, above 0.
        discordant: share of cards that only one of the systems gets right.
        alpha: two-sided level.
        power: probability of finding the effect.

    Raises:
        ValueError: a share that cannot be, or more than ``MOST_CARDS`` cards.
    """
    if not 0 < effect <= discordant or not 0 < power < 1:
        raise ValueError(f"no such effect: {effect=} {discordant=} {power=}")

    def enough(n: int) -> bool:
        return mcnemar_power(n, effect, discordant, alpha) >= power

    z = normal_quantile(1 - alpha / 2) * math.sqrt(discordant)
    z += normal_quantile(power) * math.sqrt(max(0.0, discordant - effect * effect))
    high = max(1, math.ceil((z / effect) ** 2))
    while high > MOST_CARDS or not enough(high):
        if high > MOST_CARDS:
            raise ValueError(f"more than {MOST_CARDS:,} cards")
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    if high >= _SMOOTH_FROM:
        return high
    short = [n for n in range(high, high + _LOOK_AHEAD) if not enough(n)]
    return short[-1] + 1 if short else high


def effect_found(
    n: int, discordant: float, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest true difference that exact McNemar finds on ``n`` cards with the power.

    Args:
        n: cards.
        discordant: share of cards that only one of the systems gets right.
        alpha: two-sided level.
        power: probability of finding the effect.

    Returns:
        ``None`` where not even wholly one-sided discord is found so often.
    """
    if mcnemar_power(n, discordant, discordant, alpha) < power:
        return None
    low, high = 0.0, discordant
    for _ in range(50):
        middle = (low + high) / 2
        enough = mcnemar_power(n, middle, discordant, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def half_width(n: int, share: float = 0.5, confidence: float = 0.95) -> float:
    """Half the width of Wilson's interval for a share seen on ``n`` cards."""
    low, high = wilson(share * n, n, confidence)
    return (high - low) / 2


def cards_for_half_width(width: float, share: float = 0.5, confidence: float = 0.95) -> int:
    """The fewest cards on which Wilson's interval is no wider than ± ``width``.

    Args:
        width: half the width, above 0.
        share: the share expected; .5 is the worst case.
        confidence: coverage aimed at.

    Raises:
        ValueError: a width that cannot be, or more than ``MOST_CARDS`` cards.
    """
    if width <= 0:
        raise ValueError(f"no such width: {width}")
    low, high = 0, 1
    while half_width(high, share, confidence) > width:
        low, high = high, high * 2
        if high > MOST_CARDS:
            raise ValueError(f"more than {MOST_CARDS:,} cards")
    while high - low > 1:
        middle = (low + high) // 2
        enough = half_width(middle, share, confidence) <= width
        low, high = (low, middle) if enough else (middle, high)
    return high


def design_effect(cluster_size: float, correlation: float) -> float:
    """By how much clusters inflate the number of cards: 1 + (size - 1) · correlation.

    Args:
        cluster_size: cards per cluster, on average.
        correlation: of outcomes within a cluster (intra-class), in [0, 1].
    """
    return 1 + (cluster_size - 1) * correlation
