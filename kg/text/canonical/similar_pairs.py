"""Finds all pairs of clusters within a distance without a full distance matrix (threshold join).

Candidates are found by 32-bit matrix products of blocks of rows; the distance of each candidate
pair is then computed in 64 bits by SciPy's cosine distance. So the distances are bit for bit those
of a dense ``scipy.cluster.hierarchy.linkage(metric="cosine")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

FloatArray: TypeAlias = npt.NDArray[np.float32]
DoubleArray: TypeAlias = npt.NDArray[np.float64]
IndexArray: TypeAlias = npt.NDArray[np.int64]
ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called with the number of rows done so far, and of all rows."""

BLOCK_SIZE = 8 * 1024 * 1024
"""Number of similarities computed at once: 32 MiB."""
MAX_PAIRS = 2_000_000
"""Maximum number of pairs held in memory: 64 MB. If exceeded, the closest half is kept."""
_DISTANCE_BLOCK_SIZE = 1024
"""Rows and columns of a block of exact distances."""


class Pairs(NamedTuple):
    """Pairs of clusters, as arrays of equal length."""

    first: IndexArray
    """The cluster with the lower number."""
    second: IndexArray
    distance: DoubleArray
    """The greatest cosine distance between a member of one cluster and a member of the other."""
    farthest: IndexArray
    """A number that identifies the two rows with that distance; the greatest such number if several
    rows have it. It breaks ties between pairs of equal distance."""

    def select_pairs(self, indices: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Pairs:
        """Returns the pairs at the indices, in the order of the indices, or the pairs of a mask."""
        return Pairs(
            self.first[indices],
            self.second[indices],
            self.distance[indices],
            self.farthest[indices],
        )


def find_similar_pairs(
    vectors: FloatArray,
    numbers: IndexArray,
    starts: IndexArray,
    max_distance: float,
    max_pairs: int = MAX_PAIRS,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> tuple[Pairs, bool]:
    """Finds all pairs of clusters whose farthest members are within a distance of each other.

    Args:
        vectors: shape (rows, dimensions), rows of length 1; each cluster is a range of rows.
        numbers: a number for each row, from 0, each once; used to break ties between distances.
        starts: first row of each cluster, ascending from 0.
        max_distance: maximum cosine distance (1 − cosine) of a pair.
        max_pairs: if there are more pairs, only the closest are returned, at most this many.
        on_progress: called after each block.

    Returns:
        The pairs in no particular order, and whether they are complete.
    """
    no_indices = np.empty(0, np.int64)
    blocks = [Pairs(no_indices, no_indices, np.empty(0, np.float64), no_indices)]
    is_complete, count = True, 0
    max_identifier = np.iinfo(np.int64).max
    ends = np.append(starts[1:], len(vectors))
    for first, stop in _iter_blocks(starts, ends, max(1, BLOCK_SIZE // max(1, len(vectors)))):
        for cluster, other_clusters in _propose_pairs(
            vectors, starts, ends, first, stop, max_distance
        ):
            pairs = _measure_pairs(vectors, numbers, starts, ends, cluster, other_clusters)
            is_near = pairs.distance < max_distance
            is_near |= (pairs.distance == max_distance) & (pairs.farthest <= max_identifier)
            blocks.append(pairs.select_pairs(is_near))
            count += len(blocks[-1].first)
            if count > max_pairs:
                closest = _select_closest(_concatenate_pairs(blocks), max(1, max_pairs // 2))
                blocks, is_complete = [closest], False
                # Tighten the limit to the farthest remaining pair: a later pair beyond it must not
                # be added, because closer ones were dropped.
                max_distance, max_identifier = blocks[0].distance[-1], blocks[0].farthest[-1]
                count = len(blocks[0].first)
        blocks = [_concatenate_pairs(blocks)]
        on_progress(int(ends[stop - 1]), len(vectors))
    return blocks[0], is_complete


def _iter_blocks(starts: IndexArray, ends: IndexArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yields (first, stop) of ranges of clusters with at most ``rows`` rows in total.

    A larger cluster is a range of its own.
    """
    first = 0
    while first < len(starts):
        stop = int(np.searchsorted(ends, starts[first] + rows, side="right"))
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def _propose_pairs(
    vectors: FloatArray,
    starts: IndexArray,
    ends: IndexArray,
    first: int,
    stop: int,
    max_distance: float,
) -> Iterator[tuple[int, IndexArray]]:
    """Yields each cluster from ``first`` to ``stop`` with the later clusters that may be near.

    The similarity of two clusters is that of their least similar rows.
    """
    low, high = int(starts[first]), int(ends[stop - 1])
    columns = starts[first:] - low
    # Bounds the rounding error, so that no pair is missed: at most one rounding per dimension of
    # a 32-bit product, and a few more for the rounded rows themselves.
    slack = (vectors.shape[1] + 8) * float(np.finfo(np.float32).eps)
    min_cosine = np.float32(1.0 - max_distance - slack)
    similarity: FloatArray | None = None
    rows = max(1, BLOCK_SIZE // max(1, len(vectors)))
    # The loop has several iterations only for a cluster that is larger than a block.
    for row_start in range(low, high, rows):
        block = vectors[row_start : min(row_start + rows, high)] @ vectors[low:].T
        if len(columns) < block.shape[1]:
            block = np.minimum.reduceat(block, columns, axis=1)
        if stop - first < len(block):
            cluster_offsets = (
                starts[first:stop] - low if stop - first > 1 else np.zeros(1, np.int64)
            )
            block = np.minimum.reduceat(block, cluster_offsets, axis=0)
        similarity = block if similarity is None else np.minimum(similarity, block)
    assert similarity is not None
    for offset, similarities in enumerate(similarity, start=1):
        later_clusters = np.flatnonzero(similarities[offset:] >= min_cosine)
        if len(later_clusters):
            yield first + offset - 1, first + offset + later_clusters


def _measure_pairs(
    vectors: FloatArray,
    numbers: IndexArray,
    starts: IndexArray,
    ends: IndexArray,
    cluster: int,
    other_clusters: IndexArray,
) -> Pairs:
    """Computes the exact distances of a cluster to other clusters.

    The distance of two clusters is that of their farthest members.

    Args:
        vectors: shape (rows, dimensions).
        numbers: number of each row, for breaking ties.
        starts: first row of each cluster.
        ends: the row after each cluster's last.
        cluster: number of a cluster.
        other_clusters: numbers of the other clusters, ascending.
    """
    # `rows` are the rows of all other clusters; those of one cluster begin at its `offsets` entry.
    sizes = ends[other_clusters] - starts[other_clusters]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows = np.repeat(starts[other_clusters] - offsets[:-1], sizes) + np.arange(offsets[-1])
    greatest, farthest = np.full(len(rows), -1.0), np.full(len(rows), -1)
    for row_start in range(starts[cluster], ends[cluster], _DISTANCE_BLOCK_SIZE):
        row_block = slice(row_start, min(row_start + _DISTANCE_BLOCK_SIZE, ends[cluster]))
        for column_start in range(0, len(rows), _DISTANCE_BLOCK_SIZE):
            columns = slice(column_start, column_start + _DISTANCE_BLOCK_SIZE)
            column_block = rows[columns]
            distances = cdist(
                vectors[row_block].astype(np.float64),
                vectors[column_block].astype(np.float64),
                "cosine",
            )
            lower_numbers = np.minimum.outer(numbers[row_block], numbers[column_block])
            higher_numbers = np.maximum.outer(numbers[row_block], numbers[column_block])
            distances = np.vstack((greatest[columns], distances))
            identifiers = np.vstack(
                (farthest[columns], lower_numbers * len(vectors) + higher_numbers)
            )
            greatest[columns] = distances.max(axis=0)
            candidates = np.where(distances == greatest[columns], identifiers, -1)
            farthest[columns] = candidates.max(axis=0)
    distance = np.maximum.reduceat(greatest, offsets[:-1])
    is_greatest = greatest == np.repeat(distance, sizes)
    farthest = np.maximum.reduceat(np.where(is_greatest, farthest, -1), offsets[:-1])
    return Pairs(np.full(len(other_clusters), cluster), other_clusters, distance, farthest)


def _concatenate_pairs(parts: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _select_closest(pairs: Pairs, count: int) -> Pairs:
    """Returns the closest pairs in order of distance, ties broken by their farthest rows."""
    return pairs.select_pairs(np.lexsort((pairs.farthest, pairs.distance))[:count])
