"""Two systems' values of the same samples: their difference, its interval and its test.

The interval is the bootstrap's over samples; where every sample shows one and the same difference
no resample varies, and Newcombe's stands in for shares. The test is the sign-flip test, which is
the exact McNemar test where each sample says yes or no.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from eval.stats.intervals import SEED, Floats, Resampled, tidy
from eval.stats.paired import (
    ALPHA,
    Discordant,
    discordance,
    edge_of_difference,
    minimum_detectable_effect,
)
from eval.stats.permutation import FLIPS, sign_flips
from eval.stats.shown import IntervalMethod, interval_of, ratios

_SIGNS_AT_MOST = 4_000_000
_FEWEST_FLIPS = 4_000
"""From 200 samples on fewer patterns of signs are tried, but enough for p below a thousandth."""


@dataclass(frozen=True, kw_only=True)
class PairedValues:
    """The first system's mean less the second's, over the samples where both have a value.

    Attributes:
        n: samples with a value of both.
        value_first: mean of the first over these; null without any.
        value_second: the same of the second.
        difference: of the two.
        low: of the interval of the difference; null where there is none.
        high: the same.
        method: how the interval came about.
        test: which test ``p`` is of.
        exact: whether every pattern of signs counted in it.
        p: two-sided.
        discordant: the 2×2 table, where each sample says yes or no once.
        n_differ: samples whose values differ.
        smallest_found: the true difference found four times in five at this spread and number.
    """

    n: int = 0
    value_first: float | None = None
    value_second: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: Literal["mcnemar", "sign-flip", "none"] = "none"
    exact: bool = False
    p: float | None = None
    discordant: Discordant | None = None
    n_differ: int = 0
    smallest_found: float | None = None

    def fields(self) -> dict[str, Any]:
        """All of it by name, for a record that says whose values they are."""
        return dict(vars(self))


def difference_block(first: Floats, second: Floats) -> Floats:
    """What is resampled of two systems: each sample's difference, and whether it has one.

    Args:
        first: one value a sample, nan where there is none, shape (samples,).
        second: the same of the other system.

    Returns:
        Shape (samples, 2).
    """
    shared = _shared(first, second)
    return np.column_stack([np.where(shared, first - second, 0.0), shared.astype(np.float64)])


def paired_values(
    first: Floats,
    second: Floats,
    data: Resampled,
    *,
    confidence: float,
    seed: int = SEED,
    yes_or_no: bool,
    share: bool,
) -> PairedValues:
    """Compares two systems by one value for each sample.

    Args:
        first: one value a sample, nan where there is none, shape (samples,).
        second: the same of the other system.
        data: ``difference_block`` of the two, resampled.
        confidence: coverage that the interval aims at.
        seed: of the patterns of signs, where there are too many to try all.
        yes_or_no: whether each sample says 0 or 1.
        share: whether values lie within 0 and 1.
    """
    both = _shared(first, second)
    first, second = first[both], second[both]
    n = int(both.sum())
    if not n:
        return PairedValues()
    spread = ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    found = PairedValues(
        n=n,
        value_first=tidy(float(first.mean())),
        value_second=tidy(float(second.mean())),
        difference=tidy(float(spread.values[0])),
    )
    interval = interval_of(spread.intervals(confidence), 0)
    if interval is not None:
        found = replace(
            found, low=tidy(interval.low), high=tidy(interval.high), method=interval.method
        )
    flips = min(FLIPS, max(_FEWEST_FLIPS, _SIGNS_AT_MOST // n))
    flipped = sign_flips(first - second, flips=flips, seed=seed)
    # Where no resample varies, what is left of the standard error is rounding.
    error = 0.0 if interval is None else float(spread.standard_errors()[0])
    if interval is None and share and (flipped.n_differ or yes_or_no):
        edge = edge_of_difference(first, second, confidence, table=yes_or_no)
        found = replace(found, low=tidy(edge.low), high=tidy(edge.high), method=edge.method)
    effect = minimum_detectable_effect(error, n if yes_or_no else None)
    return replace(
        found,
        test="mcnemar" if yes_or_no else "sign-flip",
        exact=flipped.exact,
        p=tidy(flipped.p),
        discordant=discordance(first, second) if yes_or_no else None,
        n_differ=flipped.n_differ,
        smallest_found=None if effect is None else tidy(effect),
    )


def better_of(
    names: tuple[str, str],
    interval: tuple[float | None, float | None],
    p_adjusted: float | None,
    *,
    higher_is_better: bool,
) -> str | None:
    """Which of two is better: the interval leaves out 0 *and* the adjusted p is below alpha.

    Args:
        names: of the first and the second.
        interval: of the first less the second.
        p_adjusted: adjusted for how many pairs are compared.
        higher_is_better: which way the metric points.

    Returns:
        Its name; ``None`` when the data cannot tell.
    """
    low, high = interval
    if low is None or high is None or p_adjusted is None or p_adjusted >= ALPHA:
        return None
    higher, lower = names if higher_is_better else names[::-1]
    return higher if low > 0 else lower if high < 0 else None


def _shared(first: Floats, second: Floats) -> Any:
    return ~np.isnan(first) & ~np.isnan(second)
