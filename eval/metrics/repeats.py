"""Runs that put each card to a system several times.

Replies to one card are not independent: five repeats of 100 cards are not 500 cards. All counts
are of replies, every ratio is then the mean over cards of what was answered to each, and whatever
takes rows for independent gives way: Wilson's interval to the cluster bootstrap (a cluster holds
all replies to its cards), McNemar's test to Wilcoxon's signed ranks on the cards' means.
"""

from __future__ import annotations

from eval.metrics.outcomes import UNREADABLE
from eval.metrics.record import MetricValue
from eval.metrics.samples import Samples
from eval.metrics.signature import Signature
from eval.result import PREDS
from eval.stats.intervals import tidy
from kg.base.proportions import wilson


def self_consistency(samples: Samples, system: str, base: Signature) -> MetricValue | None:
    """Share of cards to which a system gave the same readable answer every time.

    Args:
        samples: the systems.
        system: whose answers.
        base: what to sign with.

    Returns:
        With Wilson's interval over cards; ``None`` for a system asked once a card.
    """
    preds = samples.preds(system)
    if preds.ndim == 1 or not samples.n_cards:
        return None
    readable = preds[:, 0] < len(PREDS) - len(UNREADABLE)
    same = int((readable & (preds == preds[:, :1]).all(axis=1)).sum())
    low, high = wilson(same, samples.n_cards, base.confidence)
    interval = tidy(low), tidy(high)
    return MetricValue(
        value=same / samples.n_cards,
        low=interval[0],
        high=interval[1],
        method="wilson",
        numerator=same,
        denominator=samples.n_cards,
        higher_is_better=True,
        signature=str(base.of("self_consistency")),
        intervals={"wilson": interval},
    )
