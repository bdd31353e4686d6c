"""The threshold join: every pair of clusters that lie wholly within a distance, never a matrix.

Similarities are products of blocks of rows in 32 bits, which only propose; each pair proposed is
measured again in 64 bits by SciPy's own cosine distance. So the distances are, to the last bit,
those of a dense ``scipy.cluster.hierarchy.linkage(metric="cosine")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]
Watch: TypeAlias = Callable[[int, int], None]
"""Is told how many rows are done, and of how many."""

BLOCK = 8 * 1024 * 1024
"""Similarities that are computed at once: 32 MiB of them."""
MOST_PAIRS = 2_000_000
"""Pairs that are held at once, 64 MB of them; of more, the closest half goes first."""
_MEASURED = 1024
"""Rows whose distances to as many others are measured at once."""


class Pairs(NamedTuple):
    """Pairs of clusters; arrays of one length."""

    first: Places
    """The cluster with the lower number."""
    second: Places
    distance: Doubles
    """The greatest cosine distance between a member of one and a member of the other."""
    farthest: Places
    """Which two rows have that distance: a number that no other pair of rows has. It tells equally
    distant pairs apart; of several such rows the greatest number."""

    def at(self, places: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Pairs:
        """The pairs at some places, in their order."""
        return Pairs(
            self.first[places], self.second[places], self.distance[places], self.farthest[places]
        )


def similar_pairs(
    vectors: Floats,
    numbers: Places,
    starts: Places,
    most_distant: float,
    most_pairs: int = MOST_PAIRS,
    watch: Watch = lambda _done, _total: None,
) -> tuple[Pairs, bool]:
    """All pairs of clusters whose farthest members are within a distance of each other.

    Args:
        vectors: shape (rows, dimensions), rows of length 1; each cluster is a run of rows.
        numbers: of the rows, from 0, each once; equal distances are ordered by them.
        starts: first row of each cluster, ascending from 0.
        most_distant: the greatest cosine distance (1 − cosine) a pair may have.
        most_pairs: when there are more, only the closest of them are returned, so many at most.
        watch: is told of the progress.

    Returns:
        The pairs in no particular order, and whether they are all there are.
    """
    none = np.empty(0, np.int64)
    found, whole, count = [Pairs(none, none, np.empty(0, np.float64), none)], True, 0
    last_of_all = np.iinfo(np.int64).max
    ends = np.append(starts[1:], len(vectors))
    for first, last in _blocks(starts, ends, max(1, BLOCK // max(1, len(vectors)))):
        for one, others in _proposed(vectors, starts, ends, first, last, most_distant):
            pairs = _measured(vectors, numbers, starts, ends, one, others)
            near = pairs.distance < most_distant
            near |= (pairs.distance == most_distant) & (pairs.farthest <= last_of_all)
            found.append(pairs.at(near))
            count += len(found[-1].first)
            if count > most_pairs:
                found, whole = [_closest(_joined(found), max(1, most_pairs // 2))], False
                # What comes later must not be farther away than what was dropped.
                most_distant, last_of_all = found[0].distance[-1], found[0].farthest[-1]
                count = len(found[0].first)
        found = [_joined(found)]
        watch(int(ends[last - 1]), len(vectors))
    return found[0], whole


def _blocks(starts: Places, ends: Places, rows: int) -> Iterator[tuple[int, int]]:
    """Runs of clusters with at most ``rows`` rows together, or of one cluster."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + rows, side="right"))
        last = max(last, first + 1)
        yield first, last
        first = last


def _proposed(
    vectors: Floats, starts: Places, ends: Places, first: int, last: int, most_distant: float
) -> Iterator[tuple[int, Places]]:
    """Each cluster of a block with the later clusters that may be near enough."""
    low, high = int(starts[first]), int(ends[last - 1])
    columns = starts[first:] - low
    # Products of 32-bit rows of length 1 are off by less than a rounding per dimension; rows
    # that are themselves rounded add two more.
    slack = (vectors.shape[1] + 8) * float(np.finfo(np.float32).eps)
    least = np.float32(1.0 - most_distant - slack)
    similar: Floats | None = None
    rows = max(1, BLOCK // max(1, len(vectors)))
    for row in range(low, high, rows):  # more than one turn only for a cluster larger than a block
        part = vectors[row : min(row + rows, high)] @ vectors[low:].T
        if len(columns) < part.shape[1]:
            part = np.minimum.reduceat(part, columns, axis=1)
        if last - first < len(part):
            inside = starts[first:last] - low if last - first > 1 else np.zeros(1, np.int64)
            part = np.minimum.reduceat(part, inside, axis=0)
        similar = part if similar is None else np.minimum(similar, part)
    assert similar is not None
    for place, row_of in enumerate(similar, start=1):
        others = np.flatnonzero(row_of[place:] >= least)
        if len(others):
            yield first + place - 1, first + place + others


def _measured(
    vectors: Floats, numbers: Places, starts: Places, ends: Places, one: int, others: Places
) -> Pairs:
    """A cluster with others, and how far apart their farthest members are.

    Args:
        vectors: shape (rows, dimensions).
        numbers: of the rows.
        starts: first row of each cluster.
        ends: the row after each cluster's last.
        one: a cluster.
        others: clusters, ascending.
    """
    sizes = ends[others] - starts[others]
    edges = np.concatenate(([0], np.cumsum(sizes)))
    rows = np.repeat(starts[others] - edges[:-1], sizes) + np.arange(edges[-1])
    greatest, farthest = np.full(len(rows), -1.0), np.full(len(rows), -1)
    for down in range(starts[one], ends[one], _MEASURED):
        mine = slice(down, min(down + _MEASURED, ends[one]))
        for along in range(0, len(rows), _MEASURED):
            place = slice(along, along + _MEASURED)
            yours = rows[place]
            distances = cdist(
                vectors[mine].astype(np.float64), vectors[yours].astype(np.float64), "cosine"
            )
            low = np.minimum.outer(numbers[mine], numbers[yours])
            high = np.maximum.outer(numbers[mine], numbers[yours])
            distances = np.vstack((greatest[place], distances))
            which = np.vstack((farthest[place], low * len(vectors) + high))
            greatest[place] = distances.max(axis=0)
            farthest[place] = np.where(distances == greatest[place], which, -1).max(axis=0)
    distance = np.maximum.reduceat(greatest, edges[:-1])
    reached = greatest == np.repeat(distance, sizes)
    farthest = np.maximum.reduceat(np.where(reached, farthest, -1), edges[:-1])
    return Pairs(np.full(len(others), one), others, distance, farthest)


def _joined(parts: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _closest(pairs: Pairs, most: int) -> Pairs:
    """The closest pairs, the closest first; equally close ones by their farthest rows."""
    return pairs.at(np.lexsort((pairs.farthest, pairs.distance))[:most])
