"""Computes Wilson's confidence interval for a proportion, for metrics and audits."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def wilson_interval(
    successes: float, trials: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Computes Wilson's score interval for a proportion, without continuity correction.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA
    22(158), 1927.

    Args:
        successes: number of successes, 0 … ``trials``; need not be an integer.
        trials: number of trials.
        confidence: nominal coverage, within (0, 1).

    Returns:
        (lower, upper) within [0, 1]; lower is exactly 0 without successes, upper exactly 1 where
        all trials are successes.

    Raises:
        ValueError: no trials, or successes out of range.
    """
    if trials <= 0 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    z = normal_quantile(0.5 + confidence / 2)
    share = successes / trials
    denominator = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / denominator
    half_width = (
        z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / denominator
    )
    # The bounds 0 and 1 are set explicitly: rounding could miss them by a last digit.
    lower = 0.0 if successes == 0 else max(0.0, centre - half_width)
    upper = 1.0 if successes == trials else min(1.0, centre + half_width)
    return lower, upper


def normal_quantile(probability: float) -> float:
    """Returns the quantile of the standard normal distribution for a probability in (0, 1)."""
    return _NORMAL.inv_cdf(probability)
