"""Treats a knowledge graph as an undirected graph of entities and computes difficulty features.

Two entities are neighbours if a fact links them, in either direction. Literals are not entities
(that two rivers are 24 km long does not link them), and types and labels are not links. Only a
literal that is itself a question node has neighbours: the subjects that have it as their value of
the predicate in question.

The subgraph of question nodes consists of the facts around them and one shortest path for each
pair. **Paths do not use direct links between question nodes**: such a link is the answer itself,
and with it the path of every true claim would be one hop long, which would reveal its label. For
the same reason, question nodes are not counted as sources of a subgraph.

All work is bounded: a card may cost only about fifty microseconds, but a hub of a million triples
can have a hundred thousand neighbours. Paths are searched from both ends up to ``MAX_HOPS`` hops.
At most ``MAX_NEIGHBOURS`` neighbours of a node are counted, which is above the highest threshold
of every dimension, so that the limit does not change a score.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kg.difficulty.features import UNCONNECTED_HOPS, QueryFeatures
from kg.triples.index import Index, Triple
from kg.triples.rows import Cell

MAX_HOPS = 3
"""Maximum path length. A pair without a path of this length or less counts as unconnected."""
MAX_NEIGHBOURS = 64
"""Maximum neighbours of a node that are counted, and tried as a step of a path."""
MAX_EXPANDED = 8
"""Maximum neighbours that are tried as the first step of a path of three hops."""
MAX_PREDICATES = 32
"""Maximum number of predicates; the most frequent ones are used."""
MAX_SAMPLED_SUBJECTS = 50
"""Maximum subjects of a predicate, evenly spaced, that are checked for literal objects."""
MAX_CACHED_NODES = 20_000
"""Maximum nodes whose facts are cached."""
MAX_CACHED_QUESTION_NODES = 2_000
"""Maximum question nodes whose neighbourhood is cached; cards of one triplet share such nodes."""


class _NodeFacts(NamedTuple):
    """The entities that facts link to one node: one collection per predicate."""

    objects: list[Collection[int]]
    subjects: list[Collection[int]]


class _Neighbourhood(NamedTuple):
    """The neighbours and facts of a question node."""

    neighbours: dict[int, None]
    """Its neighbours, at most ``MAX_NEIGHBOURS``."""
    sources: frozenset[int]
    """Subjects of facts about it, at most ``MAX_NEIGHBOURS`` per predicate."""
    facts: _NodeFacts


class FactSubgraph(NamedTuple):
    """The part of a graph that question nodes touch."""

    features: QueryFeatures
    neighbours: dict[int, dict[int, None]]
    """Question node → its neighbours, at most ``MAX_NEIGHBOURS``."""
    paths: list[tuple[int, ...]]
    """One shortest path for each connected pair of question nodes, both ends included."""


class FactGraph:
    """Entities and the facts between them.

    Args:
        index: the triples; must not be changed while this object is in use.
        predicates: the predicates whose facts are links; those with literal objects are ignored.
    """

    def __init__(self, index: Index, predicates: Iterable[int]) -> None:
        self._index = index
        link_predicates = [p for p in predicates if self._links_entities(p)]
        if len(link_predicates) > MAX_PREDICATES:
            link_predicates = sorted(link_predicates, key=lambda p: -index.count_triples(p))[
                :MAX_PREDICATES
            ]
        self._predicates = tuple(link_predicates)
        self._facts_cache: dict[int, _NodeFacts] = {}
        self._neighbourhood_cache: dict[tuple[int, int | None], _Neighbourhood] = {}

    def __contains__(self, node: object) -> bool:
        """Returns whether any fact links the entity."""
        return isinstance(node, int) and any(self._get_facts(node))

    def find_subgraph(
        self, question_nodes: Sequence[int], predicate: int | None = None
    ) -> FactSubgraph:
        """Finds the subgraph and features of a question about some nodes, or a claim about two.

        ``avg_degree`` and ``max_degree`` are those of the question nodes, since the subgraph has
        all facts of these nodes only. Sources are the subjects of facts about question nodes, not
        counting the question nodes themselves. A question node without facts is an isolated node.

        Args:
            question_nodes: distinct question nodes, at least one.
            predicate: the predicate in question, needed for literals.
        """
        neighbourhoods = [self._get_neighbourhood(node, predicate) for node in question_nodes]
        neighbour_sets = [neighbourhood.neighbours for neighbourhood in neighbourhoods]
        sources = neighbourhoods[0].sources.union(
            *(neighbourhood.sources for neighbourhood in neighbourhoods[1:])
        )
        # The degrees count both facts of a path of two hops. A path of three hops adds the fact in
        # its middle. A fact between two question nodes is in two degrees, so it is subtracted once.
        degrees = [len(neighbours) for neighbours in neighbour_sets]
        edges = sum(degrees)
        hops: list[int] = []
        paths: list[tuple[int, ...]] = []
        components = list(range(len(question_nodes)))  # connected component of each question node
        for i, j in itertools.combinations(components[:], 2):
            edges -= question_nodes[j] in neighbour_sets[i]
            inner_nodes = self._find_path(question_nodes, neighbourhoods[i], neighbourhoods[j])
            if inner_nodes is None:
                hops.append(UNCONNECTED_HOPS)
                continue
            hops.append(len(inner_nodes) + 1)
            edges += hops[-1] == MAX_HOPS
            paths.append((question_nodes[i], *inner_nodes, question_nodes[j]))
            # A path connects both nodes: merge their components.
            components = [
                components[i] if component == components[j] else component
                for component in components
            ]
        features = QueryFeatures(
            query_node_count=len(question_nodes),
            max_path_length=max(hops, default=0),
            avg_path_length=sum(hops) / len(hops) if hops else 0.0,
            component_count=len(set(components)),
            avg_degree=sum(degrees) / len(degrees),
            max_degree=max(degrees),
            subgraph_node_count=len(set(question_nodes).union(*neighbour_sets)),
            subgraph_edge_count=edges,
            doc_count=len(sources.difference(question_nodes)),
        )
        return FactSubgraph(features, dict(zip(question_nodes, neighbour_sets, strict=True)), paths)

    def iter_facts(self, subgraph: FactSubgraph) -> Iterator[Triple]:
        """Yields the facts between neighbours and along paths of a subgraph, each once."""
        pairs = {
            (node, neighbour): None
            for node, neighbours in subgraph.neighbours.items()
            for neighbour in neighbours
        }
        for path in subgraph.paths:
            pairs.update(dict.fromkeys(itertools.pairwise(path)))
        facts = {
            (s, p, o): None
            for node_a, node_b in pairs
            for s, o in ((node_a, node_b), (node_b, node_a))
            for p in self._predicates
            if self._index.has_triple(s, p, o)
        }
        yield from facts

    def _links_entities(self, predicate: int) -> bool:
        """Returns whether a sample of the predicate's objects has no literals."""
        subjects = self._index.get_subjects(predicate)
        sample = itertools.islice(subjects, 0, None, len(subjects) // MAX_SAMPLED_SUBJECTS + 1)
        is_literal = self._index.terms.is_literal
        return not any(
            is_literal(o) for s in sample for o in self._index.find_objects(s, predicate)
        )

    def _get_facts(self, node: int, predicate: int | None = None) -> _NodeFacts:
        cached = self._facts_cache.get(node)
        if cached is not None:
            return cached
        index = self._index
        if index.terms.is_literal(node):
            subjects = () if predicate is None else index.find_subjects(predicate, node)
            return _NodeFacts([], [subjects] if subjects else [])
        if len(self._facts_cache) >= MAX_CACHED_NODES:
            self._facts_cache.clear()
        facts = self._facts_cache[node] = _NodeFacts(
            _collect_cells(self._forward_rows, node), _collect_cells(self._reverse_rows, node)
        )
        return facts

    @cached_property
    def _forward_rows(self) -> list[Mapping[int, Cell]]:
        return [self._index.get_row(p) for p in self._predicates]

    @cached_property
    def _reverse_rows(self) -> list[Mapping[int, Cell]]:
        return [self._index.get_reverse_row(p) for p in self._predicates]

    def _get_neighbourhood(self, node: int, predicate: int | None) -> _Neighbourhood:
        cached = self._neighbourhood_cache.get((node, predicate))
        if cached is not None:
            return cached
        facts = self._get_facts(node, predicate)
        neighbours = _sample_members(facts.subjects)
        sources = frozenset(neighbours)
        neighbours.update(_sample_members(facts.objects))
        neighbours.pop(node, None)
        if len(self._neighbourhood_cache) >= MAX_CACHED_QUESTION_NODES:
            self._neighbourhood_cache.clear()
        neighbourhood = self._neighbourhood_cache[node, predicate] = _Neighbourhood(
            _limit_nodes(neighbours), sources, facts
        )
        return neighbourhood

    def _find_path(
        self, question_nodes: Sequence[int], left: _Neighbourhood, right: _Neighbourhood
    ) -> tuple[int, ...] | None:
        """Finds a shortest path of 2 to ``MAX_HOPS`` hops between two question nodes.

        Args:
            question_nodes: all question nodes; no path leads through any of them.
            left: the neighbourhood of the first end.
            right: the neighbourhood of the second end.

        Returns:
            The inner nodes of the path, from the first end to the second; None if there is no path.
        """
        # Searching from the end with fewer neighbours is cheaper.
        is_swapped = len(left.neighbours) > len(right.neighbours)
        start, end = (right, left) if is_swapped else (left, right)
        first_steps = [node for node in start.neighbours if node not in question_nodes]
        last_nodes = end.neighbours.keys() - question_nodes
        if not first_steps or not last_nodes:
            return None
        first_step_set, end_cells = set(first_steps), end.facts.objects + end.facts.subjects
        if any(_has_any(cell, first_step_set) for cell in end_cells):
            return (next(node for node in first_steps if any(node in cell for cell in end_cells)),)
        # ``end.neighbours`` has at most MAX_NEIGHBOURS nodes, so cells with more are searched too.
        large_cells = [cell for cell in end_cells if len(cell) > MAX_NEIGHBOURS]
        for node in first_steps[:MAX_EXPANDED]:
            objects, subjects = self._get_facts(node)
            node_cells = objects + subjects
            if any(_has_any(cell, last_nodes) for cell in node_cells):
                inner_node = next(
                    other
                    for other in end.neighbours
                    if other in last_nodes and any(other in cell for cell in node_cells)
                )
            elif large_cells and any(
                _has_any(cell, candidates)
                # A loop over one set, so that it is built only if there are large cells.
                for candidates in [set(_sample_members(node_cells)).difference(question_nodes)]
                for cell in large_cells
            ):
                inner_node = next(
                    other
                    for other in _sample_members(node_cells)
                    if other not in question_nodes and any(other in cell for cell in large_cells)
                )
            else:
                continue
            return (inner_node, node) if is_swapped else (node, inner_node)
        return None


def _collect_cells(rows: list[Mapping[int, Cell]], node: int) -> list[Collection[int]]:
    """Returns the cells of a node in several rows, each as a collection."""
    return [
        (cell,) if isinstance(cell, int) else cell
        for row in rows
        if (cell := row.get(node)) is not None
    ]


def _has_any(cell: Collection[int], nodes: set[int]) -> bool:
    """Returns whether a cell contains any of the nodes."""
    if isinstance(cell, dict):
        return not cell.keys().isdisjoint(nodes)
    return not nodes.isdisjoint(cell)


def _sample_members(cells: Iterable[Collection[int]]) -> dict[int, None]:
    """Returns members of some cells, at most ``MAX_NEIGHBOURS`` of each."""
    members: dict[int, None] = {}
    for cell in cells:
        if len(cell) > MAX_NEIGHBOURS:
            members.update(dict.fromkeys(itertools.islice(cell, MAX_NEIGHBOURS)))
        else:
            members.update(dict.fromkeys(cell))
    return members


def _limit_nodes(nodes: dict[int, None]) -> dict[int, None]:
    if len(nodes) <= MAX_NEIGHBOURS:
        return nodes
    return dict.fromkeys(itertools.islice(nodes, MAX_NEIGHBOURS))
