"""Complete linkage on the pairs that may merge, and on nothing else.

A pair that is missing is farther apart than the threshold. Two clusters can be joined only if every
pair between them is there, and then at the greatest distance among those; so a missing pair says
all that complete linkage needs to know of it.

Clusters that are each other's nearest are merged, all such at once, until none is left. Complete
linkage is reducible (a merger is never nearer to a third cluster than the nearer of its two parts
was), so this gives what merging one closest pair after the other gives: J.-P. Benzécri 1982 and
J. Juan 1982; see F. Murtagh, A survey of recent advances in hierarchical clustering algorithms, The
Computer Journal 26(4), 1983. Equally distant pairs are told apart by their farthest rows, so that
no two are equal and there is one answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kg.text.canonical.similar_pairs import Pairs, Places

_BATCH = 1 << 18
"""Pairs of small components that are worked on at once."""


class Merge(NamedTuple):
    """Two clusters become one, which keeps the number of the first."""

    first: int
    second: int


def complete_linkage(pairs: Pairs, clusters: int) -> list[Merge]:
    """The mergers of complete linkage at or below the pairs' threshold.

    Args:
        pairs: of clusters that are wholly within the threshold, ``first`` below ``second``, each
            once.
        clusters: how many clusters there are.

    Returns:
        The mergers, parts before the whole; otherwise in no order that means anything.
    """
    return [merge for component in _components(pairs, clusters) for merge in _merged(component)]


def _components(pairs: Pairs, clusters: int) -> Iterator[Pairs]:
    """The pairs of each connected component; small components come several together."""
    if not len(pairs.first):
        return
    linked = np.ones(len(pairs.first), np.int8)
    graph = coo_array((linked, (pairs.first, pairs.second)), shape=(clusters, clusters))
    _, component = connected_components(graph, directed=False)
    of_pair = component[pairs.first]
    pairs = pairs.at(np.argsort(of_pair, kind="stable"))
    of_pair = np.sort(of_pair)
    borders = np.append(np.flatnonzero(np.diff(of_pair)) + 1, len(of_pair))
    begin = 0
    for end in _batches(borders):
        yield pairs.at(np.arange(begin, end))
        begin = end


def _batches(borders: Places) -> Iterator[int]:
    """Of the ends of components those that end a batch."""
    begin = 0
    for place, end in enumerate(borders):
        if place + 1 == len(borders) or borders[place + 1] - begin > _BATCH:
            yield int(end)
            begin = end


def _merged(pairs: Pairs) -> Iterator[Merge]:
    """Mergers of the clusters that occur in the pairs."""
    numbers, place = np.unique(np.concatenate(pairs[:2]), return_inverse=True)
    count = len(numbers)
    first, second = place[: len(pairs.first)], place[len(pairs.first) :]
    pairs = pairs._replace(first=first.astype(np.int64), second=second.astype(np.int64))
    while len(pairs.first):
        mutual = _mutual(pairs, count)
        for one, other in zip(pairs.first[mutual], pairs.second[mutual], strict=True):
            yield Merge(int(numbers[one]), int(numbers[other]))
        pairs = _after(pairs, mutual, count)


def _mutual(pairs: Pairs, count: int) -> Places:
    """Places of the pairs that are each other's nearest."""
    nearest = np.full(count, np.inf)
    np.minimum.at(nearest, pairs.first, pairs.distance)
    np.minimum.at(nearest, pairs.second, pairs.distance)
    chosen = np.full(count, np.iinfo(np.int64).max)
    for end in (pairs.first, pairs.second):
        nearly = pairs.distance == nearest[end]
        np.minimum.at(chosen, end[nearly], pairs.farthest[nearly])
    which = pairs.farthest
    return np.flatnonzero((chosen[pairs.first] == which) & (chosen[pairs.second] == which))


def _after(pairs: Pairs, mutual: Places, count: int) -> Pairs:
    """The pairs that are left once the ``mutual`` ones have been merged."""
    into = np.arange(count)
    into[pairs.second[mutual]] = pairs.first[mutual]
    parts = np.ones(count, np.int64)
    parts[pairs.first[mutual]] = 2
    one, other = into[pairs.first], into[pairs.second]
    touched = (parts[one] > 1) | (parts[other] > 1)
    still, touched = pairs.at(~touched), touched & (one != other)
    if not touched.any():
        return still
    one, other, moved = one[touched], other[touched], pairs.at(touched)
    moved = moved._replace(first=np.minimum(one, other), second=np.maximum(one, other))
    moved = moved.at(np.lexsort((moved.farthest, moved.distance, moved.second, moved.first)))
    border = (np.diff(moved.first) != 0) | (np.diff(moved.second) != 0)
    last = np.append(np.flatnonzero(border), len(border))  # the farthest of each new pair
    held = np.diff(np.append(-1, last))
    moved = moved.at(last)
    # A pair of parts that is missing is too far apart, and so is then the pair of wholes.
    moved = moved.at(held == parts[moved.first] * parts[moved.second])
    return Pairs(*(np.concatenate(both) for both in zip(still, moved, strict=True)))
