"""Chooses what to tell: the way through the graph that question and pages speak of most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from eval.synthlink.agents.walking.facts import FactMap
from kg.claims import Claim

STEP: Final = 0.35
"""What a step costs: so much must be gained by it, here or farther on."""
BORNE: Final = 0.5
"""What a step gains that a page speaks of in full."""
CUED: Final = 0.2
"""What a step gains that the question has words for."""
LEAST_BORNE: Final = 0.6
"""Support from which a fact beside the way is told."""
BEAM: Final = 200
"""Ways that are followed at once."""
WAYS: Final = 5
"""Ways among which is chosen by what they account for."""
MOST_FACTS: Final = 16
"""Facts that an answer tells."""


class Chosen(NamedTuple):
    """What to tell."""

    nodes: tuple[str, ...] = ()
    """Of the way, from its beginning on."""
    way: tuple[Claim, ...] = ()
    """Its facts: each leads from one node to the next."""
    beside: tuple[Claim, ...] = ()
    """Other facts about nodes of the way, in the order of the graph."""


class Signs(NamedTuple):
    """What speaks for nodes and facts."""

    nodes: Mapping[str, float]
    """Node → how much question and pages speak of it; ways begin at no others."""
    support: Callable[[Claim], float]
    """How far a page bears a fact, in [0, 1]."""
    predicates: Collection[str]
    """Those that are asked for."""
    least: float = 0.0
    """Support that each step must have."""


def choose(facts: FactMap, signs: Signs, hops: int) -> list[Chosen]:
    """The ways that gain most, no two through one node, each with the facts beside it.

    A way gains what question and pages speak of each of its nodes, and by each step that a page
    bears or the question has words for; it pays for each step. So two things that a question names
    are joined by way of others that nothing speaks of, where that is not far, and a way does not
    go on where nothing speaks of what comes next. Of two that gain alike the one is taken whose
    facts come first in the graph.

    Args:
        facts: the map.
        signs: what speaks for nodes and facts.
        hops: steps at most.

    Returns:
        At most ``WAYS``, best first.
    """
    starts = sorted(filter(facts.leaving, signs.nodes), key=lambda node: -signs.nodes[node])
    beam = [_Way(signs.nodes[node], (), (node,)) for node in starts[:BEAM]]
    best = {way.nodes[0]: way for way in beam}
    for _ in range(hops):
        further = [longer for way in beam for longer in _longer(facts, signs, way)]
        beam = sorted(further, key=lambda way: (-way.gain, way.places))[:BEAM]
        for way in beam:
            if way.gain > best[way.nodes[0]].gain:
                best[way.nodes[0]] = way
    found: list[_Way] = []
    passed: set[str] = set()
    for way in sorted(best.values(), key=lambda way: -way.gain):
        if len(found) < WAYS and passed.isdisjoint(way.nodes):
            passed.update(way.nodes)
            found.append(way)
    return [
        Chosen(
            way.nodes,
            tuple(facts.claims[place] for place in way.places),
            _beside(facts, signs, way),
        )
        for way in found
    ]


class _Way(NamedTuple):
    gain: float
    places: tuple[int, ...]
    """Of its facts, among all."""
    nodes: tuple[str, ...]


def _longer(facts: FactMap, signs: Signs, way: _Way) -> Iterator[_Way]:
    """A way with one step more, in all possible manners; never in a circle."""
    for place in facts.leaving(way.nodes[-1]):
        claim = facts.claims[place]
        if not facts.is_way(claim) or claim.obj in way.nodes:
            continue
        borne = signs.support(claim)
        if borne < signs.least:
            continue
        gain = signs.nodes.get(claim.obj, 0.0) + BORNE * borne - STEP
        gain += CUED * (claim.pred in signs.predicates)
        yield _Way(way.gain + gain, (*way.places, place), (*way.nodes, claim.obj))


def _beside(facts: FactMap, signs: Signs, way: _Way) -> tuple[Claim, ...]:
    """Facts about nodes of a way, besides its steps: the best borne that there is room for.

    A trait that the question asks for is told of nodes of the way whether a page bears it or not.
    """
    near = dict.fromkeys(
        place for node in way.nodes for place in (*facts.leaving(node), *facts.arriving(node))
    )
    borne: list[tuple[float, int]] = []
    for place in near:
        claim = facts.claims[place]
        support = signs.support(claim)
        asked = claim.pred in signs.predicates and not facts.is_way(claim)
        if place not in way.places and (asked or support >= LEAST_BORNE):
            borne.append((-support, place))
    room = max(0, MOST_FACTS - len(way.places))
    return tuple(facts.claims[place] for place in sorted(p for _, p in sorted(borne)[:room]))
