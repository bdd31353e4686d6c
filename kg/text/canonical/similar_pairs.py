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
    """A number that identifies the two rows with that distance; the greatest if several have it.
    It breaks ties between pairs of equal distance."""

    def select_pairs(self, indices: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Pairs:
        """Returns the pairs at some indices, in their order, or those of a mask."""
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
    none = np.empty(0, np.int64)
    blocks, is_complete, count = [Pairs(none, none, np.empty(0, np.float64), none)], True, 0
    last_of_all = np.iinfo(np.int64).max
    ends = np.append(starts[1:], len(vectors))
    for first, last in _iter_blocks(starts, ends, max(1, BLOCK_SIZE // max(1, len(vectors)))):
        for cluster, others in _propose_pairs(vectors, starts, ends, first, last, max_distance):
            pairs = _measure_pairs(vectors, numbers, starts, ends, cluster, others)
            near = pairs.distance < max_distance
            near |= (pairs.distance == max_distance) & (pairs.farthest <= last_of_all)
            blocks.append(pairs.select_pairs(near))
            count += len(blocks[-1].first)
            if count > max_pairs:
                blocks, is_complete = (
                    [_select_closest(_concatenate_pairs(blocks), max(1, max_pairs // 2))],
                    False,
                )
                # Tighten the limit to the farthest kept pair: a later pair beyond it must not be
                # kept when closer ones were dropped.
                max_distance, last_of_all = blocks[0].distance[-1], blocks[0].farthest[-1]
                count = len(blocks[0].first)
        blocks = [_concatenate_pairs(blocks)]
        on_progress(int(ends[last - 1]), len(vectors))
    return blocks[0], is_complete


def _iter_blocks(starts: IndexArray, ends: IndexArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of clusters with at most ``rows`` rows in total, or of one larger cluster."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + rows, side="right"))
        last = max(last, first + 1)
        yield first, last
        first = last


def _propose_pairs(
    vectors: FloatArray,
    starts: IndexArray,
    ends: IndexArray,
    first: int,
    last: int,
    max_distance: float,
) -> Iterator[tuple[int, IndexArray]]:
    """Yields each cluster of a block with the later clusters that may be near enough."""
    low, high = int(starts[first]), int(ends[last - 1])
    columns = starts[first:] - low
    # Bounds the rounding error, so that no pair is missed: at most one rounding per dimension of
    # a 32-bit product, and a few more for the rounded rows themselves.
    slack = (vectors.shape[1] + 8) * float(np.finfo(np.float32).eps)
    min_cosine = np.float32(1.0 - max_distance - slack)
    similar: FloatArray | None = None
    rows = max(1, BLOCK_SIZE // max(1, len(vectors)))
    for row in range(low, high, rows):  # several iterations only for a cluster larger than a block
        part = vectors[row : min(row + rows, high)] @ vectors[low:].T
        if len(columns) < part.shape[1]:
            part = np.minimum.reduceat(part, columns, axis=1)
        if last - first < len(part):
            inside = starts[first:last] - low if last - first > 1 else np.zeros(1, np.int64)
            part = np.minimum.reduceat(part, inside, axis=0)
        similar = part if similar is None else np.minimum(similar, part)
    assert similar is not None
    for place, row_of in enumerate(similar, start=1):
        others = np.flatnonzero(row_of[place:] >= min_cosine)
        if len(others):
            yield first + place - 1, first + place + others


def _measure_pairs(
    vectors: FloatArray,
    numbers: IndexArray,
    starts: IndexArray,
    ends: IndexArray,
    one: int,
    others: IndexArray,
) -> Pairs:
    """Computes the exact distances of a cluster to others: those of their farthest members.

    Args:
        vectors: shape (rows, dimensions).
        numbers: number of each row, for breaking ties.
        starts: first row of each cluster.
        ends: the row after each cluster's last.
        one: a cluster.
        others: clusters, ascending.
    """
    sizes = ends[others] - starts[others]
    edges = np.concatenate(([0], np.cumsum(sizes)))
    rows = np.repeat(starts[others] - edges[:-1], sizes) + np.arange(edges[-1])
    greatest, farthest = np.full(len(rows), -1.0), np.full(len(rows), -1)
    for down in range(starts[one], ends[one], _DISTANCE_BLOCK_SIZE):
        row_block = slice(down, min(down + _DISTANCE_BLOCK_SIZE, ends[one]))
        for along in range(0, len(rows), _DISTANCE_BLOCK_SIZE):
            place = slice(along, along + _DISTANCE_BLOCK_SIZE)
            column_block = rows[place]
            distances = cdist(
                vectors[row_block].astype(np.float64),
                vectors[column_block].astype(np.float64),
                "cosine",
            )
            low = np.minimum.outer(numbers[row_block], numbers[column_block])
            high = np.maximum.outer(numbers[row_block], numbers[column_block])
            distances = np.vstack((greatest[place], distances))
            identifiers = np.vstack((farthest[place], low * len(vectors) + high))
            greatest[place] = distances.max(axis=0)
            farthest[place] = np.where(distances == greatest[place], identifiers, -1).max(axis=0)
    distance = np.maximum.reduceat(greatest, edges[:-1])
    reached = greatest == np.repeat(distance, sizes)
    farthest = np.maximum.reduceat(np.where(reached, farthest, -1), edges[:-1])
    return Pairs(np.full(len(others), one), others, distance, farthest)


def _concatenate_pairs(parts: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _select_closest(pairs: Pairs, count: int) -> Pairs:
    """Returns the closest pairs in order of distance, ties broken by their farthest rows."""
    return pairs.select_pairs(np.lexsort((pairs.farthest, pairs.distance))[:count])
