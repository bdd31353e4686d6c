"""Clusters of vectors by complete linkage, in memory that does not grow with the square.

The same flat clusters as ``linkage(method="complete", metric="cosine")`` and
``fcluster(t=1 - threshold, criterion="distance")`` of SciPy give. Where distances tie to the last
bit, complete linkage allows several answers, and which one SciPy gives depends on the order of its
input. Here pairs of equal distance are ordered by the bytes of their vectors, so that the order of
the input decides nothing; it is what SciPy gives for distances ranked in that way.
"""

from __future__ import annotations

import numpy as np

from kg.text.canonical.linkage import complete_linkage
from kg.text.canonical.similar_pairs import MOST_PAIRS, Floats, Places, Watch, similar_pairs

THRESHOLD = 0.78
"""Cosine that all keywords of a group have at least with each other."""
MAX_GROUP_SIZE = 30
"""Keywords a group may have, which a model may have to read at once."""


class _Tree:
    """Who was merged with whom: a binary tree for each cluster, its leaves distinct vectors."""

    def __init__(self, weights: Places) -> None:
        """Starts with every leaf alone.

        Args:
            weights: shape (leaves,), how many rows have each leaf's vector.
        """
        self._parts: dict[int, tuple[int, int]] = {}
        self._weights: list[int] = weights.tolist()
        self.roots: list[int] = list(range(len(weights)))
        """The root of each cluster; clusters are numbered by their first leaf."""

    def merge(self, first: int, second: int) -> None:
        """Puts two clusters together, named by their places in ``roots``; the second's is void."""
        parts = (self.roots[first], self.roots[second])
        self._parts[len(self._weights)] = parts
        self.roots[first], self.roots[second] = len(self._weights), -1
        self._weights.append(self._weights[parts[0]] + self._weights[parts[1]])

    def close_ranks(self) -> None:
        """Drops the void places, so that clusters are numbered without gaps again."""
        self.roots = [root for root in self.roots if root >= 0]

    def leaves(self, node: int) -> list[int]:
        """The leaves below a node, ascending."""
        return sorted(leaf for part in self.cut(node, 1) for leaf in part)

    def cut(self, node: int, most: int) -> list[list[int]]:
        """The leaves below a node in groups of at most ``most`` rows: the largest such subtrees."""
        groups: list[list[int]] = []
        open_nodes = [(node, -1)]
        while open_nodes:
            one, group = open_nodes.pop()
            if group < 0 and (self._weights[one] <= most or one not in self._parts):
                groups.append([])
                group = len(groups) - 1
            if one in self._parts:
                open_nodes.extend((part, group) for part in self._parts[one])
            else:
                groups[group].append(one)
        return groups


def cluster(
    vectors: Floats,
    threshold: float = THRESHOLD,
    max_group_size: int | None = MAX_GROUP_SIZE,
    *,
    most_pairs: int = MOST_PAIRS,
    watch: Watch = lambda _done, _total: None,
) -> list[list[int]]:
    """Groups of rows that are all similar to each other, by complete linkage.

    Args:
        vectors: shape (rows, dimensions), rows of length 1. A row of zeros is similar to none.
        threshold: cosine that all rows of a group have at least with each other; in (0, 1).
        max_group_size: rows a group may have; larger ones come apart where they are least alike,
            along their own tree. None leaves them whole.
        most_pairs: pairs that are held at once. Of more, the closest are merged first.
        watch: is told how many rows have been compared, and of how many.

    Returns:
        Row numbers, ascending in each group; groups by their first row. Every row is in one.

    Raises:
        ValueError: a parameter is out of range, or a vector holds what is no finite number.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"the threshold must be above 0 and below 1, not {threshold}")
    if max_group_size is not None and max_group_size < 1:
        raise ValueError(f"a group cannot have at most {max_group_size} members")
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds what is no finite number")
    order, starts, distinct = _distinct(vectors)
    groups = [[int(row)] for row in np.flatnonzero(~vectors.any(axis=1))]
    if len(order):
        same = np.split(order, starts[1:])
        weights = np.diff(np.append(starts, len(order)))
        tree = _linked(distinct, weights, 1 - threshold, most_pairs, watch)
        most = len(vectors) if max_group_size is None else max_group_size
        for root in tree.roots:
            for leaves in tree.cut(root, most):
                rows = sorted(int(row) for leaf in leaves for row in same[leaf])
                # More only where so many vectors are equal: then any cut is as good.
                groups.extend(rows[begin : begin + most] for begin in range(0, len(rows), most))
    return sorted(groups)


def _distinct(vectors: Floats) -> tuple[Places, Places, Floats]:
    """The rows that are not zero by their content.

    Returns:
        The rows in the order of their bytes, the places in it where another vector starts, and
        those vectors.
    """
    rows = np.flatnonzero(vectors.any(axis=1))
    content = vectors[rows]
    content += np.float32(0)  # no −0, which is 0 in other bytes
    keys = content.view(np.dtype((np.void, content.itemsize * content.shape[1]))).ravel()
    order = np.argsort(keys, kind="stable")
    content = content[order]
    new = np.append(True, (content[1:] != content[:-1]).any(axis=1))[: len(rows)]
    return rows[order], np.flatnonzero(new), content if new.all() else content[new]


def _linked(
    vectors: Floats, weights: Places, most_distant: float, most_pairs: int, watch: Watch
) -> _Tree:
    """The trees of complete linkage up to a distance, over distinct vectors."""
    tree, starts, whole = _Tree(weights), np.arange(len(vectors)), False
    ordered, numbers = vectors, starts
    while not whole:
        pairs, whole = similar_pairs(ordered, numbers, starts, most_distant, most_pairs, watch)
        for merge in complete_linkage(pairs, len(starts)):
            tree.merge(merge.first, merge.second)
        tree.close_ranks()
        if not whole:
            # Some pairs had to wait. Now there are fewer clusters, and so fewer pairs.
            leaves = [np.asarray(tree.leaves(root), np.int64) for root in tree.roots]
            starts = np.concatenate(([0], np.cumsum([len(some) for some in leaves])[:-1]))
            numbers = np.concatenate(leaves)
            ordered = vectors[numbers]
    return tree
