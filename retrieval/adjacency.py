"""Stores a weighted undirected graph in arrays and spreads scores from some of its nodes.

Compressed sparse rows: the neighbours of node ``v`` are ``ends[starts[v]:starts[v + 1]]``. The cost
of a query depends on the rows that it visits, not on the size of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Indices = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

PRECISION = 1e-3
"""Total probability, over all nodes, that ``compute_pagerank`` may leave undistributed."""
MIN_TOLERANCE = 3e-7
"""Lower bound of the tolerance, which is otherwise ``PRECISION / sum of degrees``.

It limits the work on large graphs, whose sum of degrees is above ``PRECISION / MIN_TOLERANCE``
(3,333). On these the undistributed probability may exceed ``PRECISION``."""
MAX_PAGERANK_ERROR = 1e-10
MAX_ITERATIONS = 200
"""Limits of ``compute_weighted_pagerank``; a damping of 0.5 needs about 35 iterations."""
_DENSE_RATIO = 8
"""If a step uses more than one in this many edges, a product with the whole matrix is faster."""


class Adjacency:
    """An undirected graph without loops.

    Args:
        nodes: number of nodes.
        edges: (node, node, weight) of each edge, once; weights greater than 0.

    Attributes:
        starts: where each node's row begins, shape (nodes + 1,).
        ends: the neighbour at the end of each edge, shape (2 · edges,).
        weights: the weight of each edge, shape (2 · edges,).
        degrees: the sum of the weights of each node's edges, shape (nodes,).
    """

    def __init__(self, nodes: int, edges: Iterable[tuple[int, int, float]]) -> None:
        rows = np.fromiter(
            (value for edge in edges for value in edge), dtype=np.float64, count=-1
        ).reshape(-1, 3)
        left, right = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        # Each undirected edge is stored in both directions.
        begins, ends = np.concatenate((left, right)), np.concatenate((right, left))
        weights = np.concatenate((rows[:, 2], rows[:, 2]))
        order = np.lexsort((ends, begins))
        self.starts = compute_offsets(np.bincount(begins, minlength=nodes))
        self.ends: Indices = ends[order]
        self.weights: Floats = weights[order]
        self.degrees: Floats = sum_by_index(begins, weights, nodes)
        self._max_weight = float(weights.max(initial=1.0))

    def __len__(self) -> int:
        return len(self.degrees)

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array((self.weights, self.ends, self.starts), shape=(len(self), len(self)))

    def build_matrix(self) -> None:
        """Builds the matrix in advance, so that the first ``compute_pagerank`` is not slower."""
        _ = self._matrix

    def spread_by_hops(
        self, seeds: Indices, hops: int, decay: float
    ) -> Iterator[tuple[Indices, Floats]]:
        """Spreads strengths from the seeds hop by hop, along shortest paths.

        A seed has the strength 1. A node whose nearest seed is ``h`` hops away gets the strength
        of the strongest path of ``h`` edges from a seed. The strength of a path is
        ``decay^h · Π w/max_w``, where ``w`` are the weights of its edges and ``max_w`` is the
        largest weight in the graph. Strengths of several paths are not added.

        Args:
            seeds: nodes, each once, in ascending order.
            hops: maximum number of hops.
            decay: factor applied to the strength for a hop along the heaviest edge.

        Yields:
            The nodes at each distance in ascending order, and their strengths: first the seeds,
            then the nodes at 1 hop, and so on.
        """
        visited = np.zeros(len(self), dtype=bool)
        frontier, strengths = seeds, np.ones(len(seeds))
        best = np.zeros(len(self))
        for hop in range(hops + 1):
            if hop:
                edges, origins = expand_rows(self.starts, frontier)
                targets = self.ends[edges]
                received_strengths = strengths[origins] * (
                    decay * self.weights[edges] / self._max_weight
                )
                is_new = ~visited[targets]
                np.maximum.at(best, targets[is_new], received_strengths[is_new])
                is_frontier = np.zeros(len(self), dtype=bool)
                is_frontier[targets[is_new]] = True
                frontier = np.flatnonzero(is_frontier)
                strengths = best[frontier]
            if not len(frontier):
                return
            visited[frontier] = True
            yield frontier, strengths

    def compute_pagerank(self, seeds: Indices, damping: float) -> tuple[Indices, Floats]:
        """Computes personalised PageRank, for a random walk that restarts at the seeds.

        It is approximated by pushing residuals (R. Andersen, F. Chung, K. Lang, Local graph
        partitioning using PageRank vectors, FOCS 2006). Their walk is lazy, which means that it
        may stay at a node; this walk is not. Every value is too small by at most
        ``tolerance · degree``, where ``tolerance`` is ``PRECISION`` over the sum of all degrees,
        but at least ``MIN_TOLERANCE``. So the work is bounded for any graph.

        Args:
            seeds: nodes, each once, in ascending order; the walk restarts at each equally often.
            damping: probability of a further step, in [0, 1). From a node without edges the walk
                always restarts.

        Returns:
            Nodes reached, in ascending order, and the share of time spent at each.
        """
        if not len(seeds):
            return seeds, np.zeros(0)
        scores, residual = np.zeros(len(self)), np.zeros(len(self))
        # A walk at a seed without edges always restarts, so nothing is to be pushed from it. This
        # closed form gives its share of time, and the start value of the other seeds.
        is_isolated = self.degrees[seeds] == 0
        start = 1.0 / (len(seeds) - damping * is_isolated.sum())
        scores[seeds[is_isolated]] = (1 - damping) * start
        residual[seeds[~is_isolated]] = start
        tolerance = max(PRECISION / max(float(self.degrees.sum()), 1.0), MIN_TOLERANCE)
        limit = tolerance * self.degrees
        while len(active := np.flatnonzero(residual > limit)):
            mass = residual[active]
            residual[active] = 0.0
            scores[active] += (1 - damping) * mass
            residual += self._push_flow(active, damping * mass / self.degrees[active])
        reached_nodes = np.flatnonzero(scores)
        return reached_nodes, scores[reached_nodes]

    def compute_weighted_pagerank(self, restart: Floats, damping: float) -> Floats:
        """Computes personalised PageRank by power iteration, for any distribution of restarts.

        Use it if the walk may restart at many nodes: the work is proportional to the whole graph.

        Args:
            restart: how often the walk restarts at each node, shape (nodes,); at least 0, and not
                all 0. It is divided by its sum.
            damping: probability of a further step, in [0, 1). From a node without edges the walk
                always restarts.

        Returns:
            The share of time spent at each node, shape (nodes,); the sum is 1. The sum of the
            absolute errors is at most ``MAX_PAGERANK_ERROR``, if ``MAX_ITERATIONS`` suffice.
        """
        restart = restart / restart.sum()
        is_linked = self.degrees > 0
        inverse_degrees = np.divide(1.0, self.degrees, out=np.zeros(len(self)), where=is_linked)
        # After a step, the error is at most damping / (1 - damping) times the last change.
        max_change = MAX_PAGERANK_ERROR * (1 - damping) / max(damping, 1e-9)
        shares = restart
        for _ in range(MAX_ITERATIONS):
            walked = damping * (self._matrix @ (shares * inverse_degrees))
            updated = walked + (1.0 - walked.sum()) * restart
            change = float(np.abs(updated - shares).sum())
            shares = updated
            if change <= max_change:
                break
        return np.asarray(shares / shares.sum())

    def _push_flow(self, nodes: Indices, flow: Floats) -> Floats:
        """Computes what every node receives if each of ``nodes`` sends ``flow`` per weight unit."""
        n_entries = int((self.starts[nodes + 1] - self.starts[nodes]).sum())
        if n_entries * _DENSE_RATIO > len(self.ends):
            outflow = np.zeros(len(self))
            outflow[nodes] = flow
            return np.asarray(self._matrix @ outflow)
        edges, origins = expand_rows(self.starts, nodes)
        return sum_by_index(self.ends[edges], flow[origins] * self.weights[edges], len(self))


def sum_by_index(indices: Indices, amounts: Floats, size: int) -> Floats:
    """Sums amounts by index: element ``i`` of the result is the sum of all amounts for index ``i``.

    Args:
        indices: the index of each amount.
        amounts: added in their order, so that the rounding is reproducible.
        size: length of the result.
    """
    return np.asarray(np.bincount(indices, weights=amounts, minlength=size), dtype=np.float64)


def compute_offsets(counts: npt.NDArray[np.int64]) -> Indices:
    """Computes the start of each row in a concatenation of rows, and the end of the last one."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def expand_rows(starts: Indices, rows: Indices) -> tuple[Indices, Indices]:
    """Returns the indices of all entries of some rows, and the rows that they belong to.

    Args:
        starts: where each row begins, and the end of the last one.
        rows: the rows to expand.

    Returns:
        The index of each entry, row by row, and the position of the entry's row in ``rows``.
    """
    first = starts[rows]
    counts = starts[rows + 1] - first
    origins = np.repeat(np.arange(len(rows)), counts)
    shift = first - (np.cumsum(counts) - counts)
    return np.arange(len(origins)) + shift[origins], origins
