"""Compares two systems by one value per sample: difference, interval and test.

The interval is that of the bootstrap over samples. Where all samples have the same difference, the
resamples do not vary, and values in [0, 1] get Newcombe's interval instead. The test is the
sign-flip test, which equals the exact McNemar test where each value is 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from eval.stats.bootstrap import SEED, Floats, ResampledCounts, round_significant
from eval.stats.estimates import IntervalMethod, choose_interval, compute_ratios
from eval.stats.paired_tests import (
    ALPHA,
    Discordant,
    compute_newcombe_interval,
    count_discordant,
    minimum_detectable_effect,
)
from eval.stats.permutation import N_FLIPS, sign_flip_test

_MAX_SIGNS = 4_000_000
"""Maximum number of random signs, patterns times samples: with more than 200 samples, fewer than
``N_FLIPS`` patterns are tried, but at least ``_MIN_FLIPS``."""
_MIN_FLIPS = 4_000
"""Minimum number of random sign patterns; enough for p < 0.001."""


@dataclass(frozen=True, kw_only=True)
class PairedValues:
    """Comparison of two systems' means over the samples where both have a value.

    Attributes:
        n: number of samples where both have a value.
        value_first: mean of the first system over these samples; null if there are none.
        value_second: mean of the second system over the same samples.
        difference: ``value_first - value_second``.
        low: lower bound of the interval of the difference; null where there is none.
        high: upper bound of the interval.
        method: the method of the interval.
        test: the test that gave ``p``.
        exact: whether the test used all sign patterns, not a random sample of them.
        p: two-sided p-value.
        discordant: the 2×2 table, where each value is 0 or 1.
        n_differ: number of samples whose values differ.
        minimum_detectable_effect: minimum detectable effect at 80 % power, this number of samples
            and this standard error.
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
    minimum_detectable_effect: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields by name, for records that add the names of the systems."""
        return dict(vars(self))


def build_difference_block(first: Floats, second: Floats) -> Floats:
    """Builds the columns to resample for a pair of systems.

    The first column is each sample's difference (0 for none), the second whether it has one.

    Args:
        first: one value per sample, nan where there is none, shape (samples,).
        second: the values of the other system in the same form.

    Returns:
        Shape (samples, 2).
    """
    is_shared = _both_defined(first, second)
    return np.column_stack([np.where(is_shared, first - second, 0.0), is_shared.astype(np.float64)])


def compare_values(
    first: Floats,
    second: Floats,
    data: ResampledCounts,
    *,
    confidence: float,
    seed: int = SEED,
    is_binary: bool,
    is_share: bool,
) -> PairedValues:
    """Compares two systems by one value per sample.

    Args:
        first: one value per sample, nan where there is none, shape (samples,).
        second: the values of the other system in the same form.
        data: the resampled counts of ``build_difference_block(first, second)``.
        confidence: nominal coverage of the interval.
        seed: seed of the random sign patterns, used if there are too many to try all.
        is_binary: whether each value is 0 or 1.
        is_share: whether values lie in [0, 1].
    """
    is_shared = _both_defined(first, second)
    first, second = first[is_shared], second[is_shared]
    n = int(is_shared.sum())
    if not n:
        return PairedValues()
    distribution = compute_ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    comparison = PairedValues(
        n=n,
        value_first=round_significant(float(first.mean())),
        value_second=round_significant(float(second.mean())),
        difference=round_significant(float(distribution.values[0])),
    )
    interval = choose_interval(distribution.compute_intervals(confidence), 0)
    if interval is not None:
        comparison = replace(
            comparison,
            low=round_significant(interval.low),
            high=round_significant(interval.high),
            method=interval.method,
        )
    flips = min(N_FLIPS, max(_MIN_FLIPS, _MAX_SIGNS // n))
    flip_test = sign_flip_test(first - second, flips=flips, seed=seed)
    # Where no resample varies, the standard error is only rounding error.
    standard_error = 0.0 if interval is None else float(distribution.compute_standard_errors()[0])
    if interval is None and is_share and (flip_test.n_differ or is_binary):
        newcombe_interval = compute_newcombe_interval(
            first, second, confidence, is_binary=is_binary
        )
        comparison = replace(
            comparison,
            low=round_significant(newcombe_interval.low),
            high=round_significant(newcombe_interval.high),
            method=newcombe_interval.method,
        )
    effect = minimum_detectable_effect(standard_error, n if is_binary else None)
    return replace(
        comparison,
        test="mcnemar" if is_binary else "sign-flip",
        exact=flip_test.is_exact,
        p=round_significant(flip_test.p_value),
        discordant=count_discordant(first, second) if is_binary else None,
        n_differ=flip_test.n_differ,
        minimum_detectable_effect=None if effect is None else round_significant(effect),
    )


def choose_better(
    names: tuple[str, str],
    interval: tuple[float | None, float | None],
    p_adjusted: float | None,
    *,
    higher_is_better: bool,
) -> str | None:
    """Returns the better of two systems, if their difference is significant.

    It is significant if the interval excludes 0 *and* the adjusted p is below ``ALPHA``.

    Args:
        names: names of the first and the second system.
        interval: interval of the difference, first − second.
        p_adjusted: p-value adjusted for the number of pairs compared.
        higher_is_better: direction of the metric.

    Returns:
        The name of the better system; ``None`` when the difference is not significant.
    """
    low, high = interval
    if low is None or high is None or p_adjusted is None or p_adjusted >= ALPHA:
        return None
    higher, lower = names if higher_is_better else names[::-1]
    return higher if low > 0 else lower if high < 0 else None


def _both_defined(first: Floats, second: Floats) -> Any:
    """Returns the mask of the samples for which both systems have a value."""
    return ~np.isnan(first) & ~np.isnan(second)
