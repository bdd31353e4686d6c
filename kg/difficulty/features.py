"""Features of a question: what the graph holds between the nodes that the question names.

The subgraph of a question is its nodes plus one shortest path for each pair of them, with every
edge the graph has among these (the induced subgraph). Nothing here knows what a node is: a concept
of a text or a term of a knowledge graph. A graph is anything that maps a node to its neighbours,
such as a ``networkx.Graph`` or a dictionary of sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kg.difficulty.paths import Adjacency, shortest_paths

LONGEST_HOP = 3
"""Hops that a pair without a path counts as, unless a longer path was found for another pair: the
first length of the last step of the dimension *multihop*."""

Node = TypeVar("Node", bound=Hashable)


class QueryFeatures(msgspec.Struct, frozen=True, kw_only=True):
    """What the difficulty of a question is read from.

    ``max_path_length`` and ``avg_path_length`` are hops over the pairs of question nodes, 0 where
    there are fewer than two. A pair without a path counts as the longest hop: ``LONGEST_HOP``, or
    as long as the longest path found where that is longer.
    """

    query_node_count: int
    """Nodes of the graph that the question names; 0 when nothing matches."""
    max_path_length: int
    avg_path_length: float
    component_count: int
    """Connected components of the subgraph."""
    avg_degree: float
    """Mean degree inside the subgraph: 2 · edges / nodes."""
    max_degree: int
    """Largest degree inside the subgraph."""
    subgraph_node_count: int
    subgraph_edge_count: int
    doc_count: int
    """Distinct sources of the nodes: chunks of a text, described subjects of a graph."""


def subgraph_of(graph: Adjacency[Node], query_nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """The subgraph of a question as node → its neighbours inside; question nodes first.

    Nodes the graph does not hold are left out. Among shortest paths of equal length the one through
    the smallest nodes counts, so that the order of edges in a file changes nothing.
    """
    nodes = [node for node in dict.fromkeys(query_nodes) if node in graph]
    wanted = dict.fromkeys(nodes)
    for i, node in enumerate(nodes):
        for path in shortest_paths(graph, node, nodes[i + 1 :]).values():
            wanted.update(dict.fromkeys(path))
    return induced(graph, wanted)


def induced(graph: Adjacency[Node], nodes: Collection[Node]) -> dict[Node, set[Node]]:
    """The edges that a graph has among some of its nodes, without loops."""
    inside: dict[Node, set[Node]] = {node: set() for node in nodes}
    for one, two in itertools.combinations(inside, 2):
        if two in graph[one]:
            inside[one].add(two)
            inside[two].add(one)
    return inside


def features_of(
    graph: Adjacency[Node],
    query_nodes: Iterable[Node],
    docs: Mapping[Node, Iterable[Hashable]] | Callable[[Node], Iterable[Hashable]],
) -> QueryFeatures:
    """The features of a question.

    Args:
        graph: an undirected graph.
        query_nodes: the nodes that the question names; those not in the graph count for nothing.
        docs: a node's sources.
    """
    nodes = [node for node in dict.fromkeys(query_nodes) if node in graph]
    return features_within(subgraph_of(graph, nodes), nodes, docs)


def features_within(
    subgraph: Mapping[Node, Collection[Node]],
    asked: Sequence[Node],
    docs: Mapping[Node, Iterable[Hashable]] | Callable[[Node], Iterable[Hashable]],
) -> QueryFeatures:
    """The features of a question whose subgraph is at hand.

    Args:
        subgraph: what ``subgraph_of`` made: node → neighbours, both inside.
        asked: the question's nodes, each once, all of them inside.
        docs: a node's sources.
    """
    # The subgraph holds a shortest path for each pair, so hops inside are those of the graph.
    lengths: list[int | None] = []
    for i, node in enumerate(asked):
        ways = shortest_paths(subgraph, node, asked[i + 1 :])
        lengths += [len(ways[end]) - 1 if end in ways else None for end in asked[i + 1 :]]
    longest = max([LONGEST_HOP, *(hops for hops in lengths if hops is not None)])
    hops = [longest if length is None else length for length in lengths]
    degrees = [len(near) for near in subgraph.values()]
    sources = docs if callable(docs) else lambda node: docs.get(node, ())
    return QueryFeatures(
        query_node_count=len(asked),
        max_path_length=max(hops, default=0),
        avg_path_length=sum(hops) / len(hops) if hops else 0.0,
        component_count=components(subgraph),
        avg_degree=sum(degrees) / len(degrees) if degrees else 0.0,
        max_degree=max(degrees, default=0),
        subgraph_node_count=len(degrees),
        subgraph_edge_count=sum(degrees) // 2,
        doc_count=len({source for node in subgraph for source in sources(node)}),
    )


def components(subgraph: Mapping[Node, Collection[Node]]) -> int:
    """How many connected components a graph has."""
    left, found = dict.fromkeys(subgraph), 0
    while left:
        found += 1
        stack = [left.popitem()[0]]
        while stack:
            for near in subgraph[stack.pop()]:
                if near in left:
                    del left[near]
                    stack.append(near)
    return found
