"""Counts of many parts of a run, resampled in a single walk over the draws.

One stream of draws over all samples serves every metric, breakdown and system. A part (a domain, a
type, a name) only holds the samples that it occurs in: the others would add nothing to its sums.
Drawing is most of the work where samples are many, so it is done once for all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.intervals import Draws, Floats, Resampled, Weights

_EXACT_IN_FLOAT32 = 2**24
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Part:
    """Counts of the samples that a part of a run is about.

    Attributes:
        places: which samples, ascending, shape (n,); ``None``: all of them.
        table: counts of each, shape (n, columns); in single precision where that is exact, since
            all parts are held at once.
    """

    places: NDArray[np.int64] | None
    table: NDArray[np.floating[Any]]

    def with_sums(self, sums: Floats) -> Resampled:
        """The counts beside their resampled sums, in double precision."""
        return Resampled(self.table.astype(np.float64, copy=False), sums)


class _Sums:
    """A part's sums, filled piece by piece."""

    def __init__(self, part: Part, draws: Draws) -> None:
        table = part.table
        # A part that all samples are in needs no choosing, which would copy every weight.
        every = part.places is None or len(part.places) == draws.clusters
        self.places = None if every else part.places
        self.found = np.zeros((draws.resamples, table.shape[1]))
        used = table.any(axis=0)
        # Single precision is twice as fast, and exact while no sum can reach 2**24.
        largest = np.abs(table).max(axis=0, initial=0.0)
        small = largest * draws.clusters < _EXACT_IN_FLOAT32
        whole = used & small & (table == np.floor(table)).all(axis=0)
        self.single = np.flatnonzero(whole)
        self.double = np.flatnonzero(used & ~whole)
        alone = len(self.single) == table.shape[1]
        chosen = table if alone else table[:, self.single]
        self.in_single = chosen.astype(np.float32, copy=False)
        self.in_double = table[:, self.double].astype(np.float64, copy=False)

    def fill(self, rows: slice, times: Weights) -> None:
        chosen = times if self.places is None else times[:, self.places]
        if self.single.size:
            self.found[rows, self.single] = chosen @ self.in_single
        if self.double.size:
            self.found[rows, self.double] = chosen.astype(np.float64) @ self.in_double


def resampled(parts: Sequence[Part], draws: Draws) -> list[Floats]:
    """Every part's sums over the samples drawn, shape (resamples, columns), in order."""
    sums = [_Sums(part, draws) for part in parts]
    for rows, times in Slices(draws).pieces():
        for one in sums:
            one.fill(rows, times)
    return [one.found for one in sums]


class Slices(Draws):
    """The same draws in pieces that stay small, for work that needs room for every draw.

    Args:
        whole: the draws.
    """

    def __init__(self, whole: Draws) -> None:
        super().__init__(whole.clusters, whole.resamples, whole.seed)
        self._whole = whole

    def pieces(self) -> Iterator[tuple[slice, Weights]]:
        """Consecutive resamples and their weights, some four million at a time."""
        step = max(1, _AT_ONCE // max(self.clusters, 1))
        for rows, times in self._whole.pieces():
            for start in range(0, len(times), step):
                piece = times[start : start + step]
                yield slice(rows.start + start, rows.start + start + len(piece)), piece
