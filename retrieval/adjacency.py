"""A weighted undirected graph as arrays, and two ways to spread from some of its nodes.

Compressed sparse rows: the neighbours of node ``v`` are ``ends[starts[v]:starts[v + 1]]``. A query
walks over the rows that it touches, whatever the size of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]

PRECISION = 1e-3
"""Share of the walk's time, over all nodes, that ``pagerank`` may leave unplaced …"""
LEAST_TOLERANCE = 3e-7
"""… unless the degrees sum to more than 3,333, as those of all but small graphs do: then this, per
unit of a node's degree, bounds the work first, and the share left unplaced may be larger."""
_DENSE = 8
"""From an eighth of all edges on, one product with the whole matrix is quicker than picking."""


class Adjacency:
    """An undirected graph without loops.

    Args:
        nodes: how many.
        edges: (node, node, weight) of each edge, once; weights greater than 0.

    Attributes:
        starts: shape (nodes + 1,).
        ends: shape (2 · edges,).
        weights: shape (2 · edges,).
        degrees: of each node the sum of its edges' weights.
    """

    def __init__(self, nodes: int, edges: Iterable[tuple[int, int, float]]) -> None:
        rows = np.fromiter(
            (value for edge in edges for value in edge), dtype=np.float64, count=-1
        ).reshape(-1, 3)
        one, other = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        begins, ends = np.concatenate((one, other)), np.concatenate((other, one))
        weights = np.concatenate((rows[:, 2], rows[:, 2]))
        order = np.lexsort((ends, begins))
        self.starts = offsets(np.bincount(begins, minlength=nodes))
        self.ends: Places = ends[order]
        self.weights: Numbers = weights[order]
        self.degrees: Numbers = sums(begins, weights, nodes)
        self._heaviest = float(weights.max(initial=1.0))

    def __len__(self) -> int:
        return len(self.degrees)

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array((self.weights, self.ends, self.starts), shape=(len(self), len(self)))

    def prepare(self) -> None:
        """Makes now what the first ``pagerank`` would otherwise wait for."""
        _ = self._matrix

    def around(self, seeds: Places, hops: int, decay: float) -> Iterator[tuple[Places, Numbers]]:
        """Spreads step by step, each node once, at the distance at which it is first met.

        A seed has the strength 1. At ``h`` hops a node has ``decay^h · Π w/max_w`` over the edges
        of a path of ``h`` edges from a seed, of all such paths the strongest: a node does not gain
        by being met from several sides, and a weak first step weakens all that lies behind it.

        Args:
            seeds: nodes, each once, in ascending order.
            hops: steps at most.
            decay: what is left of the strength after a step along the heaviest edge.

        Yields:
            Nodes in ascending order and their strengths: the seeds, then those at 1 hop, …
        """
        met = np.zeros(len(self), dtype=bool)
        frontier, strengths = seeds, np.ones(len(seeds))
        best = np.zeros(len(self))
        for hop in range(hops + 1):
            if hop:
                edges, origins = rows_of(self.starts, frontier)
                targets = self.ends[edges]
                passed = strengths[origins] * (decay * self.weights[edges] / self._heaviest)
                fresh = ~met[targets]
                np.maximum.at(best, targets[fresh], passed[fresh])
                new = np.zeros(len(self), dtype=bool)
                new[targets[fresh]] = True
                frontier = np.flatnonzero(new)
                strengths = best[frontier]
            if not len(frontier):
                return
            met[frontier] = True
            yield frontier, strengths

    def pagerank(self, seeds: Places, damping: float) -> tuple[Places, Numbers]:
        """Personalised PageRank: where a walk is that now and then starts again at a seed.

        By pushing residuals (R. Andersen, F. Chung, K. Lang, Local graph partitioning using
        PageRank vectors, FOCS 2006), here without their laziness. Every figure is too small by at
        most ``tolerance · degree``, where ``tolerance`` is ``PRECISION`` over the sum of all
        degrees, but at least ``LEAST_TOLERANCE``; so the work is bounded, however large the graph.

        Args:
            seeds: nodes, each once, in ascending order; the walk starts at each alike.
            damping: chance of a further step, in [0, 1). From a node without edges the walk starts
                again.

        Returns:
            Nodes reached, in ascending order, and the share of time spent at each.
        """
        if not len(seeds):
            return seeds, np.zeros(0)
        placed, residual = np.zeros(len(self)), np.zeros(len(self))
        # A walk that starts at a node without edges is back at the start at once, in a closed form.
        alone = self.degrees[seeds] == 0
        start = 1.0 / (len(seeds) - damping * alone.sum())
        placed[seeds[alone]] = (1 - damping) * start
        residual[seeds[~alone]] = start
        tolerance = max(PRECISION / max(float(self.degrees.sum()), 1.0), LEAST_TOLERANCE)
        limit = tolerance * self.degrees
        while len(active := np.flatnonzero(residual > limit)):
            mass = residual[active]
            residual[active] = 0.0
            placed[active] += (1 - damping) * mass
            residual += self._spread(active, damping * mass / self.degrees[active])
        reached = np.flatnonzero(placed)
        return reached, placed[reached]

    def _spread(self, nodes: Places, flow: Numbers) -> Numbers:
        """What all nodes receive when each of ``nodes`` sends ``flow`` per unit of weight."""
        size = int((self.starts[nodes + 1] - self.starts[nodes]).sum())
        if size * _DENSE > len(self.ends):
            sent = np.zeros(len(self))
            sent[nodes] = flow
            return np.asarray(self._matrix @ sent)
        edges, origins = rows_of(self.starts, nodes)
        return sums(self.ends[edges], flow[origins] * self.weights[edges], len(self))


def sums(places: Places, amounts: Numbers, size: int) -> Numbers:
    """The amounts that fall on each of ``size`` places, added in their order."""
    return np.asarray(np.bincount(places, weights=amounts, minlength=size), dtype=np.float64)


def offsets(counts: npt.NDArray[np.int64]) -> Places:
    """Where each of several rows begins that stand one behind the other, and the last one ends."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def rows_of(starts: Places, rows: Places) -> tuple[Places, Places]:
    """The places of all entries of some rows, and for each the number of its row among ``rows``."""
    first = starts[rows]
    counts = starts[rows + 1] - first
    origins = np.repeat(np.arange(len(rows)), counts)
    shift = first - (np.cumsum(counts) - counts)
    return np.arange(len(origins)) + shift[origins], origins
