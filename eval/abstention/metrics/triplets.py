"""All-three: the share of triplets whose E, C and U card were all answered right.

The three cards of a triplet share their facts, so a system that never gives one of the answers has
0. Intervals and tests count triplets as independent, which is not quite so: the values of a triplet
are its own, but a subject may be in several triplets, of different predicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eval.abstention.metrics.card_columns import CardColumns, find_headline_cards
from eval.abstention.metrics.definitions import ALL_THREE, get_metric
from eval.abstention.metrics.outcomes import CONTROLS, UNUSABLE, Codes, Floats, as_number
from eval.abstention.result import PREDS
from eval.metrics.metric_value import MetricValue
from eval.metrics.signature import Signature
from eval.stats.bootstrap import round_significant
from eval.stats.estimates import IntervalMethod, compute_edge_interval
from kg.base.plain_text import format_count
from kg.base.proportions import wilson_interval
from kg.claims import LABELS

_N_USABLE = len(PREDS) - len(UNUSABLE)
_CHUNK = 50_000
"""Number of triplets or cards that are looked at at once, to need little memory."""


def find_triplets(numbers: NDArray[np.int32], labels: Codes) -> NDArray[np.int32]:
    """Finds the triplets that have exactly one card of each label.

    Args:
        numbers: the number of each card's triplet; -1 where there is none.
        labels: label codes of the cards.

    Returns:
        Indices of the cards, shape (triplets, 3), in the order of the first card of each triplet.
    """
    n = int(numbers.max(initial=-1)) + 1
    counts = np.zeros((n, len(LABELS)), dtype=np.int32)
    members = np.empty((n, len(LABELS)), dtype=np.int32)
    for start in range(0, len(numbers) if n else 0, _CHUNK):
        part = numbers[start : start + _CHUNK]
        cards = np.flatnonzero(part >= 0)
        places = part[cards], labels[start : start + _CHUNK][cards]
        np.add.at(counts, places, 1)
        members[places] = start + cards
    triplets: NDArray[np.int32] = members[(counts == 1).all(axis=1)]
    triplets.sort(axis=1)
    return triplets[np.argsort(triplets[:, 0])]


def describe_incomplete_triplets(cards: CardColumns) -> list[str]:
    """Says how many triplets of headline cards lack one, since all-three leaves them out.

    A card that is known to lack a row has an answer, ERROR. Of others nothing is known: their rows
    may have been removed.
    """
    is_headline = find_headline_cards(cards.kinds)
    selection = slice(None) if is_headline.all() else is_headline
    numbers = cards.triplets[selection]
    n_whole = len(find_triplets(numbers, cards.labels[selection]))
    occurs = np.zeros(int(numbers.max(initial=-1)) + 2, dtype=np.bool_)
    occurs[numbers] = True  # the last place is that of -1
    n_incomplete = int(occurs[:-1].sum()) - n_whole
    if not n_incomplete:
        return []
    lack = f"{format_count(n_incomplete, 'triplet')} {'lacks' if n_incomplete == 1 else 'lack'}"
    if not n_whole:
        return [f"{lack} a card, so geomean-recall takes the place of all-three."]
    return [f"{lack} a card: all-three is about the {n_whole:,} whole ones only."]


def score_triplets(triplets: NDArray[np.int32], labels: Codes, preds: Codes) -> Floats:
    """Scores each triplet: 1 if all three answers are right, else 0.

    With repeats it is the mean over the repeats.
    """
    return _score_triplets(triplets, labels, preds, unusable_is_right=False)


def _score_triplets(
    triplets: NDArray[np.int32], labels: Codes, preds: Codes, *, unusable_is_right: bool
) -> Floats:
    is_right_cell = get_metric("accuracy", "licensed").numerator.reshape(len(LABELS), len(PREDS))
    columns = preds if preds.ndim == 2 else preds[:, None]
    scores = np.empty(len(triplets))
    for start in range(0, len(triplets), _CHUNK):
        cards = triplets[start : start + _CHUNK]
        answers = columns[cards]
        is_right = is_right_cell[labels[cards][..., None], answers] > 0
        if unusable_is_right:
            is_right |= answers >= _N_USABLE
        scores[start : start + _CHUNK] = is_right.all(axis=1).mean(axis=1)
    return scores


def compute_all_three(
    triplets: NDArray[np.int32], labels: Codes, preds: Codes, signature: Signature
) -> MetricValue:
    """Computes the share of triplets answered right, with Wilson's interval over the triplets."""
    n = len(triplets)
    total = float(score_triplets(triplets, labels, preds).sum())
    best = float(_score_triplets(triplets, labels, preds, unusable_is_right=True).sum()) / n
    method: IntervalMethod = "wilson"
    low, high = wilson_interval(total, n, signature.confidence)
    if preds.ndim == 2:  # the sum over several replies is no count of successes
        method = "wilson-edge"
        low, high = compute_edge_interval(total / n, n, signature.confidence)[:2]
    interval = round_significant(low), round_significant(high)
    return MetricValue(
        value=total / n,
        low=interval[0],
        high=interval[1],
        method=method,
        n=n,
        numerator=as_number(total),
        denominator=n,
        worst=total / n,
        best=best,
        higher_is_better=True,
        signature=str(signature.with_metric(ALL_THREE)),
        intervals={method: interval},
    )


def compute_control_value(control: str, n_triplets: int, signature: Signature) -> MetricValue:
    """Computes all-three of a control that was not run, in expectation."""
    value = float(np.prod(CONTROLS[control]))
    return MetricValue(
        value=value,
        n=n_triplets,
        numerator=as_number(value * n_triplets),
        denominator=n_triplets,
        worst=value,
        best=value,
        higher_is_better=True,
        signature=str(signature.with_metric(ALL_THREE)),
    )
