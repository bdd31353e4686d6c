"""Paired differences: two retrievers on the same questions, tested against each other."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from eval.ranking.answerability import FALSE_POSITIVES, STATISTICS
from eval.ranking.measures import ALL_GOLD, MEASURES
from eval.ranking.record import ALL, Difference
from eval.ranking.samples import Samples
from eval.stats.intervals import BootstrapIntervals, Distribution, tidy
from eval.stats.paired import (
    ALPHA,
    bootstrap_p,
    edge_of_difference,
    holm,
    minimum_detectable_effect,
)
from eval.stats.permutation import sign_flips
from eval.stats.shown import Interval, interval_of

Pair = tuple[str, str]


def compare(samples: Samples, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Holds pairs of retrievers against each other, by every measure and kind.

    The adjustment for many tests is Holm's, over the pairs for each measure of all questions, and
    over pairs and kinds together for each measure by kind.

    Args:
        samples: what was measured.
        pairs: first and second; a difference is the first's value less the second's.

    Returns:
        By group, then measure, then pair.
    """
    found = [one for group in samples.groups for one in _of_group(samples, group, pairs)]
    families: dict[tuple[bool, str], list[int]] = {}
    for place, one in enumerate(found):
        families.setdefault((one.group == ALL, one.measure), []).append(place)
    for places in families.values():
        adjusted = holm([found[place].p for place in places])
        for place, p in zip(places, adjusted, strict=True):
            found[place] = _judged(found[place], p)
    return tuple(found)


def _of_group(samples: Samples, group: str, pairs: Sequence[Pair]) -> list[Difference]:
    spreads = []
    for first, second in pairs:
        spread = samples.distribution(first, group) - samples.distribution(second, group)
        spreads.append((spread, spread.intervals(samples.confidence)))
    return [
        _difference(samples, group, column, pair, *spread)
        for column in range(len(samples.columns(group)))
        for pair, spread in zip(pairs, spreads, strict=True)
    ]


def _difference(
    samples: Samples,
    group: str,
    column: int,
    pair: Pair,
    spread: Distribution,
    intervals: BootstrapIntervals,
) -> Difference:
    first, second = pair
    measure = samples.columns(group)[column]
    values = [float(samples.distribution(name, group).values[column]) for name in pair]
    one = Difference(
        group=group,
        measure=measure,
        first=first,
        second=second,
        value_first=None if np.isnan(values[0]) else tidy(values[0]),
        value_second=None if np.isnan(values[1]) else tidy(values[1]),
        difference=None,
    )
    if np.isnan(values).any():
        return one
    one = msgspec.structs.replace(one, difference=tidy(float(spread.values[column])))
    if measure in STATISTICS:
        return _tested_by_bootstrap(one, samples, spread, intervals, column)
    both = [samples.values(name, group)[:, MEASURES.index(measure)] for name in pair]
    apart = both[0] - both[1]
    flipped = sign_flips(apart, seed=samples.draws.seed)
    one = _with(one, interval_of(intervals, column))
    # Where no resample varies, what is left of the standard error is rounding.
    error = 0.0 if one.method == "none" else float(spread.standard_errors()[column])
    if one.method == "none" and (flipped.n_differ or measure == ALL_GOLD):
        table = measure == ALL_GOLD
        one = _with(one, edge_of_difference(both[0], both[1], samples.confidence, table=table))
    effect = minimum_detectable_effect(error, len(apart) if measure == ALL_GOLD else None)
    return msgspec.structs.replace(
        one,
        test="mcnemar" if flipped.mcnemar else "sign-flip",
        exact=flipped.exact,
        p=tidy(flipped.p),
        n=len(apart),
        n_differ=flipped.n_differ,
        smallest_found=None if effect is None else tidy(effect),
    )


def _tested_by_bootstrap(
    one: Difference,
    samples: Samples,
    spread: Distribution,
    intervals: BootstrapIntervals,
    column: int,
) -> Difference:
    """Of rates whose threshold is estimated too, no question alone has a difference."""
    one = _with(one, interval_of(intervals, column))
    effect = minimum_detectable_effect(float(spread.standard_errors()[column]))
    return msgspec.structs.replace(
        one,
        test="bootstrap",
        p=tidy(float(bootstrap_p(spread)[column])),
        n=len(samples.questions),
        smallest_found=None if effect is None else tidy(effect),
    )


def _with(one: Difference, found: Interval | None) -> Difference:
    """With an interval, where there is one."""
    if found is None:
        return one
    return msgspec.structs.replace(
        one, low=tidy(found.low), high=tidy(found.high), method=found.method
    )


def _judged(one: Difference, p_holm: float | None) -> Difference:
    """With the adjusted p, and who is better if anyone is."""
    better = None
    if one.low is not None and one.high is not None and p_holm is not None and p_holm < ALPHA:
        higher, lower = one.first, one.second
        if one.measure == FALSE_POSITIVES:
            higher, lower = lower, higher
        if one.low > 0:
            better = higher
        elif one.high < 0:
            better = lower
    return msgspec.structs.replace(
        one, p_holm=None if p_holm is None else tidy(p_holm), better=better
    )
