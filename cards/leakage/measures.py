"""Measures how well labels are predicted: accuracy, balanced accuracy and area under the ROC curve.

Each measure has an interval that allows for groups of cards that resemble each other: its variance
is the largest of those that follow from single cards, clusters and shared contexts, and gives the
effective number of cards of a Wilson interval (design effect, Kish 1965).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from cards.card import Card
from kg.base.proportions import wilson_interval


class Measure(msgspec.Struct, frozen=True):
    """A measure with its interval, and what guessing gives."""

    value: float
    low: float
    high: float
    chance: float

    @property
    def is_above_chance(self) -> bool:
        """Whether the interval lies above chance."""
        # With the tolerance, an interval that ends exactly at chance is no leak by rounding error.
        return self.low > self.chance + 1e-12

    @property
    def excess(self) -> float:
        """Value above chance; negative below."""
        return self.value - self.chance


class Groups(NamedTuple):
    """Group numbers of the cards by two groupings; shape (n,) each."""

    clusters: np.ndarray[Any, Any]
    """By cluster (the subject): a learner must not be tested on a subject it was trained on."""
    contexts: np.ndarray[Any, Any]
    """By set of facts, for sets that occur with several labels: a learner trained on cards with the
    same facts could infer that the test card has a *different* label."""


def group_cards(cards: Sequence[Card]) -> Groups:
    """Numbers the clusters and the contexts of a card set."""
    clusters: dict[str, int] = {}
    facts = [tuple(sorted(card.facts)) for card in cards]
    labels: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for card, context in zip(cards, facts, strict=True):
        labels[context].add(card.label)
    # Facts that always occur with the same label are a leak that the audit must find, so cards
    # that share them stay in training.
    contexts: dict[object, int] = {}
    keys: list[object] = [f if len(labels[f]) > 1 else i for i, f in enumerate(facts)]
    return Groups(
        np.array([clusters.setdefault(c.cluster or c.claim.subj, len(clusters)) for c in cards]),
        np.array([contexts.setdefault(key, len(contexts)) for key in keys]),
    )


def measure_accuracy(
    is_correct: np.ndarray[Any, Any],
    gold: np.ndarray[Any, Any],
    groups: Groups,
    level: float,
    *,
    balanced: bool = False,
) -> Measure:
    """Measures the share of correct predictions.

    Args:
        is_correct: whether each card's label is predicted, shape (n,), n > 0.
        gold: the labels, shape (n,).
        groups: the two groupings.
        level: the error probability of the interval, for example 0.05.
        balanced: whether all labels count alike, however many cards they have: the mean of their
            recalls.
    """
    labels, inverse, counts = np.unique(gold, return_inverse=True, return_counts=True)
    if not balanced:
        weights, chance = np.ones(len(gold)), float(counts.max() / len(gold))
    else:
        weights, chance = (len(gold) / len(labels) / counts)[inverse], 1 / len(labels)
    correct = is_correct.astype(float)
    low, high = grouped_wilson_interval(correct, groups, level, weights)
    return Measure(float(np.average(correct, weights=weights)), low, high, chance)


def measure_auc(
    scores: np.ndarray[Any, Any], gold: np.ndarray[Any, Any], groups: Groups, level: float
) -> Measure:
    """Measures the area under the ROC curve: each label against the rest, the mean of all labels.

    The variance is that of DeLong's components (Biometrics 44, 1988), summed within groups
    (Obuchowski, Biometrics 53, 1997).

    Args:
        scores: how likely each card is to have each label, shape (n, k), in the sorted order of
            the labels.
        gold: the labels, shape (n,), of which k > 1 are different.
        groups: the two groupings.
        level: the error probability of the interval.
    """
    labels, n = np.unique(gold), len(gold)
    value, influence = 0.0, np.zeros(n)
    for label, score in zip(labels, scores.T, strict=True):
        positive = gold == label
        all_ranks = rank_scores(score)
        n_pos, n_neg = int(positive.sum()), int((~positive).sum())
        # For each card, the share of the other side's cards that it is ranked correctly against.
        pos_shares = (all_ranks[positive] - rank_scores(score[positive])) / n_neg
        neg_shares = 1 - (all_ranks[~positive] - rank_scores(score[~positive])) / n_pos
        auc = float(pos_shares.mean())
        value += auc / len(labels)
        influence[positive] += (pos_shares - auc) / n_pos / len(labels)
        influence[~positive] += (neg_shares - auc) / n_neg / len(labels)
    variance = max(_sum_squares(influence, grouping) for grouping in (np.arange(n), *groups))
    # A variance near 0 (all scores equal, or no error) does not make few cards certain.
    size = min(n, value * (1 - value) / variance) if variance > 0 and 0 < value < 1 else n
    low, high = wilson_interval(min(max(value, 0.0), 1.0) * size, size, 1 - level)
    return Measure(value, low, high, 0.5)


def grouped_wilson_interval(
    is_correct: np.ndarray[Any, Any],
    groups: Groups,
    level: float,
    weights: np.ndarray[Any, Any] | None = None,
) -> tuple[float, float]:
    """Computes a two-sided Wilson interval at ``1 - level`` for the mean of ``is_correct``.

    The effective number of cards with unequal weights (Kish) is divided by the larger of the two
    groupings' design effects.

    Args:
        is_correct: 1.0 or 0.0 for each card, shape (n,).
        groups: the two groupings.
        level: the error probability, for example 0.05.
        weights: the cards' weights, shape (n,); None for equal ones.
    """
    if weights is None:
        weights = np.ones(len(is_correct))
    mean = min(float(np.average(is_correct, weights=weights)), 1.0)
    effective_size = float(weights.sum() ** 2 / (weights**2).sum()) / max(
        _compute_design_effect(is_correct, grouping, mean, weights) for grouping in groups
    )
    return wilson_interval(mean * effective_size, effective_size, 1 - level)


def _compute_design_effect(
    is_correct: np.ndarray[Any, Any],
    groups: np.ndarray[Any, Any],
    mean: float,
    weights: np.ndarray[Any, Any],
) -> float:
    """Computes the variance of the mean, relative to that of independent cards; at least 1."""
    if len(np.unique(groups)) < 2 or not 0 < mean < 1:
        return 1.0
    variance = _sum_squares(weights * (is_correct - mean), groups)
    return max(1.0, variance / (mean * (1 - mean) * float((weights**2).sum())))


def _sum_squares(deviations: np.ndarray[Any, Any], groups: np.ndarray[Any, Any]) -> float:
    """Computes the variance of a sum from the squared sums of its groups."""
    sums = np.bincount(groups, weights=deviations)
    n_groups = len(sums)
    return n_groups / max(n_groups - 1, 1) * float((sums**2).sum())


def rank_scores(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Ranks scores from 1, ties at their mean."""
    ordered = np.sort(scores)
    left, right = np.searchsorted(ordered, scores), np.searchsorted(ordered, scores, "right")
    ranks: np.ndarray[Any, Any] = (left + right + 1) / 2
    return ranks
