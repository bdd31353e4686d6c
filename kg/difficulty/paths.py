"""Shortest paths in an undirected graph, the same whatever order its edges come in."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Adjacency(Protocol[Node]):
    """An undirected graph: node → its neighbours; what it does not hold is not ``in`` it.

    A ``networkx.Graph`` is one, and so is a dictionary of sets.
    """

    def __contains__(self, node: object, /) -> bool:
        """Whether the graph holds the node."""
        ...

    def __getitem__(self, node: Node, /) -> Collection[Node]:
        """The neighbours of a node."""
        ...


def shortest_paths(
    graph: Adjacency[Node], start: Node, targets: Iterable[Node]
) -> dict[Node, tuple[Node, ...]]:
    """One shortest path from a node to each target that can be reached, both ends included.

    Breadth first, one level after the other. Of several nodes that lead on to the same one, the
    smallest by its text is taken, so that the path does not depend on the order of edges.

    Args:
        graph: an undirected graph that holds ``start``.
        start: where to begin.
        targets: where to end; a target that is ``start`` has the path of one node.
    """
    wanted = dict.fromkeys(targets)
    before: dict[Node, Node | None] = {start: None}
    found = {start} & wanted.keys()
    frontier = [start]
    while frontier and len(found) < len(wanted):
        further: list[Node] = []
        for node in frontier:
            for near in graph[node]:
                if near not in before:
                    before[near] = node
                    further.append(near)
                    if near in wanted:
                        found.add(near)
        frontier = sorted(further, key=str)
    return {target: _back(before, target) for target in wanted if target in before}


def _back(before: dict[Node, Node | None], end: Node) -> tuple[Node, ...]:
    way, node = [end], before[end]
    while node is not None:
        way.append(node)
        node = before[node]
    return tuple(reversed(way))
