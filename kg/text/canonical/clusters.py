"""Clusters vectors by complete linkage without a quadratic distance matrix.

The flat clusters equal those of SciPy's ``linkage(method="complete", metric="cosine")`` and
``fcluster(t=1 - threshold, criterion="distance")``. If distances tie exactly, complete linkage has
several solutions, and SciPy's depends on the order of its input. Here ties are broken by the bytes
of the vectors, so that the result does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np

from kg.text.canonical.linkage import compute_complete_linkage
from kg.text.canonical.similar_pairs import (
    MAX_PAIRS,
    FloatArray,
    IndexArray,
    ProgressCallback,
    find_similar_pairs,
)

DEFAULT_THRESHOLD = 0.78
"""Minimum cosine between all keywords of a group."""
MAX_GROUP_SIZE = 30
"""Maximum number of keywords in a group, which a model may have to read in one prompt."""

_MOVED_COLUMNS = 32
"""Number of columns of all rows that are moved at once."""


class _MergeTree:
    """The merges so far: a binary tree for each cluster, whose leaves are distinct vectors."""

    def __init__(self, weights: IndexArray) -> None:
        """Starts with one cluster per leaf.

        Args:
            weights: shape (leaves,), number of rows with each leaf's vector.
        """
        self._parts: dict[int, tuple[int, int]] = {}
        self._weights: list[int] = weights.tolist()
        self.roots: list[int] = list(range(len(weights)))
        """The root of each cluster, in the order of their first leaf; -1 for merged clusters."""

    def merge_clusters(self, first: int, second: int) -> None:
        """Merges two clusters, given as positions in ``roots``; the second becomes -1."""
        parts = (self.roots[first], self.roots[second])
        self._parts[len(self._weights)] = parts
        self.roots[first], self.roots[second] = len(self._weights), -1
        self._weights.append(self._weights[parts[0]] + self._weights[parts[1]])

    def drop_merged_roots(self) -> None:
        """Removes merged clusters from ``roots``, so that the numbering has no gaps."""
        self.roots = [root for root in self.roots if root >= 0]

    def list_leaves(self, node: int) -> list[int]:
        """Returns the leaves below a node, ascending."""
        return sorted(leaf for part in self.cut_subtrees(node, 1) for leaf in part)

    def cut_subtrees(self, node: int, max_rows: int) -> list[list[int]]:
        """Splits a tree into its largest subtrees of at most ``max_rows`` rows each.

        Returns:
            The leaves of each subtree. A single leaf may have more rows.
        """
        groups: list[list[int]] = []
        stack = [(node, -1)]  # (node, position of its subtree in `groups`, or -1 above the cut)
        while stack:
            current, group = stack.pop()
            if group < 0 and (self._weights[current] <= max_rows or current not in self._parts):
                groups.append([])
                group = len(groups) - 1
            if current in self._parts:
                stack.extend((part, group) for part in self._parts[current])
            else:
                groups[group].append(current)
        return groups


def cluster_rows(
    vectors: FloatArray,
    threshold: float = DEFAULT_THRESHOLD,
    max_group_size: int | None = MAX_GROUP_SIZE,
    *,
    max_pairs: int = MAX_PAIRS,
    overwrite: bool = False,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> list[list[int]]:
    """Groups rows that are all similar to each other, by complete linkage.

    Args:
        vectors: shape (rows, dimensions), rows of length 1. A row of zeros is similar to none.
        threshold: minimum cosine between all rows of a group; in (0, 1).
        max_group_size: maximum number of rows in a group; larger clusters are split along their
            own tree, where they are least similar. None: no limit.
        max_pairs: maximum number of pairs held in memory; if there are more, the closest are merged
            first.
        overwrite: whether the array of vectors may be overwritten, which saves a copy.
        on_progress: called with the number of rows compared so far, and of all rows.

    Returns:
        Row numbers, ascending in each group; groups in the order of their first row. Every row is
        in exactly one group.

    Raises:
        ValueError: a parameter is out of range, or a vector contains a number that is not finite.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"the threshold must be above 0 and below 1, not {threshold}")
    if max_group_size is not None and max_group_size < 1:
        raise ValueError(f"max_group_size must be at least 1, not {max_group_size}")
    if not overwrite:
        vectors = np.array(vectors, copy=True)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("a vector contains a number that is not finite")
    order = _sort_rows(vectors)
    zero_count = int(np.count_nonzero(~vectors.any(axis=1)))  # rows of zeros come first
    groups = [[int(row)] for row in order[:zero_count]]
    if zero_count < len(vectors):
        distinct, starts = _drop_equal_rows(vectors[zero_count:])
        rows_of_vector = np.split(order[zero_count:], starts[1:])
        weights = np.diff(np.append(starts, len(vectors) - zero_count))
        tree = _build_merge_tree(distinct, weights, 1 - threshold, max_pairs, on_progress)
        max_rows = len(vectors) if max_group_size is None else max_group_size
        for root in tree.roots:
            for leaves in tree.cut_subtrees(root, max_rows):
                rows = sorted(int(row) for leaf in leaves for row in rows_of_vector[leaf])
                # A leaf is larger than the limit only if that many vectors are equal: then it
                # does not matter where it is cut.
                groups.extend(
                    rows[begin : begin + max_rows] for begin in range(0, len(rows), max_rows)
                )
    return sorted(groups)


def _sort_rows(vectors: FloatArray) -> IndexArray:
    """Sorts the rows by their bytes, in place, and returns where each of them was."""
    vectors += np.float32(0)  # turns −0 into 0: equal numbers with different bytes
    keys = vectors.view(np.dtype((np.void, vectors.itemsize * vectors.shape[1]))).ravel()
    order = np.argsort(keys, kind="stable")
    _move_rows(vectors, order)
    return order


def _drop_equal_rows(vectors: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Returns the distinct ones of sorted rows, in the same array, and where each was first."""
    is_first = np.append(True, (vectors[1:] != vectors[:-1]).any(axis=1))
    starts = np.flatnonzero(is_first)
    _move_rows(vectors, starts)
    return vectors[: len(starts)], starts


def _move_rows(vectors: FloatArray, positions: IndexArray) -> None:
    """Moves the rows at the positions to the start, some columns at a time to save memory."""
    for start in range(0, vectors.shape[1], _MOVED_COLUMNS):
        columns = vectors[:, start : start + _MOVED_COLUMNS]
        columns[: len(positions)] = columns[positions]


def _build_merge_tree(
    vectors: FloatArray,
    weights: IndexArray,
    max_distance: float,
    max_pairs: int,
    on_progress: ProgressCallback,
) -> _MergeTree:
    """Builds the trees of complete linkage over distinct vectors, up to ``max_distance``."""
    tree, starts, is_complete = _MergeTree(weights), np.arange(len(vectors)), False
    ordered_vectors, leaf_numbers = vectors, starts
    while not is_complete:
        pairs, is_complete = find_similar_pairs(
            ordered_vectors, leaf_numbers, starts, max_distance, max_pairs, on_progress
        )
        for merge in compute_complete_linkage(pairs, len(starts)):
            tree.merge_clusters(merge.first, merge.second)
        tree.drop_merged_roots()
        if not is_complete:
            # Not all pairs fitted into memory. After the merges there are fewer clusters and
            # pairs, so the next round can find the remaining ones.
            leaves = [np.asarray(tree.list_leaves(root), np.int64) for root in tree.roots]
            starts = np.concatenate(
                ([0], np.cumsum([len(cluster_leaves) for cluster_leaves in leaves])[:-1])
            )
            leaf_numbers = np.concatenate(leaves)
            ordered_vectors = vectors[leaf_numbers]
    return tree
