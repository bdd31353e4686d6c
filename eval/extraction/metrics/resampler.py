"""Resamples the sums of many parts of a run in a single pass over the bootstrap weights.

All metrics, breakdowns and systems use the same resamples of the samples. A part (a domain, a type,
a field name) only stores the samples that it occurs in; the others would add 0 to its sums. With
many samples, generating the weights dominates the run time, so it is done once for all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.stats.bootstrap import ClusterResamples, Floats, ResampledCounts, Weights

_MAX_EXACT_FLOAT32 = 2**24
_MAX_WEIGHTS_PER_PIECE = 4_000_000


@dataclass(frozen=True)
class RunPart:
    """Counts by sample of one part of a run.

    Attributes:
        positions: indexes of its samples, ascending, shape (n,); ``None`` for all samples.
        table: counts of each sample, shape (n, columns); in single precision where that is exact,
            since all parts are in memory at the same time.
    """

    positions: NDArray[np.int64] | None
    table: NDArray[np.floating[Any]]

    def with_sums(self, sums: Floats) -> ResampledCounts:
        """Returns the counts together with their resampled sums, in double precision."""
        return ResampledCounts(self.table.astype(np.float64, copy=False), sums)


class _PartSums:
    """The resampled sums of one part, filled piece by piece."""

    def __init__(self, part: RunPart, resamples: ClusterResamples) -> None:
        table = part.table
        # A part with all samples needs no indexing, which would copy the whole weight matrix.
        has_all_samples = part.positions is None or len(part.positions) == resamples.n_clusters
        self.positions = None if has_all_samples else part.positions
        self.sums = np.zeros((resamples.n_resamples, table.shape[1]))
        is_nonzero = table.any(axis=0)
        # Single precision is twice as fast, and exact while no sum can reach 2**24.
        max_counts = np.abs(table).max(axis=0, initial=0.0)
        stays_exact = max_counts * resamples.n_clusters < _MAX_EXACT_FLOAT32
        is_exact = is_nonzero & stays_exact & (table == np.floor(table)).all(axis=0)
        self.single_columns = np.flatnonzero(is_exact)
        self.double_columns = np.flatnonzero(is_nonzero & ~is_exact)
        all_single = len(self.single_columns) == table.shape[1]
        single_table = table if all_single else table[:, self.single_columns]
        self.single_table = single_table.astype(np.float32, copy=False)
        self.double_table = table[:, self.double_columns].astype(np.float64, copy=False)

    def fill_rows(self, rows: slice, weights: Weights) -> None:
        """Computes the sums of some resamples.

        Args:
            rows: the positions of these resamples.
            weights: how often each contains each sample, shape (resamples, samples).
        """
        part_weights = weights if self.positions is None else weights[:, self.positions]
        if self.single_columns.size:
            self.sums[rows, self.single_columns] = part_weights @ self.single_table
        if self.double_columns.size:
            self.sums[rows, self.double_columns] = (
                part_weights.astype(np.float64) @ self.double_table
            )


def resample_parts(parts: Sequence[RunPart], resamples: ClusterResamples) -> list[Floats]:
    """Computes every part's sums in each resample, shape (resamples, columns), in order."""
    sums = [_PartSums(part, resamples) for part in parts]
    for rows, weights in SlicedResamples(resamples).iter_weights():
        for part_sums in sums:
            part_sums.fill_rows(rows, weights)
    return [part_sums.sums for part_sums in sums]


class SlicedResamples(ClusterResamples):
    """The same resamples in smaller pieces, to bound the memory of work done on each piece.

    Args:
        resamples: the resamples to split.
    """

    def __init__(self, resamples: ClusterResamples) -> None:
        super().__init__(resamples.n_clusters, resamples.n_resamples, resamples.seed)
        self._resamples = resamples

    def iter_weights(self) -> Iterator[tuple[slice, Weights]]:
        """Yields consecutive resamples with their weights, about four million weights at a time."""
        step = max(1, _MAX_WEIGHTS_PER_PIECE // max(self.n_clusters, 1))
        for rows, weights in self._resamples.iter_weights():
            for start in range(0, len(weights), step):
                piece = weights[start : start + step]
                yield slice(rows.start + start, rows.start + start + len(piece)), piece
