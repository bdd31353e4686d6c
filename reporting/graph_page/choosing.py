"""Which concepts and links of a run go on a page: a picture of four thousand shows nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx as nx

STRONGEST_PER_NODE = 3
"""Links of each node that are drawn at first."""
MOST_LINKS = 1_500
"""Links on a page, the strongest ones beside those drawn at first."""

Strength = tuple[float, float]


class Chosen(NamedTuple):
    """What goes on the page."""

    nodes: list[str]
    """The most important first."""
    main: set[tuple[str, str]]
    """Links drawn at first."""
    more: set[tuple[str, str]]
    """Links drawn when all are asked for."""
    links_among: int
    """Links that the graph has among ``nodes``."""


def strength(edge: dict[str, float]) -> Strength:
    """How strong a link is: ``(weight - 1) · max(NPMI, 0)``, then ``weight · max(NPMI, 0)``.

    Two concepts that meet in a single chunk may do so by chance, and NPMI is largest for the
    rarest; so meetings after the first count, as far as they are more than chance would have.
    """
    associated = max(edge["npmi"], 0.0)
    return (edge["weight"] - 1) * associated, edge["weight"] * associated


def most_central(graph: nx.Graph, most: int, first: Sequence[str] = ()) -> list[str]:
    """The nodes whose links are strongest in sum, after those that must be there.

    Args:
        graph: a concept graph.
        most: how many nodes at most.
        first: nodes that come before all others, in this order.
    """
    ranked = sorted(graph, key=lambda node: (*_negated(_total(graph, node)), node))
    return list(itertools.islice(dict.fromkeys([*first, *ranked]), most))


def around(graph: nx.Graph, seeds: Sequence[str], hops: int, most: int) -> tuple[list[str], int]:
    """The nodes within some hops of others, nearest and most strongly linked first.

    Args:
        graph: a concept graph.
        seeds: where to begin; they come first.
        hops: how far to go.
        most: how many nodes at most.

    Returns:
        The nodes, and how many there would be without ``most``.
    """
    found = list(dict.fromkeys(seeds))
    seen = set(found)
    level = found
    for _ in range(hops):
        links: dict[str, list[Strength]] = {}
        for node in level:
            for near, edge in graph.adj[node].items():
                if near not in seen:
                    links.setdefault(near, []).append(strength(edge))
        nearer = {near: _sum(strengths) for near, strengths in links.items()}
        level = sorted(nearer, key=lambda node: (*_negated(nearer[node]), node))
        found = [*found, *level]
        seen.update(level)
    return found[:most], len(found)


def choose_links(
    graph: nx.Graph, nodes: Sequence[str], always: Iterable[tuple[str, str]] = ()
) -> Chosen:
    """The links to draw among some nodes.

    At first each node's strongest ones, and what it takes to join what the graph joins (a maximum
    spanning forest); so no node looks linked to nothing that is linked.

    Args:
        graph: a concept graph.
        nodes: the nodes of the page, the most important first.
        always: links that are drawn whatever their strength, in either order.
    """
    among = graph.subgraph(nodes)
    ranked = sorted(
        ((min(a, b), max(a, b)) for a, b in among.edges if a != b),
        key=lambda pair: (*_negated(strength(graph.edges[pair])), pair),
    )
    main = {(min(pair), max(pair)) for pair in always}
    drawn = dict.fromkeys(nodes, 0)
    joined = _Joined(nodes)
    for a, b in ranked:
        needed = joined.join(a, b)
        if needed or drawn[a] < STRONGEST_PER_NODE or drawn[b] < STRONGEST_PER_NODE:
            main.add((a, b))
            drawn[a] += 1
            drawn[b] += 1
    room = max(MOST_LINKS - len(main), 0)
    rest = [pair for pair in ranked if pair not in main]
    return Chosen(list(nodes), main, set(rest[:room]), len(ranked))


def _total(graph: nx.Graph, node: str) -> Strength:
    return _sum([strength(edge) for edge in graph.adj[node].values()])


def _sum(strengths: Sequence[Strength]) -> Strength:
    # fsum: the order of links must not decide a tie by rounding.
    return math.fsum(s for s, _ in strengths), math.fsum(s for _, s in strengths)


def _negated(strength_: Strength) -> Strength:
    return -strength_[0], -strength_[1]


class _Joined:
    """Which nodes hang together so far (union–find)."""

    def __init__(self, nodes: Iterable[str]) -> None:
        self._above = {node: node for node in nodes}

    def join(self, one: str, two: str) -> bool:
        """Joins two nodes; whether they were apart."""
        a, b = self._top(one), self._top(two)
        self._above[a] = b
        return a != b

    def _top(self, node: str) -> str:
        while self._above[node] != node:
            self._above[node] = self._above[self._above[node]]
            node = self._above[node]
        return node
