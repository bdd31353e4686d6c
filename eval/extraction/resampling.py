"""Counts of many parts of a run, resampled in a single walk over the draws.

One stream of draws over all samples serves every metric, breakdown and system. A part (a domain, a
type, a name) only holds the samples that it occurs in: the others would add nothing to its sums.
Drawing is most of the work where samples are many, so it is done once for all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
        table: counts of each, shape (n, columns).
    """

    places: NDArray[np.int64] | None
    table: Floats

    def sums(self, times: Weights, *, exact: bool) -> Floats:
        """Sums over the samples drawn, shape (resamples, columns).

        Args:
            times: how often each sample of the run comes up, shape (resamples, samples).
            exact: whether single precision, twice as fast, loses nothing.
        """
        chosen = times if self.places is None else times[:, self.places]
        if exact:
            return (chosen @ self.table.astype(np.float32)).astype(np.float64)
        found: Floats = chosen.astype(np.float64) @ self.table
        return found

    def exact_in_single(self, samples: int) -> bool:
        """Whether all counts are whole and no sum over ``samples`` draws can reach 2**24."""
        largest = float(np.abs(self.table).max(initial=0.0))
        whole = bool((self.table == np.floor(self.table)).all())
        return whole and largest * samples < _EXACT_IN_FLOAT32


def resampled(parts: Sequence[Part], draws: Draws) -> list[Resampled]:
    """Every part's sums over the samples drawn, in the order of the parts."""
    sums = [np.zeros((draws.resamples, part.table.shape[1])) for part in parts]
    exact = [part.exact_in_single(draws.clusters) for part in parts]
    for rows, times in Slices(draws).pieces():
        for part, total, single in zip(parts, sums, exact, strict=True):
            if len(part.table):
                total[rows] = part.sums(times, exact=single)
    return [Resampled(part.table, total) for part, total in zip(parts, sums, strict=True)]


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
