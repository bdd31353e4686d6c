"""Finds shortest paths in an undirected graph, independent of the order of its edges."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Adjacency(Protocol[Node]):
    """An undirected graph: node → its neighbours, such as a ``networkx.Graph``."""

    def __contains__(self, node: object, /) -> bool:
        """Returns whether the node is in the graph."""
        ...

    def __getitem__(self, node: Node, /) -> Collection[Node]:
        """Returns the neighbours of a node."""
        ...


def find_shortest_paths(
    graph: Adjacency[Node], start: Node, targets: Iterable[Node]
) -> dict[Node, tuple[Node, ...]]:
    """Finds one shortest path from a node to each reachable target, both ends included.

    Searches breadth first, level by level. Of several predecessors of a node, the smallest by its
    text is used, so that the path does not depend on the order of edges.

    Args:
        graph: an undirected graph that contains ``start``.
        start: first node of the paths.
        targets: last nodes of the paths; the path to ``start`` itself has one node.
    """
    target_set = dict.fromkeys(targets)
    predecessors: dict[Node, Node | None] = {start: None}
    reached_targets = {start} & target_set.keys()
    frontier = [start]
    while frontier and len(reached_targets) < len(target_set):
        next_level: list[Node] = []
        for node in frontier:
            for neighbour in graph[node]:
                if neighbour not in predecessors:
                    predecessors[neighbour] = node
                    next_level.append(neighbour)
                    if neighbour in target_set:
                        reached_targets.add(neighbour)
        # Sorting each level makes the smallest node of a level the predecessor of its neighbours.
        frontier = sorted(next_level, key=str)
    return {
        target: _trace_back(predecessors, target) for target in target_set if target in predecessors
    }


def _trace_back(predecessors: dict[Node, Node | None], end: Node) -> tuple[Node, ...]:
    path, node = [end], predecessors[end]
    while node is not None:
        path.append(node)
        node = predecessors[node]
    return tuple(reversed(path))
