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
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from kg.difficulty.features import LONGEST_HOP, QueryFeatures
from kg.index import Index

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


class _Facts(NamedTuple):
    """The entities that one node's facts link it with, a collection for each predicate."""

    objects: list[Collection[int]]
    subjects: list[Collection[int]]


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

    def features(self, asked: Sequence[int], predicate: int | None = None) -> QueryFeatures:
        """The features of a question about some nodes, or of a claim about two.

        ``avg_degree`` and ``max_degree`` are those of the asked nodes, since only their facts are
        all in the subgraph. Its sources are the described subjects besides the asked ones: those
        that facts of the subgraph speak of. An asked node without any fact is a node alone.

        Args:
            asked: distinct nodes.
            predicate: the one asked about, for asked literals.
        """
        facts = [self._facts(node, predicate) for node in asked]
        near: list[dict[int, None]] = []
        sources: set[int] = set()
        for node, (objects, subjects) in zip(asked, facts, strict=True):
            around = _some(subjects)
            sources.update(around)
            around.update(_some(objects))
            around.pop(node, None)
            near.append(_limited(around))
        sources.difference_update(asked)
        pairs = list(itertools.combinations(range(len(asked)), 2))
        lengths = [self._hops(asked, (near[i], facts[i]), (near[j], facts[j])) for i, j in pairs]
        hops = [LONGEST_HOP if length is None else length for length in lengths]
        degrees = [len(found) for found in near]
        return QueryFeatures(
            query_node_count=len(asked),
            max_path_length=max(hops, default=0),
            avg_path_length=sum(hops) / len(hops) if hops else 0.0,
            component_count=_components(len(asked), lengths),
            avg_degree=sum(degrees) / len(degrees) if degrees else 0.0,
            max_degree=max(degrees, default=0),
            subgraph_node_count=len(set(asked).union(*near)),
            # A path of two hops is made of facts around its ends; one of three has one in between.
            subgraph_edge_count=sum(degrees)
            - sum(asked[j] in near[i] for i, j in pairs)
            + lengths.count(MAX_HOPS),
            doc_count=len(sources),
        )

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
            [cell for p in self._predicates if (cell := index.objects(node, p))],
            [cell for p in self._predicates if (cell := index.subjects(p, node))],
        )
        return found

    def _hops(
        self,
        asked: Sequence[int],
        one: tuple[dict[int, None], _Facts],
        two: tuple[dict[int, None], _Facts],
    ) -> int | None:
        """Hops of the shortest path of 2 to ``MAX_HOPS`` hops between two asked nodes, or None.

        Args:
            asked: all asked nodes; no path leads through any.
            one: some of a node's neighbours, and all its facts.
            two: the same of the other node.
        """
        (near, _), (beyond, ends) = (one, two) if len(one[0]) <= len(two[0]) else (two, one)
        steps = [node for node in near if node not in asked]
        last = {node for node in beyond if node not in asked}
        if not steps or not last:
            return None
        first, far = set(steps), ends.objects + ends.subjects
        if any(_meet(cell, first) for cell in far):
            return 2
        # Where the far end has more neighbours than were counted, all of them are asked.
        large = [cell for cell in far if len(cell) > NEIGHBOURS]
        for node in steps[:EXPANDED]:
            objects, subjects = self._facts(node)
            cells = objects + subjects
            if any(_meet(cell, last) for cell in cells):
                return MAX_HOPS
            if large:
                further = set(_some(cells)).difference(asked)
                if any(_meet(cell, further) for cell in large):
                    return MAX_HOPS
        return None


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


def _components(count: int, lengths: Sequence[int | None]) -> int:
    """How many groups the asked nodes form; ``lengths`` in the order of ``combinations``."""
    group = list(range(count))
    pairs = itertools.combinations(range(count), 2)
    for (one, two), length in zip(pairs, lengths, strict=True):
        if length is not None and group[one] != group[two]:
            joined = group[two]
            group = [group[one] if name == joined else name for name in group]
    return len(set(group))
