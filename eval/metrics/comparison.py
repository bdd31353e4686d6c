"""Comparisons of two systems on one metric, the same for all benchmarks: record and computing.

A benchmark chooses metrics and pairs. ``compare_item_values`` compares metrics with one value per
item, ``add_bootstrap_test`` the others. ``adjust_family`` then adds Holm-adjusted p-values and
names the better systems.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Literal, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from eval.stats.bootstrap import (
    ClusterResamples,
    Distribution,
    Floats,
    resample_blocks,
    round_significant,
)
from eval.stats.estimates import Interval, IntervalMethod, choose_interval, compute_ratios
from eval.stats.paired_tests import (
    ALPHA,
    Discordant,
    adjust_holm,
    compute_bootstrap_p,
    compute_newcombe_interval,
    count_discordant,
    describe_floor,
    minimum_detectable_effect,
)
from eval.stats.permutation import N_FLIPS, SignFlipTest, sign_flip_test

_MAX_SIGNS = 4_000_000
"""Maximum number of random signs, patterns times items: with more than 200 items, fewer than
``N_FLIPS`` patterns are tried, but at least ``_MIN_FLIPS``."""
_MIN_FLIPS = 4_000
"""Minimum number of random sign patterns; enough for p < 0.001."""

TestName = Literal[
    "mcnemar-exact", "mcnemar", "sign-flip", "wilcoxon", "cluster-bootstrap", "bootstrap", "none"
]
"""For cards: ``mcnemar-exact`` for metrics that are 0 or 1 per card; ``wilcoxon`` on the cards'
means when a system answered each card several times; ``cluster-bootstrap`` for ratios with random
denominators and for skill scores, for these ``sign-flip`` where there are few clusters. For other
benchmarks: ``mcnemar`` (exact, too) or ``sign-flip`` for metrics with a value per item or cluster;
``bootstrap`` for the rest."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One system compared with a baseline on one metric, over the items that both answered.

    Benchmarks that report further statistics derive their record from this one.
    """

    metric: str
    candidate: str
    baseline: str
    value_candidate: float | None = None
    value_baseline: float | None = None
    difference: float | None = None
    """``value_candidate - value_baseline``; null if either value is null."""
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: TestName = "none"
    exact: bool = False
    """Whether the test enumerated all cases, instead of a random sample of them."""
    p: float | None = None
    p_holm: float | None = None
    """Adjusted by Holm's method over the pairs that are compared on this metric."""
    better: str | None = None
    """The better system if the difference is significant; otherwise null."""
    n: int = 0
    """Number of items for which both systems have a value; for metrics without values per item,
    the number of all items."""
    n_differ: int = 0
    """Number of items on which the two values differ; 0 for metrics without values per item."""
    discordant: Discordant | None = None
    """The 2×2 table, for metrics that are 0 or 1 per item."""
    minimum_detectable_effect: float | None = None
    """The smallest difference that would be detected with 80 % power."""


C = TypeVar("C", bound=Comparison)


class BootstrapDifference:
    """The bootstrap of paired differences, with one column per metric.

    Args:
        distribution: the differences candidate − baseline over shared resamples.
        confidence: nominal coverage of the intervals.
    """

    def __init__(self, distribution: Distribution, confidence: float) -> None:
        self.distribution = distribution
        self.confidence = confidence

    @cached_property
    def intervals(self) -> list[Interval | None]:
        """The interval of each column; ``None`` where the resamples are degenerate."""
        intervals = self.distribution.compute_intervals(self.confidence)
        return [choose_interval(intervals, column) for column in range(intervals.support.size)]

    @cached_property
    def standard_errors(self) -> list[float]:
        """The standard error of each column; nan if unknown."""
        errors: list[float] = self.distribution.compute_standard_errors().tolist()
        return errors

    @cached_property
    def p_values(self) -> list[float | None]:
        """The two-sided p-value of each column; ``None`` where too many resamples have no value.

        Where all resamples agree there is one: the interval says whether they are enough.
        """
        p_values = compute_bootstrap_p(self.distribution).tolist()
        undefined = self.distribution.often_undefined.tolist()
        return [
            None if is_undefined else p for p, is_undefined in zip(p_values, undefined, strict=True)
        ]


def compare_item_values(
    comparisons: Sequence[C],
    value_pairs: Sequence[tuple[Floats, Floats]],
    resamples: ClusterResamples,
    *,
    confidence: float,
    is_binary: bool,
    is_share: bool,
) -> list[C]:
    """Compares pairs of systems by one value per item, over the items where both have a value.

    The test is the sign-flip test, which is exact McNemar where each value is 0 or 1.

    Args:
        comparisons: one per pair, with the names of metric and systems.
        value_pairs: for each comparison the values of candidate and baseline, nan where there is
            none, shape (items,) each.
        resamples: resamples of the items; their seed is also that of random signs.
        confidence: nominal coverage of the intervals.
        is_binary: whether each value is 0 or 1.
        is_share: whether values lie in [0, 1].

    Returns:
        The comparisons with values, interval and test; unchanged if no item has both values.
    """
    blocks = [_build_difference_block(*values) for values in value_pairs]
    compared = []
    for comparison, values, data in zip(
        comparisons, value_pairs, resample_blocks(blocks, resamples), strict=True
    ):
        is_shared = _mask_shared_items(*values)
        candidate, baseline = values[0][is_shared], values[1][is_shared]
        n = candidate.size
        if not n:
            compared.append(comparison)
            continue
        ratios = compute_ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
        compared.append(
            add_sign_flip_test(
                replace(
                    comparison,
                    value_candidate=round_significant(float(candidate.mean())),
                    value_baseline=round_significant(float(baseline.mean())),
                ),
                (candidate, baseline),
                BootstrapDifference(ratios, confidence),
                flip_test=flip_signs(candidate - baseline, resamples.seed),
                is_binary=is_binary,
                is_share=is_share,
            )
        )
    return compared


def flip_signs(differences: Floats, seed: int) -> SignFlipTest:
    """Applies the sign-flip test with as many random sign patterns as its time allows."""
    n_flips = min(N_FLIPS, max(_MIN_FLIPS, _MAX_SIGNS // max(differences.size, 1)))
    return sign_flip_test(differences, flips=n_flips, seed=seed)


def add_sign_flip_test(
    comparison: C,
    values: tuple[Floats, Floats],
    difference: BootstrapDifference,
    column: int = 0,
    *,
    flip_test: SignFlipTest,
    is_binary: bool,
    is_share: bool,
) -> C:
    """Adds the difference, its interval and the sign-flip test.

    The interval is that of the bootstrap. Where all items have the same difference, the resamples
    do not vary, and values in [0, 1] get Newcombe's interval instead.

    Args:
        comparison: names the metric and the systems, and has their values.
        values: one value per item of the candidate and of the baseline, shape (n,) each.
        difference: the bootstrap of the difference.
        column: the metric's column in ``difference``.
        flip_test: the test of the differences of ``values``.
        is_binary: whether each value is 0 or 1; the sign-flip test is then exact McNemar.
        is_share: whether values lie in [0, 1].
    """
    n = values[0].size
    interval = difference.intervals[column]
    # Where no resample varies, the standard error is only rounding error.
    standard_error = 0.0 if interval is None else difference.standard_errors[column]
    if interval is None and is_share and (flip_test.n_differ or is_binary):
        interval = compute_newcombe_interval(*values, difference.confidence, is_binary=is_binary)
    return replace(
        add_interval(comparison, interval),
        difference=round_significant(float(difference.distribution.values[column])),
        test="mcnemar" if is_binary else "sign-flip",
        exact=flip_test.is_exact,
        p=round_significant(flip_test.p_value),
        n=n,
        n_differ=flip_test.n_differ,
        discordant=count_discordant(*values) if is_binary else None,
        minimum_detectable_effect=round_optional(
            minimum_detectable_effect(standard_error, n if is_binary else None)
        ),
    )


def add_bootstrap_test(
    comparison: C,
    difference: BootstrapDifference,
    column: int = 0,
    *,
    n_items: int,
    edge_interval: Interval | None = None,
) -> C:
    """Adds the difference, its interval and the bootstrap test, for metrics without item values.

    Args:
        comparison: names the metric and the systems, and has their values.
        difference: the bootstrap of the difference.
        column: the metric's column in ``difference``.
        n_items: number of items that were resampled.
        edge_interval: the interval where the resamples are degenerate; ``None`` for none.
    """
    p_value = difference.p_values[column]
    return replace(
        add_interval(comparison, difference.intervals[column] or edge_interval),
        difference=round_significant(float(difference.distribution.values[column])),
        test="none" if p_value is None else "bootstrap",
        p=round_optional(p_value),
        n=n_items,
        minimum_detectable_effect=round_optional(
            minimum_detectable_effect(difference.standard_errors[column])
        ),
    )


def add_interval(comparison: C, interval: Interval | None) -> C:
    """Adds the interval of the difference, if there is one."""
    if interval is None:
        return comparison
    return replace(
        comparison,
        low=round_significant(interval.low),
        high=round_significant(interval.high),
        method=interval.method,
    )


def adjust_family(family: Sequence[C], *, higher_is_better: bool | None) -> list[C]:
    """Adds Holm-adjusted p-values and the better systems to the comparisons of one family.

    Args:
        family: the comparisons whose p-values are adjusted together.
        higher_is_better: direction of their metrics; ``None`` if neither direction is better, so
            that no system is named.

    Returns:
        The comparisons in the same order.
    """
    adjusted = adjust_holm([comparison.p for comparison in family])
    return [
        replace(
            comparison,
            p_holm=round_optional(p),
            better=choose_better(comparison, p, higher_is_better=higher_is_better),
        )
        for comparison, p in zip(family, adjusted, strict=True)
    ]


def adjust_families(
    comparisons: Sequence[C],
    get_family: Callable[[C], Hashable],
    is_higher_better: Callable[[C], bool | None],
) -> list[C]:
    """Adjusts several families of comparisons as ``adjust_family`` does, and keeps their order.

    Args:
        comparisons: the comparisons of all families.
        get_family: returns the family that a comparison belongs to.
        is_higher_better: returns the direction of a comparison's metric, which must be the same in
            all of a family.
    """
    families: dict[Hashable, list[C]] = {}
    for comparison in comparisons:
        families.setdefault(get_family(comparison), []).append(comparison)
    # A family keeps the order of its members, so its iterator yields them in that order again.
    adjusted = {
        key: iter(adjust_family(family, higher_is_better=is_higher_better(family[0])))
        for key, family in families.items()
    }
    return [next(adjusted[get_family(comparison)]) for comparison in comparisons]


def describe_coarse_tests(family: Sequence[Comparison], n_resamples: int) -> str | None:
    """Says that bootstrap tests of a family cannot find small p, if there are such tests."""
    if not any(pair.test in ("bootstrap", "cluster-bootstrap") for pair in family):
        return None
    return describe_floor(sum(pair.p is not None for pair in family), n_resamples)


def choose_better(
    comparison: Comparison, p_adjusted: float | None, *, higher_is_better: bool | None
) -> str | None:
    """Returns the better system of a comparison, if its difference is significant.

    It is significant if the interval excludes 0 *and* the adjusted p is below ``ALPHA``. Tests of
    single items assume that items are independent; the interval of a cluster bootstrap does not.

    Args:
        comparison: a comparison with its interval.
        p_adjusted: p-value adjusted for the number of pairs compared.
        higher_is_better: direction of the metric; ``None`` if neither direction is better.
    """
    low, high = comparison.low, comparison.high
    if higher_is_better is None or low is None or high is None:
        return None
    if p_adjusted is None or p_adjusted >= ALPHA:
        return None
    higher, lower = comparison.candidate, comparison.baseline
    if not higher_is_better:
        higher, lower = lower, higher
    return higher if low > 0 else lower if high < 0 else None


def round_optional(number: float | None) -> float | None:
    """Rounds as ``round_significant`` does; ``None`` stays ``None``."""
    return None if number is None else round_significant(number)


def _mask_shared_items(candidate: Floats, baseline: Floats) -> NDArray[np.bool_]:
    """Returns the mask of the items for which both systems have a value."""
    is_shared: NDArray[np.bool_] = ~np.isnan(candidate) & ~np.isnan(baseline)
    return is_shared


def _build_difference_block(candidate: Floats, baseline: Floats) -> Floats:
    """Builds the columns to resample for a pair of systems, shape (items, 2).

    The first column is each item's difference (0 for none), the second whether it has one.
    """
    is_shared = _mask_shared_items(candidate, baseline)
    differences = np.where(is_shared, candidate - baseline, 0.0)
    return np.column_stack([differences, is_shared.astype(np.float64)])
