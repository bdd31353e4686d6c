"""Chooses the paths through the graph that question and pages mention most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from eval.synthlink.agents.walker.fact_map import FactMap
from kg.claims import Claim

STEP_COST: Final = 0.35
"""Cost of a step. A path is made longer only if the added steps gain more than they cost."""
SUPPORT_GAIN: Final = 0.5
"""Gain of a step that a page supports fully; less support gains proportionally less."""
CUE_GAIN: Final = 0.2
"""Gain of a step whose predicate the question asks for."""
MIN_SUPPORT: Final = 0.6
"""Minimum support of a side fact (see ``ChosenPath``)."""
BEAM_WIDTH: Final = 200
"""Number of paths kept at each length (beam search)."""
MAX_PATHS: Final = 5
"""Maximum number of paths returned; the walk chooses the one that covers most of the question."""
MAX_FACTS: Final = 16
"""Maximum number of facts of an answer."""


class ChosenPath(NamedTuple):
    """A path through the graph, and further facts about its nodes."""

    nodes: tuple[str, ...] = ()
    """Nodes of the path, from its start."""
    steps: tuple[Claim, ...] = ()
    """Facts of the path: each leads from one node to the next."""
    side_facts: tuple[Claim, ...] = ()
    """Other facts about nodes of the path, in the order of the graph."""


class PathEvidence(NamedTuple):
    """The evidence from question and pages by which paths are chosen."""

    node_weights: Mapping[str, float]
    """Node → how much question and pages mention it; paths start at these nodes only."""
    compute_support: Callable[[Claim], float]
    """Returns how far a page supports a fact, in [0, 1]."""
    predicates: Collection[str]
    """Predicates that the question asks for."""
    min_support: float = 0.0
    """Minimum support of each step."""


def choose_paths(fact_map: FactMap, evidence: PathEvidence, hops: int) -> list[ChosenPath]:
    """Chooses the paths with the highest gain, no two of which share a node, with side facts.

    The gain of a path is the weight of its nodes, plus ``SUPPORT_GAIN`` and ``CUE_GAIN`` for each
    step that a page supports or the question asks for, minus ``STEP_COST`` for each step. A path
    can therefore connect two nodes of the question through a few nodes that are mentioned nowhere,
    but it does not end in such nodes. Of paths with equal gain, the one whose facts come first in
    the graph is preferred.

    Args:
        fact_map: the facts of the graph.
        evidence: the evidence for nodes and facts.
        hops: maximum number of steps of a path.

    Returns:
        At most ``MAX_PATHS`` paths, best first.
    """
    starts = sorted(
        filter(fact_map.facts_from_node, evidence.node_weights),
        key=lambda node: -evidence.node_weights[node],
    )
    beam = [_Path(evidence.node_weights[node], (), (node,)) for node in starts[:BEAM_WIDTH]]
    # Best path so far from each start; the beam contains paths of the current length only.
    best = {path.nodes[0]: path for path in beam}
    for _ in range(hops):
        longer_paths = [
            longer_path for path in beam for longer_path in _extend_path(fact_map, evidence, path)
        ]
        beam = sorted(longer_paths, key=lambda path: (-path.gain, path.fact_indices))[:BEAM_WIDTH]
        for path in beam:
            if path.gain > best[path.nodes[0]].gain:
                best[path.nodes[0]] = path
    chosen_paths: list[_Path] = []
    used_nodes: set[str] = set()
    for path in sorted(best.values(), key=lambda path: -path.gain):
        if len(chosen_paths) < MAX_PATHS and used_nodes.isdisjoint(path.nodes):
            used_nodes.update(path.nodes)
            chosen_paths.append(path)
    return [
        ChosenPath(
            path.nodes,
            tuple(fact_map.claims[index] for index in path.fact_indices),
            _select_side_facts(fact_map, evidence, path),
        )
        for path in chosen_paths
    ]


class _Path(NamedTuple):
    """A path during the beam search."""

    gain: float
    fact_indices: tuple[int, ...]
    """Indices of its facts in ``FactMap.claims``."""
    nodes: tuple[str, ...]


def _extend_path(fact_map: FactMap, evidence: PathEvidence, path: _Path) -> Iterator[_Path]:
    """Yields a path extended by each possible step that does not lead back to one of its nodes."""
    for index in fact_map.facts_from_node(path.nodes[-1]):
        claim = fact_map.claims[index]
        if not fact_map.can_be_path_step(claim) or claim.obj in path.nodes:
            continue
        support = evidence.compute_support(claim)
        if support < evidence.min_support:
            continue
        gain = evidence.node_weights.get(claim.obj, 0.0) + SUPPORT_GAIN * support - STEP_COST
        gain += CUE_GAIN * (claim.pred in evidence.predicates)
        yield _Path(path.gain + gain, (*path.fact_indices, index), (*path.nodes, claim.obj))


def _select_side_facts(fact_map: FactMap, evidence: PathEvidence, path: _Path) -> tuple[Claim, ...]:
    """Selects facts about the nodes of a path other than its steps, those with most support first.

    A fact that can be a step of no path (a trait, see ``FactMap.can_be_path_step``) is selected
    even without support if the question asks for its predicate.
    """
    candidates = dict.fromkeys(
        index
        for node in path.nodes
        for index in (*fact_map.facts_from_node(node), *fact_map.facts_to_node(node))
    )
    selected: list[tuple[float, int]] = []
    for index in candidates:
        claim = fact_map.claims[index]
        support = evidence.compute_support(claim)
        is_asked_for = claim.pred in evidence.predicates and not fact_map.can_be_path_step(claim)
        if index not in path.fact_indices and (is_asked_for or support >= MIN_SUPPORT):
            selected.append((-support, index))
    limit = max(0, MAX_FACTS - len(path.fact_indices))
    return tuple(
        fact_map.claims[index]
        for index in sorted(fact_index for _, fact_index in sorted(selected)[:limit])
    )
