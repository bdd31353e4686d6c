"""Complete-linkage clustering on a sparse list of pairs.

A pair that is not in the list is farther apart than the threshold. Two clusters can be merged only
if all pairs between them are in the list; their distance is then the greatest of those. So the
distances of the missing pairs are not needed.

In each round all pairs of clusters that are each other's nearest are merged, until no pair is left.
Complete linkage is reducible (a merged cluster is never nearer to a third one than the nearer of
its two parts was), so the result equals that of merging the closest pair again and again:
J.-P. Benzécri 1982 and J. Juan 1982; see F. Murtagh, A survey of recent advances in hierarchical
clustering algorithms, The Computer Journal 26(4), 1983. Ties between distances are broken by the
farthest rows, so that the result is unique.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kg.text.canonical.similar_pairs import IndexArray, Pairs

_MAX_BATCH_PAIRS = 1 << 18
"""Maximum number of pairs of small components that are processed together."""


class Merge(NamedTuple):
    """A merge of two clusters; the merged cluster keeps the number of the first."""

    first: int
    second: int


def compute_complete_linkage(pairs: Pairs, cluster_count: int) -> list[Merge]:
    """Returns the merges of complete linkage up to the threshold of the pairs.

    Args:
        pairs: all pairs of clusters within the threshold, ``first`` below ``second``, each once.
        cluster_count: number of clusters.

    Returns:
        The merges; each comes after those that form its parts, otherwise in no particular order.
    """
    return [
        merge
        for component in _split_components(pairs, cluster_count)
        for merge in _merge_component(component)
    ]


def _split_components(pairs: Pairs, cluster_count: int) -> Iterator[Pairs]:
    """Yields the pairs of each connected component; small components are batched."""
    if not len(pairs.first):
        return
    linked = np.ones(len(pairs.first), np.int8)
    graph = coo_array((linked, (pairs.first, pairs.second)), shape=(cluster_count, cluster_count))
    _, component = connected_components(graph, directed=False)
    of_pair = component[pairs.first]
    pairs = pairs.select_pairs(np.argsort(of_pair, kind="stable"))
    of_pair = np.sort(of_pair)
    borders = np.append(np.flatnonzero(np.diff(of_pair)) + 1, len(of_pair))
    begin = 0
    for end in _iter_batch_ends(borders):
        yield pairs.select_pairs(np.arange(begin, end))
        begin = end


def _iter_batch_ends(borders: IndexArray) -> Iterator[int]:
    """Yields the ends of the batches, given the ends of the components."""
    begin = 0
    for place, end in enumerate(borders):
        if place + 1 == len(borders) or borders[place + 1] - begin > _MAX_BATCH_PAIRS:
            yield int(end)
            begin = end


def _merge_component(pairs: Pairs) -> Iterator[Merge]:
    """Yields the merges of the clusters that occur in the pairs."""
    numbers, place = np.unique(np.concatenate(pairs[:2]), return_inverse=True)
    count = len(numbers)
    first, second = place[: len(pairs.first)], place[len(pairs.first) :]
    pairs = pairs._replace(first=first.astype(np.int64), second=second.astype(np.int64))
    while len(pairs.first):
        mutual = _find_mutual_nearest(pairs, count)
        for one, other in zip(pairs.first[mutual], pairs.second[mutual], strict=True):
            yield Merge(int(numbers[one]), int(numbers[other]))
        pairs = _apply_merges(pairs, mutual, count)


def _find_mutual_nearest(pairs: Pairs, count: int) -> IndexArray:
    """Returns the indices of the pairs whose clusters are each other's nearest."""
    nearest = np.full(count, np.inf)
    np.minimum.at(nearest, pairs.first, pairs.distance)
    np.minimum.at(nearest, pairs.second, pairs.distance)
    best = np.full(count, np.iinfo(np.int64).max)
    for end in (pairs.first, pairs.second):
        nearly = pairs.distance == nearest[end]
        np.minimum.at(best, end[nearly], pairs.farthest[nearly])
    identifiers = pairs.farthest
    return np.flatnonzero((best[pairs.first] == identifiers) & (best[pairs.second] == identifiers))


def _apply_merges(pairs: Pairs, mutual: IndexArray, count: int) -> Pairs:
    """Returns the remaining pairs after merging the ``mutual`` ones."""
    merged_into = np.arange(count)
    merged_into[pairs.second[mutual]] = pairs.first[mutual]
    parts = np.ones(count, np.int64)
    parts[pairs.first[mutual]] = 2
    first, second = merged_into[pairs.first], merged_into[pairs.second]
    touched = (parts[first] > 1) | (parts[second] > 1)
    still, touched = pairs.select_pairs(~touched), touched & (first != second)
    if not touched.any():
        return still
    first, second, moved = first[touched], second[touched], pairs.select_pairs(touched)
    moved = moved._replace(first=np.minimum(first, second), second=np.maximum(first, second))
    moved = moved.select_pairs(
        np.lexsort((moved.farthest, moved.distance, moved.second, moved.first))
    )
    border = (np.diff(moved.first) != 0) | (np.diff(moved.second) != 0)
    last = np.append(np.flatnonzero(border), len(border))  # the farthest of each new pair
    pair_counts = np.diff(np.append(-1, last))
    moved = moved.select_pairs(last)
    # If a pair of parts is missing, it is too far apart, and so are the merged clusters.
    moved = moved.select_pairs(pair_counts == parts[moved.first] * parts[moved.second])
    return Pairs(*(np.concatenate(both) for both in zip(still, moved, strict=True)))
