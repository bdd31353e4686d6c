"""Wilson's interval for a proportion, which metrics and audits share."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def wilson(successes: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a proportion, without continuity correction.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA
    22(158), 1927.

    Args:
        successes: number of successes, 0 … ``trials``; need not be whole.
        trials: number of trials.
        confidence: coverage aimed at, within (0, 1).

    Returns:
        (low, high) within [0, 1]; low is exactly 0 at no successes, high exactly 1 at all.

    Raises:
        ValueError: no trials, or successes out of range.
    """
    if trials <= 0 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    z = normal_quantile(0.5 + confidence / 2)
    share = successes / trials
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrink
    low = 0.0 if successes == 0 else max(0.0, centre - spread)
    high = 1.0 if successes == trials else min(1.0, centre + spread)
    return low, high


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution, for a probability within (0, 1)."""
    return _NORMAL.inv_cdf(probability)
