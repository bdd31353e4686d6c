"""Computes features of a question from the subgraph between the nodes that it names.

The subgraph of a question is its nodes plus one shortest path for each pair of them, with every
edge the graph has among these (the induced subgraph). Nodes can be of any kind: concepts of a text
or terms of a knowledge graph. A graph is any object that maps a node to its neighbours, such as a
``networkx.Graph`` or a dictionary of sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kg.difficulty.paths import Adjacency, find_shortest_paths

UNCONNECTED_HOPS = 3
"""Number of hops assigned to a pair without a path; if another pair has a longer path, its length
is used instead. 3 is the smallest path length that gets 2 points in the dimension *multihop*."""

Node = TypeVar("Node", bound=Hashable)


class QueryFeatures(msgspec.Struct, frozen=True, kw_only=True):
    """The features from which the difficulty of a question is computed.

    ``max_path_length`` and ``avg_path_length`` are in hops, over the pairs of question nodes; 0 if
    there are fewer than two nodes. A pair without a path counts as ``UNCONNECTED_HOPS``, or as
    the longest path found if that is longer.
    """

    query_node_count: int
    """Nodes of the graph that the question names; 0 if there are none."""
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


def find_subgraph(graph: Adjacency[Node], query_nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """Finds the subgraph of a question.

    Returns node → its neighbours in the subgraph, query nodes first. Query nodes that are not in
    the graph are left out. Among paths of equal length, the one through the smallest nodes is used,
    so that the result does not depend on the order of edges in a file.
    """
    nodes = [node for node in dict.fromkeys(query_nodes) if node in graph]
    subgraph_nodes = dict.fromkeys(nodes)
    for i, node in enumerate(nodes):
        for path in find_shortest_paths(graph, node, nodes[i + 1 :]).values():
            subgraph_nodes.update(dict.fromkeys(path))
    return induce_subgraph(graph, subgraph_nodes)


def induce_subgraph(graph: Adjacency[Node], nodes: Collection[Node]) -> dict[Node, set[Node]]:
    """Returns the subgraph induced by some nodes of a graph, without loops."""
    subgraph: dict[Node, set[Node]] = {node: set() for node in nodes}
    for left, right in itertools.combinations(subgraph, 2):
        if right in graph[left]:
            subgraph[left].add(right)
            subgraph[right].add(left)
    return subgraph


def compute_features(
    graph: Adjacency[Node],
    query_nodes: Iterable[Node],
    docs: Mapping[Node, Iterable[Hashable]] | Callable[[Node], Iterable[Hashable]],
) -> QueryFeatures:
    """Computes the features of a question.

    Args:
        graph: an undirected graph.
        query_nodes: the nodes that the question names; those not in the graph are ignored.
        docs: returns a node's sources.
    """
    nodes = [node for node in dict.fromkeys(query_nodes) if node in graph]
    return compute_subgraph_features(find_subgraph(graph, nodes), nodes, docs)


def compute_subgraph_features(
    subgraph: Mapping[Node, Collection[Node]],
    query_nodes: Sequence[Node],
    docs: Mapping[Node, Iterable[Hashable]] | Callable[[Node], Iterable[Hashable]],
) -> QueryFeatures:
    """Computes the features of a question from its subgraph.

    Args:
        subgraph: the result of ``find_subgraph``: node → neighbours, both in the subgraph.
        query_nodes: the question's nodes, each once, all in the subgraph.
        docs: returns a node's sources.
    """
    # The subgraph has a shortest path for each pair, so distances in it equal those in the graph.
    lengths: list[int | None] = []
    for i, node in enumerate(query_nodes):
        paths = find_shortest_paths(subgraph, node, query_nodes[i + 1 :])
        lengths += [len(paths[end]) - 1 if end in paths else None for end in query_nodes[i + 1 :]]
    longest = max([UNCONNECTED_HOPS, *(length for length in lengths if length is not None)])
    hops = [longest if length is None else length for length in lengths]
    degrees = [len(neighbours) for neighbours in subgraph.values()]
    sources = docs if callable(docs) else lambda node: docs.get(node, ())
    return QueryFeatures(
        query_node_count=len(query_nodes),
        max_path_length=max(hops, default=0),
        avg_path_length=sum(hops) / len(hops) if hops else 0.0,
        component_count=count_components(subgraph),
        avg_degree=sum(degrees) / len(degrees) if degrees else 0.0,
        max_degree=max(degrees, default=0),
        subgraph_node_count=len(degrees),
        subgraph_edge_count=sum(degrees) // 2,
        doc_count=len({source for node in subgraph for source in sources(node)}),
    )


def count_components(subgraph: Mapping[Node, Collection[Node]]) -> int:
    """Counts the connected components of a graph."""
    unvisited, n_components = dict.fromkeys(subgraph), 0
    while unvisited:
        n_components += 1
        stack = [unvisited.popitem()[0]]
        while stack:
            for neighbour in subgraph[stack.pop()]:
                if neighbour in unvisited:
                    del unvisited[neighbour]
                    stack.append(neighbour)
    return n_components
