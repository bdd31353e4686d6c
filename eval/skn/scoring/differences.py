"""Paired differences: two pipelines on the same samples, tested against each other.

A metric that gives each sample a value is compared on the samples where both pipelines have one:
difference, interval and test are then about the same samples. One that does not (calibration,
ratios with random denominators, quantiles) is compared as a whole, by the bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from eval.skn.scoring.measures import MEASURES
from eval.skn.scoring.measuring import CALIBRATION, QUANTILES, confident, latencies
from eval.skn.scoring.record import Difference, Pair
from eval.skn.scoring.resampling import Samples
from eval.stats.confidences import STATISTICS
from eval.stats.intervals import (
    Distribution,
    Floats,
    Resampled,
    resample_blocks,
    tidy,
)
from eval.stats.measured import Measure
from eval.stats.paired import bootstrap_p, holm, minimum_detectable_effect
from eval.stats.paired_values import better_of, difference_block, paired_values
from eval.stats.shown import Interval, interval_of

AS_A_WHOLE = (
    *("normalized_hallucination_micro", "abstention_precision", "abstention_f1"),
    *(*CALIBRATION, *QUANTILES),
)
"""Metrics of which no sample alone has a value."""
PER_SAMPLE = tuple(
    name
    for name in MEASURES
    if name not in (*AS_A_WHOLE, "confidence_when_correct", "confidence_when_wrong")
)
_LOWER = frozenset(
    (*CALIBRATION, *QUANTILES, *(n for n, m in MEASURES.items() if m.higher_is_better is False))
)
_DESCRIBE = frozenset(name for name, one in MEASURES.items() if one.higher_is_better is None)


def compare(samples: Samples, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
    """Holds pairs of pipelines against each other by every metric.

    The adjustment for many tests is Holm's, over the pairs for each metric.

    Returns:
        By metric, then pair.
    """
    wholes = {
        name: _wholes(samples, name)
        for name in {name for pair in pairs for name in (pair.first, pair.second)}
    }
    compared: list[Difference] = []
    for metric in (*PER_SAMPLE, *AS_A_WHOLE):
        if metric in AS_A_WHOLE:
            found = [_of_wholes(metric, pair, wholes, samples) for pair in pairs]
        else:
            found = _of_samples(samples, MEASURES[metric], pairs)
        adjusted = holm([one.p for one in found])
        compared += [_judged(one, p) for one, p in zip(found, adjusted, strict=True)]
    return tuple(compared)


def _of_samples(samples: Samples, measure: Measure, pairs: Sequence[Pair]) -> list[Difference]:
    both = [
        (samples.per_sample(measure, pair.first), samples.per_sample(measure, pair.second))
        for pair in pairs
    ]
    blocks = [difference_block(first, second) for first, second in both]
    return [
        _difference(samples, measure, pair, values, data)
        for pair, values, data in zip(
            pairs, both, resample_blocks(blocks, samples.draws), strict=True
        )
    ]


def _difference(
    samples: Samples,
    measure: Measure,
    pair: Pair,
    values: tuple[Floats, Floats],
    data: Resampled,
) -> Difference:
    found = paired_values(
        *values,
        data,
        confidence=samples.plan.confidence,
        seed=samples.plan.seed,
        yes_or_no=measure.binary and samples.repeats == 1,
        share=measure.unit,
    )
    return Difference(first=pair.first, second=pair.second, metric=measure.name, **found.fields())


def _wholes(samples: Samples, pipeline: str) -> dict[str, Distribution]:
    """The distributions of the metrics that only all samples together have a value of."""
    known = [MEASURES[name] for name in AS_A_WHOLE if name in MEASURES]
    found = _columns(samples.distribution(known, pipeline), [one.name for one in known])
    replies = confident(samples, pipeline)
    if replies is not None:
        stated = _columns(replies.distribution(samples.draws), STATISTICS)
        found |= {name: stated[name] for name in CALIBRATION}
    waited = latencies(samples, pipeline)
    if waited is not None:
        found |= _columns(waited, QUANTILES)
    return found


def _columns(spread: Distribution, names: Sequence[str]) -> dict[str, Distribution]:
    return {
        name: Distribution(
            spread.values[[at]],
            spread.replicates[:, [at]],
            spread.jackknife[:, [at]],
            spread.support[[at]],
        )
        for at, name in enumerate(names)
    }


def _of_wholes(
    metric: str, pair: Pair, wholes: dict[str, dict[str, Distribution]], samples: Samples
) -> Difference:
    first, second = wholes[pair.first].get(metric), wholes[pair.second].get(metric)
    one = Difference(
        first=pair.first,
        second=pair.second,
        metric=metric,
        value_first=_value(first),
        value_second=_value(second),
        difference=None,
    )
    if first is None or second is None or one.value_first is None or one.value_second is None:
        return one
    spread = first - second
    one = _with(one, interval_of(spread.intervals(samples.plan.confidence), 0))
    p = float(bootstrap_p(spread)[0])
    effect = minimum_detectable_effect(float(spread.standard_errors()[0]))
    return msgspec.structs.replace(
        one,
        difference=tidy(float(spread.values[0])),
        test="none" if np.isnan(p) else "bootstrap",
        p=None if np.isnan(p) else tidy(p),
        n=len(samples.names),
        smallest_found=None if effect is None else tidy(effect),
    )


def _value(spread: Distribution | None) -> float | None:
    if spread is None or np.isnan(spread.values[0]):
        return None
    return tidy(float(spread.values[0]))


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
    if one.metric not in _DESCRIBE:
        better = better_of(
            (one.first, one.second),
            (one.low, one.high),
            p_holm,
            higher_is_better=one.metric not in _LOWER,
        )
    return msgspec.structs.replace(
        one, p_holm=None if p_holm is None else tidy(p_holm), better=better
    )
