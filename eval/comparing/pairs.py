"""Every pair of systems on the same cards: who is better by what, and can the data tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from msgspec.structs import astuple, replace

from eval.metrics.abstention import BESIDE, HEADLINE, Metric, metrics
from eval.metrics.outcomes import right_cards
from eval.metrics.record import PairedComparison, TestName
from eval.metrics.samples import Samples
from eval.metrics.signature import Signature
from eval.stats.effects import cohens_d_paired, wilcoxon
from eval.stats.intervals import Distribution, Floats, tidy
from eval.stats.paired import (
    ALPHA,
    Discordant,
    bootstrap_p,
    discordance,
    holm,
    mcnemar_exact,
    minimum_detectable_effect,
    newcombe_paired,
    square_and_add,
)
from eval.stats.shown import IntervalMethod
from kg.base.proportions import wilson

Interval = tuple[float, float]

COMPARED = (*HEADLINE, *BESIDE)


def compare_systems(
    samples: Samples, *, signature: Signature, baseline: str | None = None
) -> tuple[PairedComparison, ...]:
    """Compares all pairs of systems, or each with a baseline, on every headline metric.

    Controls that were run take no part, unless one is the baseline.

    Holm's family is the pairs compared on one metric under one policy.

    Args:
        samples: the systems on shared draws.
        signature: what the numbers are signed with; metric and policy are filled in.
        baseline: a system to hold all others against; ``None`` for all pairs.

    Returns:
        By policy, metric, then pair.

    Raises:
        ValueError: no such baseline.
    """
    systems = samples.observations.contenders
    pairs = list(combinations(systems, 2))
    if baseline is not None:
        if baseline not in samples.observations.preds:
            raise ValueError(f"no such baseline: {baseline}")
        pairs = [(system, baseline) for system in systems if system != baseline]
    return compare_pairs(samples, pairs, signature=signature)


def compare_pairs(
    samples: Samples,
    pairs: Sequence[tuple[str, str]],
    *,
    signature: Signature,
    names: Sequence[str] = COMPARED,
) -> tuple[PairedComparison, ...]:
    """Compares the pairs that are named, each as first less second.

    Args:
        samples: the systems on shared draws.
        pairs: names of systems; Holm's family are those of one metric and policy.
        signature: as in ``compare_systems``.
        names: the metrics.

    Returns:
        By policy, metric, then pair.
    """
    systems = dict.fromkeys(name for pair in pairs for name in pair)
    out: list[PairedComparison] = []
    for policy in samples.plan.policies:
        signed = replace(signature, policy=policy)
        wanted = metrics(names, policy)
        alone = {name: samples.distribution(wanted, policy, name) for name in systems}
        spreads = [_spreads(alone[a], alone[b], samples.plan.confidence) for a, b in pairs]
        for column, metric in enumerate(wanted):
            family = [
                _compare(samples, metric, pair, spread[column], signed)
                for pair, spread in zip(pairs, spreads, strict=True)
            ]
            out.extend(_judged(family, metric.higher_is_better))
    return tuple(out)


def _compare(
    samples: Samples, metric: Metric, pair: tuple[str, str], spread: _Spread, signature: Signature
) -> PairedComparison:
    """One pair on one metric; Holm and the verdict come later."""
    a, b = pair
    counts = samples.counts(metric.policy, a), samples.counts(metric.policy, b)
    value_a, value_b = metric.value(counts[0]), metric.value(counts[1])
    compared = PairedComparison(
        a=a,
        b=b,
        policy=metric.policy,
        metric=metric.name,
        value_a=value_a,
        value_b=value_b,
        difference=None,
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        signature=str(signature.of(metric.name)),
    )
    if value_a is None or value_b is None:
        return compared
    discordant = ranks = effect_size = None
    if metric.is_proportion(counts[0]) and metric.is_proportion(counts[1]):
        right_a, right_b = (_right(samples, metric, name) for name in pair)
        effect_size = cohens_d_paired(right_a - right_b)
        if any(samples.observations.repeats(name) > 1 for name in pair):
            ranks = wilcoxon(right_a - right_b)
        else:
            discordant = discordance(right_a, right_b)
    method, interval = spread.interval
    if interval is None:
        method, interval = _at_the_edge(
            (value_a, spread.supports[0]), (value_b, spread.supports[1]), discordant, samples
        )
    effect = minimum_detectable_effect(
        spread.standard_error, None if discordant is None else sum(astuple(discordant))
    )
    test: TestName = "none"
    p = None
    if discordant is not None:
        test, p = "mcnemar-exact", mcnemar_exact(discordant.only_a, discordant.only_b)
    elif ranks is not None:
        test, p = "wilcoxon", ranks.p
    elif spread.interval[1] is not None:
        test, p = "cluster-bootstrap", spread.p
    return replace(
        compared,
        difference=tidy(value_a - value_b),
        low=tidy(interval[0]),
        high=tidy(interval[1]),
        method=method,
        test=test,
        p=None if p is None else tidy(p),
        discordant=discordant,
        cohens_d=None if effect_size is None else tidy(effect_size),
        minimum_detectable_effect=None if effect is None else tidy(effect),
    )


@dataclass(frozen=True)
class _Spread:
    """What the paired bootstrap says of one pair on one metric.

    Attributes:
        interval: BCa, or percentile where BCa is undefined, or nothing where the resamples say
            nothing of uncertainty.
        p: of no difference, by resampling.
        standard_error: of the difference; nan where unknown.
        supports: clusters that take part in each system's denominator.
    """

    interval: tuple[IntervalMethod, Interval | None]
    p: float
    standard_error: float
    supports: tuple[float, float]


def _spreads(a: Distribution, b: Distribution, confidence: float) -> list[_Spread]:
    """The paired bootstrap of one pair, by metric."""
    difference = a - b
    found = difference.intervals(confidence)
    errors, p = difference.standard_errors(), bootstrap_p(difference)
    out = []
    for column, still in enumerate(found.degenerate.tolist()):
        method: IntervalMethod = "bootstrap-bca"
        low, high = found.bca[:, column].tolist()
        if math.isnan(low) or math.isnan(high):
            method = "bootstrap-percentile"
            low, high = found.percentile[:, column].tolist()
        out.append(
            _Spread(
                interval=("none", None) if still else (method, (low, high)),
                p=float(p[column]),
                standard_error=float(errors[column]),
                supports=(float(a.support[column]), float(b.support[column])),
            )
        )
    return out


def _right(samples: Samples, metric: Metric, system: str) -> Floats:
    return right_cards(
        samples.labels(metric.policy), samples.preds(system), metric.numerator, metric.denominator
    )


def _at_the_edge(
    a: tuple[float, float],
    b: tuple[float, float],
    discordant: Discordant | None,
    samples: Samples,
) -> tuple[IntervalMethod, Interval]:
    """Interval of a difference of which resamples say nothing: scores, not false certainty.

    Args:
        a: the first system's value, and the clusters behind it.
        b: the second's.
        discordant: for metrics that are a yes or no per card.
        samples: for the confidence aimed at.
    """
    confidence = samples.plan.confidence
    if discordant is not None:
        return "newcombe-paired", newcombe_paired(discordant, confidence)
    first, second = (
        (value, wilson(value * support, support, confidence)) for value, support in (a, b)
    )
    return "newcombe", square_and_add(first, second)


def _judged(family: Sequence[PairedComparison], better_is: bool | None) -> list[PairedComparison]:
    """The same comparisons with Holm over them all, and a verdict on each.

    The data tell two systems apart only where the adjusted test and the interval of the cluster
    bootstrap agree: McNemar counts cards as independent, the bootstrap does not.
    """
    out = []
    for one, adjusted in zip(family, holm([one.p for one in family]), strict=True):
        better = None
        if (
            better_is is not None
            and one.difference is not None
            and (one.low is not None and one.high is not None)
            and adjusted is not None
            and adjusted < ALPHA
            and (one.low > 0 or one.high < 0)
        ):
            better = one.a if (one.difference > 0) == better_is else one.b
        out.append(replace(one, p_holm=None if adjusted is None else tidy(adjusted), better=better))
    return out
