"""Complete-linkage clustering on a sparse list of pairs.

A pair that is not in the list is farther apart than the threshold. Two clusters can be merged only
if all pairs between them are in the list. Their distance is then the greatest distance of these
pairs, so the distances of the missing pairs are not needed.

In each round all pairs of clusters that are each other's nearest are merged, until no pair is left.
Complete linkage is reducible (a merged cluster is never nearer to a third one than the nearer of
its two parts was), so the result equals that of merging the closest pair again and again:
J.-P. Benzécri 1982 and J. Juan 1982; see F. Murtagh, A survey of recent advances in hierarchical
clustering algorithms, The Computer Journal 26(4), 1983. Of pairs of clusters with equal distances,
the one with the lowest number ``Pairs.farthest`` is the nearest, so that the result is unique.
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
    ones = np.ones(len(pairs.first), np.int8)
    graph = coo_array((ones, (pairs.first, pairs.second)), shape=(cluster_count, cluster_count))
    _, component = connected_components(graph, directed=False)
    component_of_pair = component[pairs.first]
    pairs = pairs.select_pairs(np.argsort(component_of_pair, kind="stable"))
    component_of_pair = np.sort(component_of_pair)
    component_ends = np.append(
        np.flatnonzero(np.diff(component_of_pair)) + 1, len(component_of_pair)
    )
    begin = 0
    for end in _iter_batch_ends(component_ends):
        yield pairs.select_pairs(np.arange(begin, end))
        begin = end


def _iter_batch_ends(component_ends: IndexArray) -> Iterator[int]:
    """Yields the ends of the batches, given the ends of the components."""
    begin = 0
    for position, end in enumerate(component_ends):
        if (
            position + 1 == len(component_ends)
            or component_ends[position + 1] - begin > _MAX_BATCH_PAIRS
        ):
            yield int(end)
            begin = end


def _merge_component(pairs: Pairs) -> Iterator[Merge]:
    """Yields the merges of the clusters that occur in the pairs."""
    cluster_numbers, indices = np.unique(np.concatenate(pairs[:2]), return_inverse=True)
    count = len(cluster_numbers)
    first, second = indices[: len(pairs.first)], indices[len(pairs.first) :]
    pairs = pairs._replace(first=first.astype(np.int64), second=second.astype(np.int64))
    while len(pairs.first):
        mutual = _find_mutual_nearest(pairs, count)
        for first_index, second_index in zip(
            pairs.first[mutual], pairs.second[mutual], strict=True
        ):
            yield Merge(int(cluster_numbers[first_index]), int(cluster_numbers[second_index]))
        pairs = _apply_merges(pairs, mutual, count)


def _find_mutual_nearest(pairs: Pairs, count: int) -> IndexArray:
    """Returns the indices of the pairs whose clusters are each other's nearest."""
    nearest_distance = np.full(count, np.inf)
    np.minimum.at(nearest_distance, pairs.first, pairs.distance)
    np.minimum.at(nearest_distance, pairs.second, pairs.distance)
    lowest_tie_breaker = np.full(count, np.iinfo(np.int64).max)
    for clusters in (pairs.first, pairs.second):
        is_nearest = pairs.distance == nearest_distance[clusters]
        np.minimum.at(lowest_tie_breaker, clusters[is_nearest], pairs.farthest[is_nearest])
    tie_breakers = pairs.farthest
    return np.flatnonzero(
        (lowest_tie_breaker[pairs.first] == tie_breakers)
        & (lowest_tie_breaker[pairs.second] == tie_breakers)
    )


def _apply_merges(pairs: Pairs, mutual_pairs: IndexArray, count: int) -> Pairs:
    """Returns the remaining pairs after merging those at the indices ``mutual_pairs``."""
    merged_into = np.arange(count)
    merged_into[pairs.second[mutual_pairs]] = pairs.first[mutual_pairs]
    part_counts = np.ones(count, np.int64)
    part_counts[pairs.first[mutual_pairs]] = 2
    first, second = merged_into[pairs.first], merged_into[pairs.second]
    is_affected = (part_counts[first] > 1) | (part_counts[second] > 1)
    unaffected = pairs.select_pairs(~is_affected)
    is_affected &= first != second  # the two parts of a merged cluster are no pair any more
    if not is_affected.any():
        return unaffected
    affected = pairs.select_pairs(is_affected)
    first, second = first[is_affected], second[is_affected]
    affected = affected._replace(first=np.minimum(first, second), second=np.maximum(first, second))
    affected = affected.select_pairs(
        np.lexsort((affected.farthest, affected.distance, affected.second, affected.first))
    )
    is_border = (np.diff(affected.first) != 0) | (np.diff(affected.second) != 0)
    # The last of several pairs of the same clusters is the farthest.
    last_rows = np.append(np.flatnonzero(is_border), len(is_border))
    pair_counts = np.diff(np.append(-1, last_rows))
    affected = affected.select_pairs(last_rows)
    # If a pair of parts is missing, it is too far apart, and so are the merged clusters.
    affected = affected.select_pairs(
        pair_counts == part_counts[affected.first] * part_counts[affected.second]
    )
    return Pairs(*(np.concatenate(arrays) for arrays in zip(unaffected, affected, strict=True)))
