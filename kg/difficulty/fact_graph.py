"""The facts of a knowledge graph as an undirected graph of entities, and difficulty on it.

Two entities are neighbours when a fact of some predicate links them, either way round. Literals
are no entities (that two rivers are 24 km long links them in no way), and classes and labels link
nothing. Only a literal that is itself asked about has neighbours: those that have it as the value
asked for.

The subgraph of asked nodes is the facts around them and one shortest path for each pair. **Paths do
not use the links between the asked nodes themselves**: those are the answer, not how hard it is to
find, and with them every true claim would be one hop long and no unknown one. For the same reason
the sources of a subgraph are counted without the asked nodes.

Everything here is bounded, since a card may cost some fifty microseconds and a hub of a million
triples has a hundred thousand neighbours: paths are searched from both ends up to ``MAX_HOPS``
hops, and no more than ``NEIGHBOURS`` neighbours of a node are counted, which is beyond the last
step of every dimension.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kg.difficulty.features import LONGEST_HOP, QueryFeatures
from kg.index import Index, Triple
from kg.rows import Cell

MAX_HOPS = 3
"""Longest path looked for. A pair farther apart counts as unconnected."""
NEIGHBOURS = 64
"""Neighbours of a node that are counted, and tried as a step of a path."""
EXPANDED = 8
"""Of these, so many are tried as the first step of a path of three hops."""
MAX_PREDICATES = 32
"""So many predicates, the most frequent ones, are looked at."""
SAMPLE = 50
"""Subjects of a predicate, spread over all, that show whether its objects are literals."""
REMEMBERED = 20_000
"""Nodes whose facts are kept at hand."""
REMEMBERED_ASKED = 2_000
"""Asked nodes whose neighbours are: cards come in threes about one object."""


class _Facts(NamedTuple):
    """The entities that one node's facts link it with, a collection for each predicate."""

    objects: list[Collection[int]]
    subjects: list[Collection[int]]


class _Around(NamedTuple):
    """What is around an asked node."""

    near: dict[int, None]
    """Its neighbours, up to ``NEIGHBOURS``."""
    sources: frozenset[int]
    """Subjects of facts about it, up to ``NEIGHBOURS`` of each predicate."""
    facts: _Facts


class FactSubgraph(NamedTuple):
    """The part of a graph that asked nodes touch."""

    features: QueryFeatures
    around: dict[int, dict[int, None]]
    """Asked node → its neighbours, up to ``NEIGHBOURS``."""
    ways: list[tuple[int, ...]]
    """One shortest path for each pair that has one, both ends included."""


class FactGraph:
    """Entities and the facts between them.

    Args:
        index: the triples; not to be changed while this object is in use.
        predicates: those whose facts link, as far as their objects are entities.
    """

    def __init__(self, index: Index, predicates: Iterable[int]) -> None:
        self._index = index
        linking = [p for p in predicates if self._links(p)]
        if len(linking) > MAX_PREDICATES:
            linking = sorted(linking, key=lambda p: -index.count(p))[:MAX_PREDICATES]
        self._predicates = tuple(linking)
        self._known: dict[int, _Facts] = {}
        self._asked: dict[tuple[int, int | None], _Around] = {}

    def __contains__(self, node: object) -> bool:
        """Whether any fact links an entity."""
        return isinstance(node, int) and any(self._facts(node))

    def subgraph(self, asked: Sequence[int], predicate: int | None = None) -> FactSubgraph:
        """The subgraph and features of a question about some nodes, or of a claim about two.

        ``avg_degree`` and ``max_degree`` are those of the asked nodes, since only their facts are
        all in the subgraph. Its sources are the described subjects besides the asked ones: those
        that facts of the subgraph speak of. An asked node without any fact is a node alone.

        Args:
            asked: distinct nodes, at least one.
            predicate: the one asked about, for asked literals.
        """
        found = [self._around(node, predicate) for node in asked]
        near = [around.near for around in found]
        sources = found[0].sources.union(*(around.sources for around in found[1:]))
        # A path of two hops is made of facts around its ends; one of three has one in between.
        degrees = [len(around) for around in near]
        edges = sum(degrees)
        hops: list[int] = []
        ways: list[tuple[int, ...]] = []
        group = list(range(len(asked)))
        for i, j in itertools.combinations(group[:], 2):
            edges -= asked[j] in near[i]
            between = self._way(asked, found[i], found[j])
            if between is None:
                hops.append(LONGEST_HOP)
                continue
            hops.append(len(between) + 1)
            edges += hops[-1] == MAX_HOPS
            ways.append((asked[i], *between, asked[j]))
            group = [group[i] if name == group[j] else name for name in group]
        features = QueryFeatures(
            query_node_count=len(asked),
            max_path_length=max(hops, default=0),
            avg_path_length=sum(hops) / len(hops) if hops else 0.0,
            component_count=len(set(group)),
            avg_degree=sum(degrees) / len(degrees),
            max_degree=max(degrees),
            subgraph_node_count=len(set(asked).union(*near)),
            subgraph_edge_count=edges,
            doc_count=len(sources.difference(asked)),
        )
        return FactSubgraph(features, dict(zip(asked, near, strict=True)), ways)

    def facts_of(self, found: FactSubgraph) -> Iterator[Triple]:
        """The facts of a subgraph, each once: those between its nodes that it was read from."""
        pairs = {(node, near): None for node, around in found.around.items() for near in around}
        for way in found.ways:
            pairs.update(dict.fromkeys(itertools.pairwise(way)))
        facts = {
            (s, p, o): None
            for one, two in pairs
            for s, o in ((one, two), (two, one))
            for p in self._predicates
            if self._index.has(s, p, o)
        }
        yield from facts

    def _links(self, predicate: int) -> bool:
        subjects = self._index.subjects_of(predicate)
        spread = itertools.islice(subjects, 0, None, len(subjects) // SAMPLE + 1)
        literal = self._index.terms.is_literal
        return not any(literal(o) for s in spread for o in self._index.objects(s, predicate))

    def _facts(self, node: int, predicate: int | None = None) -> _Facts:
        known = self._known.get(node)
        if known is not None:
            return known
        index = self._index
        if index.terms.is_literal(node):
            bearers = () if predicate is None else index.subjects(predicate, node)
            return _Facts([], [bearers] if bearers else [])
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        found = self._known[node] = _Facts(
            _cells(self._forward, node), _cells(self._backward, node)
        )
        return found

    @cached_property
    def _forward(self) -> list[Mapping[int, Cell]]:
        return [self._index.row(p) for p in self._predicates]

    @cached_property
    def _backward(self) -> list[Mapping[int, Cell]]:
        return [self._index.reverse_row(p) for p in self._predicates]

    def _around(self, node: int, predicate: int | None) -> _Around:
        known = self._asked.get((node, predicate))
        if known is not None:
            return known
        facts = self._facts(node, predicate)
        near = _some(facts.subjects)
        sources = frozenset(near)
        near.update(_some(facts.objects))
        near.pop(node, None)
        if len(self._asked) >= REMEMBERED_ASKED:
            self._asked.clear()
        found = self._asked[node, predicate] = _Around(_limited(near), sources, facts)
        return found

    def _way(self, asked: Sequence[int], one: _Around, two: _Around) -> tuple[int, ...] | None:
        """What lies on the shortest path of 2 to ``MAX_HOPS`` hops between two asked nodes.

        Args:
            asked: all asked nodes; no path leads through any.
            one: what is around the first end.
            two: what is around the second.

        Returns:
            The nodes between, from the first end to the second; None where there is no such path.
        """
        turned = len(one.near) > len(two.near)
        start, end = (two, one) if turned else (one, two)
        steps = [node for node in start.near if node not in asked]
        last = end.near.keys() - asked
        if not steps or not last:
            return None
        first, far = set(steps), end.facts.objects + end.facts.subjects
        if any(_meet(cell, first) for cell in far):
            return (next(node for node in steps if any(node in cell for cell in far)),)
        # Where the far end has more neighbours than were counted, all of them are asked.
        large = [cell for cell in far if len(cell) > NEIGHBOURS]
        for node in steps[:EXPANDED]:
            objects, subjects = self._facts(node)
            cells = objects + subjects
            if any(_meet(cell, last) for cell in cells):
                step = next(
                    other
                    for other in end.near
                    if other in last and any(other in cell for cell in cells)
                )
            elif large and any(
                _meet(cell, further)
                for further in [set(_some(cells)).difference(asked)]
                for cell in large
            ):
                step = next(
                    other
                    for other in _some(cells)
                    if other not in asked and any(other in cell for cell in large)
                )
            else:
                continue
            return (step, node) if turned else (node, step)
        return None


def _cells(rows: list[Mapping[int, Cell]], node: int) -> list[Collection[int]]:
    """What some rows hold at a node."""
    return [
        (cell,) if isinstance(cell, int) else cell
        for row in rows
        if (cell := row.get(node)) is not None
    ]


def _meet(cell: Collection[int], nodes: set[int]) -> bool:
    """Whether a cell holds any of some nodes, at the cost of the smaller of the two."""
    if isinstance(cell, dict):
        return not cell.keys().isdisjoint(nodes)
    return not nodes.isdisjoint(cell)


def _some(cells: Iterable[Collection[int]]) -> dict[int, None]:
    """Members of some cells, up to ``NEIGHBOURS`` of each."""
    found: dict[int, None] = {}
    for cell in cells:
        if len(cell) > NEIGHBOURS:
            found.update(dict.fromkeys(itertools.islice(cell, NEIGHBOURS)))
        else:
            found.update(dict.fromkeys(cell))
    return found


def _limited(nodes: dict[int, None]) -> dict[int, None]:
    if len(nodes) <= NEIGHBOURS:
        return nodes
    return dict.fromkeys(itertools.islice(nodes, NEIGHBOURS))
