"""Metrics of runs that ask each card several times.

Replies to one card are not independent: five repeats of 100 cards are not 500 cards. With repeats
all counts are of replies, and methods that assume independent rows are replaced: Wilson's interval
by the cluster bootstrap (a cluster contains all replies to its cards), McNemar's test by Wilcoxon's
signed-rank test on the cards' means.
"""

from __future__ import annotations

from eval.abstention.metrics.cluster_samples import Samples
from eval.abstention.metrics.outcomes import UNUSABLE
from eval.abstention.result import PREDS
from eval.metrics.metric_value import MetricValue
from eval.metrics.signature import Signature
from eval.stats.bootstrap import round_significant
from kg.base.proportions import wilson_interval


def compute_self_consistency(samples: Samples, system: str, base: Signature) -> MetricValue | None:
    """Computes the share of cards to which a system gave the same usable answer every time.

    Args:
        samples: the answers of all systems.
        system: name of the system.
        base: signature of the computation.

    Returns:
        The share with Wilson's interval over cards; ``None`` for a run without repeats.
    """
    preds = samples.get_preds(system)
    if preds.ndim == 1 or not samples.n_cards:
        return None
    # The unusable predictions (INVALID, ERROR) come last in PREDS, so they have the highest codes.
    is_usable = preds[:, 0] < len(PREDS) - len(UNUSABLE)
    n_consistent = int((is_usable & (preds == preds[:, :1]).all(axis=1)).sum())
    low, high = wilson_interval(n_consistent, samples.n_cards, base.confidence)
    interval = round_significant(low), round_significant(high)
    return MetricValue(
        value=n_consistent / samples.n_cards,
        low=interval[0],
        high=interval[1],
        method="wilson",
        n=samples.n_cards,
        numerator=n_consistent,
        denominator=samples.n_cards,
        higher_is_better=True,
        signature=str(base.with_metric("self_consistency")),
        intervals={"wilson": interval},
    )
