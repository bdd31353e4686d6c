"""Hardness of a near-miss: how close the false object comes to the true one, in [0, 1].

``hardness = 0.4 · name + 0.3 · proximity + 0.15 · type + 0.15 · popularity`` where

* *name*: similarity of the two names (``rapidfuzz.fuzz.ratio / 100``); for numbers
  ``1 - |v - t| / max(|v|, |t|)``;
* *proximity*: 1 / d for the shortest undirected path of d ≤ 3 stated facts between them, else 0;
* *type*: share of stated classes in common (Jaccard); 1 when neither has any;
* *popularity*: ``1 - |log2((1 + in(v)) / (1 + in(t)))| / 6``, at least 0, over how many facts of
  the asked predicate have them as object.

The weights are a convention, fixed so that scores of different files compare; the parts stand
beside the score in ``meta.hardness_parts``.
"""

from __future__ import annotations

import math

from cards.literals import number_of
from cards.world import IN_EDGE_LIMIT, World

WEIGHTS = {"name": 0.4, "proximity": 0.3, "type": 0.15, "popularity": 0.15}
MAX_DISTANCE = 3
MAX_NODES = 400
"""The search for a path stops after so many nodes; hubs then count as far away."""


def hardness(world: World, p: int, wrong: int, true: int) -> tuple[float, dict[str, float]]:
    """The score and its parts, rounded to four digits.

    Args:
        world: the knowledge base.
        p: the asked predicate.
        wrong: the term the near-miss claims.
        true: the term it stands in for.
    """
    parts = {
        "name": _name(world, wrong, true),
        "proximity": _proximity(world, wrong, true),
        "type": _types(world, wrong, true),
        "popularity": _popularity(world, p, wrong, true),
    }
    score = sum(WEIGHTS[name] * value for name, value in parts.items())
    return round(score, 4), {name: round(value, 4) for name, value in parts.items()}


def _name(world: World, wrong: int, true: int) -> float:
    v, t = number_of(world.terms.text(wrong)), number_of(world.terms.text(true))
    if v is not None and t is not None:
        top = max(abs(v), abs(t))
        return max(0.0, 1 - abs(v - t) / top) if top else 1.0
    from rapidfuzz import fuzz

    return fuzz.ratio(world.label(wrong), world.label(true)) / 100


def _proximity(world: World, wrong: int, true: int) -> float:
    if world.terms.is_literal(wrong):
        return 0.0
    seen, edge = {wrong}, [wrong]
    for distance in range(1, MAX_DISTANCE + 1):
        further: list[int] = []
        for node in edge:
            for other in neighbours(world, node):
                if other == true:
                    return 1 / distance
                if other not in seen:
                    seen.add(other)
                    further.append(other)
            if len(seen) > MAX_NODES:
                return 0.0
        edge = further
    return 0.0


def neighbours(world: World, term: int) -> list[int]:
    """Entities one stated fact away, at most ``IN_EDGE_LIMIT`` per predicate from behind."""
    found = [fact.o for fact in world.about(term) if not fact.denied]
    for p in world.sayable:
        found += [fact.s for fact in world.pointing_at(term, p)[:IN_EDGE_LIMIT]]
    return [node for node in dict.fromkeys(found) if not world.terms.is_literal(node)]


def _types(world: World, wrong: int, true: int) -> float:
    mine, theirs = set(world.types(wrong)), set(world.types(true))
    union = mine | theirs
    return len(mine & theirs) / len(union) if union else 1.0


def _popularity(world: World, p: int, wrong: int, true: int) -> float:
    counts = [len(world.closed.subjects(p, term)) for term in (wrong, true)]
    ratio = abs(math.log2((1 + counts[0]) / (1 + counts[1])))
    return max(0.0, 1 - ratio / 6)
