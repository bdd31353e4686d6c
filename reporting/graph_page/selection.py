"""Selects the concepts and links of a run for its page; a picture of thousands is unreadable."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx as nx

MIN_DRAWN_LINKS_PER_NODE = 3
"""Number of the strongest links of each node that are always drawn."""
MAX_LINKS = 1_500
"""Maximum number of links on a page: those that are always drawn, then the strongest others."""

Strength = tuple[float, float]
"""A link's strength, and a second number that breaks ties; see ``compute_strength``."""


class LinkSelection(NamedTuple):
    """The nodes and links of a page."""

    nodes: list[str]
    """Nodes of the page, the most important first."""
    main: set[tuple[str, str]]
    """Links that are always drawn."""
    extra: set[tuple[str, str]]
    """Links that are only drawn if the reader selects all links."""
    n_links: int
    """Number of links that the graph has among ``nodes``."""


def compute_strength(edge: dict[str, float]) -> Strength:
    """Computes a link's strength: ``(weight - 1) · max(NPMI, 0)``.

    The second number, ``weight · max(NPMI, 0)``, breaks ties. The weight is the number of chunks
    that mention both concepts. A single common chunk may be chance, and NPMI is largest for the
    rarest concepts; so only further chunks count, weighted by how much more frequent they are than
    expected by chance.
    """
    positive_npmi = max(edge["npmi"], 0.0)
    return (edge["weight"] - 1) * positive_npmi, edge["weight"] * positive_npmi


def select_central_nodes(graph: nx.Graph, max_nodes: int, first: Sequence[str] = ()) -> list[str]:
    """Returns the nodes with the largest sum of link strengths, after ``first``.

    Args:
        graph: a concept graph.
        max_nodes: maximum number of nodes.
        first: nodes to put before the ranked ones, in this order.
    """
    ranked_nodes = sorted(
        graph, key=lambda node: (*_negate_strength(_sum_link_strengths(graph, node)), node)
    )
    return list(itertools.islice(dict.fromkeys([*first, *ranked_nodes]), max_nodes))


def find_neighbourhood(
    graph: nx.Graph, seeds: Sequence[str], hops: int, max_nodes: int
) -> tuple[list[str], int]:
    """Returns the nodes within some hops of the seeds, the nearest and most strongly linked first.

    Args:
        graph: a concept graph.
        seeds: nodes to start from; they are the first in the result.
        hops: maximum distance from the seeds.
        max_nodes: maximum number of nodes.

    Returns:
        The nodes, and the number of nodes that there would be without the limit.
    """
    reached = list(dict.fromkeys(seeds))
    visited = set(reached)
    frontier = reached
    for _ in range(hops):
        links: dict[str, list[Strength]] = {}
        for node in frontier:
            for neighbour, edge in graph.adj[node].items():
                if neighbour not in visited:
                    links.setdefault(neighbour, []).append(compute_strength(edge))
        level_strengths = {
            neighbour: _sum_strengths(strengths) for neighbour, strengths in links.items()
        }
        frontier = sorted(
            level_strengths, key=lambda node: (*_negate_strength(level_strengths[node]), node)
        )
        reached = [*reached, *frontier]
        visited.update(frontier)
    return reached[:max_nodes], len(reached)


def choose_links(
    graph: nx.Graph, nodes: Sequence[str], required: Iterable[tuple[str, str]] = ()
) -> LinkSelection:
    """Selects the links to draw among some nodes.

    Each node's strongest links and a maximum spanning forest are always drawn, so that nodes which
    are connected in the graph are connected in the picture too.

    Args:
        graph: a concept graph.
        nodes: the nodes of the page, the most important first.
        required: links to draw regardless of their strength, each as a pair in either order.
    """
    subgraph = graph.subgraph(nodes)
    ranked_links = sorted(
        ((min(a, b), max(a, b)) for a, b in subgraph.edges if a != b),
        key=lambda pair: (*_negate_strength(compute_strength(graph.edges[pair])), pair),
    )
    main = {(min(pair), max(pair)) for pair in required}
    n_drawn_links = dict.fromkeys(nodes, 0)
    components = _UnionFind(nodes)
    for a, b in ranked_links:
        joins_components = components.join_nodes(a, b)
        if (
            joins_components
            or n_drawn_links[a] < MIN_DRAWN_LINKS_PER_NODE
            or n_drawn_links[b] < MIN_DRAWN_LINKS_PER_NODE
        ):
            main.add((a, b))
            n_drawn_links[a] += 1
            n_drawn_links[b] += 1
    n_remaining = max(MAX_LINKS - len(main), 0)
    other_links = [pair for pair in ranked_links if pair not in main]
    return LinkSelection(list(nodes), main, set(other_links[:n_remaining]), len(ranked_links))


def _sum_link_strengths(graph: nx.Graph, node: str) -> Strength:
    return _sum_strengths([compute_strength(edge) for edge in graph.adj[node].values()])


def _sum_strengths(strengths: Sequence[Strength]) -> Strength:
    # fsum is exact, so the order of links cannot decide a tie by rounding.
    return math.fsum(s for s, _ in strengths), math.fsum(s for _, s in strengths)


def _negate_strength(strength: Strength) -> Strength:
    return -strength[0], -strength[1]


class _UnionFind:
    """Connected components of the links added so far (union–find)."""

    def __init__(self, nodes: Iterable[str]) -> None:
        self._parents = {node: node for node in nodes}

    def join_nodes(self, first: str, second: str) -> bool:
        """Joins the components of two nodes; returns whether they were different."""
        a, b = self._find_root(first), self._find_root(second)
        self._parents[a] = b
        return a != b

    def _find_root(self, node: str) -> str:
        while self._parents[node] != node:
            self._parents[node] = self._parents[self._parents[node]]
            node = self._parents[node]
        return node
