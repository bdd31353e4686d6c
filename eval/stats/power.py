"""Power analysis: the number of cards needed for an effect, and the effect detectable with n cards.

The test is the exact two-sided McNemar test that comparisons use; its power is summed over all
outcomes, not approximated. Sources: Connor, Biometrics 1987, 43:207 (sample size of McNemar's
test); Kish, "Survey Sampling", 1965, §8.2 (design effect of clusters).
"""

from __future__ import annotations

import math

import numpy as np

from eval.stats.paired_tests import ALPHA, POWER
from kg.base.proportions import normal_quantile, wilson_interval

DEFAULT_DISCORDANT_SHARE = 0.2
"""Default for the share of cards that only one of two systems gets right."""

MAX_CARDS = 10_000_000
"""Maximum number of cards that the search for a sample size tries."""
_NEGLIGIBLE_DEVIATIONS = 6.5
"""Standard deviations from the mean beyond which numbers of discordant cards are not summed: their
total probability is about 1e-10."""
_LOOK_AHEAD = 50
"""How many larger numbers of cards are checked, because the power of an exact test oscillates."""
_MIN_SMOOTH_CARDS = 20_000
"""Number of cards above which the power changes by less than 0.001 from one n to the next."""


def mcnemar_power(n: int, effect: float, discordant: float, alpha: float = ALPHA) -> float:
    """Computes the probability that exact McNemar on ``n`` cards gives p < alpha.

    Args:
        n: number of cards, independent of each other.
        effect: true difference of the shares of right cards.
        discordant: share of cards that only one of the systems gets right; at least ``effect``.
        alpha: two-sided level.

    Returns:
        The probability that the smaller side of d discordant cards, distributed as
        Binomial(d, (discordant ± effect) / (2 · discordant)), is small enough for p < alpha;
        summed over d, which is distributed as Binomial(n, discordant).

    Raises:
        ValueError: an impossible share, or no cards.
    """
    from scipy.special import bdtr, bdtrc, bdtrik, gammaln, xlog1py, xlogy

    if n < 1 or not 0 < alpha < 1 or not 0 < discordant <= 1 or abs(effect) > discordant:
        raise ValueError(f"impossible comparison: {n=} {effect=} {discordant=} {alpha=}")
    centre, deviation = n * discordant, math.sqrt(n * discordant * (1 - discordant))
    lowest = max(
        0, math.floor(centre - _NEGLIGIBLE_DEVIATIONS * deviation - _NEGLIGIBLE_DEVIATIONS)
    )
    highest = min(
        n, math.ceil(centre + _NEGLIGIBLE_DEVIATIONS * deviation + _NEGLIGIBLE_DEVIATIONS)
    )
    d = np.arange(max(1, lowest), highest + 1)
    # The critical value: the largest number on the smaller side with p < alpha, -1 if there is
    # none. ``bdtrik`` is not exact for whole numbers, so start one above its result and step down.
    critical = np.floor(np.nan_to_num(bdtrik(alpha / 2, d.astype(np.float64), 0.5), nan=-1.0))
    critical = np.clip(critical + 1, -1, (d - 1) // 2)
    while (
        too_high := (critical >= 0) & (2 * bdtr(np.maximum(critical, 0), d, 0.5) >= alpha)
    ).any():
        critical -= too_high
    share = 0.5 + effect / discordant / 2
    with np.errstate(invalid="ignore"):
        rejection = bdtr(np.maximum(critical, 0), d, share) + bdtrc(d - critical - 1, d, share)
    probability = np.exp(
        gammaln(n + 1)
        - gammaln(d + 1)
        - gammaln(n - d + 1)
        + xlogy(d, discordant)
        + xlog1py(n - d, -discordant)
    )
    return min(1.0, float((probability * np.where(critical >= 0, rejection, 0.0)).sum()))


def compute_cards_needed(
    effect: float, discordant: float, *, alpha: float = ALPHA, power: float = POWER
) -> int:
    """Computes the number of cards from which exact McNemar detects an effect with this power.

    The power of an exact test is not monotonic: one more card may reduce it a little. Below 20,000
    cards, the power is therefore also enough for the fifty numbers of cards after the one returned.

    Args:
        effect: true difference of the shares of right cards, above 0.
        discordant: share of cards that only one of the systems gets right; at least ``effect``.
        alpha: two-sided level.
        power: probability of detecting the effect.

    Raises:
        ValueError: an impossible share, or more than ``MAX_CARDS`` cards are needed.
    """
    if not 0 < effect <= discordant or not 0 < power < 1:
        raise ValueError(f"impossible effect: {effect=} {discordant=} {power=}")

    def has_enough_power(n: int) -> bool:
        return mcnemar_power(n, effect, discordant, alpha) >= power

    # Connor's approximation is where the search starts.
    z = normal_quantile(1 - alpha / 2) * math.sqrt(discordant)
    z += normal_quantile(power) * math.sqrt(max(0.0, discordant - effect * effect))
    high = max(1, math.ceil((z / effect) ** 2))
    while high > MAX_CARDS or not has_enough_power(high):
        if high > MAX_CARDS:
            raise ValueError(f"more than {MAX_CARDS:,} cards")
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if has_enough_power(middle) else (middle, high)
    if high >= _MIN_SMOOTH_CARDS:
        return high
    too_few = [n for n in range(high, high + _LOOK_AHEAD) if not has_enough_power(n)]
    return too_few[-1] + 1 if too_few else high


def compute_detectable_effect(
    n: int, discordant: float, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Computes the smallest true difference that exact McNemar detects on ``n`` cards.

    Args:
        n: number of cards.
        discordant: share of cards that only one of the systems gets right.
        alpha: two-sided level.
        power: probability of detecting the effect.

    Returns:
        The effect; ``None`` if even fully one-sided discordance is not detected with this power.
    """
    if mcnemar_power(n, discordant, discordant, alpha) < power:
        return None
    low, high = 0.0, discordant
    for _ in range(50):
        middle = (low + high) / 2
        is_detected = mcnemar_power(n, middle, discordant, alpha) >= power
        low, high = (low, middle) if is_detected else (middle, high)
    return high


def wilson_half_width(n: int, expected_share: float = 0.5, confidence: float = 0.95) -> float:
    """Computes half the width of Wilson's interval for a share observed on ``n`` cards."""
    low, high = wilson_interval(expected_share * n, n, confidence)
    return (high - low) / 2


def compute_cards_for_half_width(width: float, share: float = 0.5, confidence: float = 0.95) -> int:
    """Computes the smallest number of cards for which Wilson's interval is at most ± ``width``.

    Args:
        width: half the width, above 0.
        share: the expected share; .5 is the worst case.
        confidence: nominal coverage.

    Raises:
        ValueError: an impossible width, or more than ``MAX_CARDS`` cards are needed.
    """
    if width <= 0:
        raise ValueError(f"impossible width: {width}")
    low, high = 0, 1
    while wilson_half_width(high, share, confidence) > width:
        low, high = high, high * 2
        if high > MAX_CARDS:
            raise ValueError(f"more than {MAX_CARDS:,} cards")
    while high - low > 1:
        middle = (low + high) // 2
        is_narrow = wilson_half_width(middle, share, confidence) <= width
        low, high = (low, middle) if is_narrow else (middle, high)
    return high


def design_effect(cluster_size: float, correlation: float) -> float:
    """Computes the factor by which clusters inflate the number of cards needed.

    The factor is 1 + (size - 1) · correlation.

    Args:
        cluster_size: average number of cards per cluster.
        correlation: intra-class correlation of outcomes within a cluster, in [0, 1].
    """
    return 1 + (cluster_size - 1) * correlation
