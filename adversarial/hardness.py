"""Computes the hardness of a near-miss: how similar its object v is to the true one t, in [0, 1].

``hardness = 0.4 · name + 0.3 · proximity + 0.15 · type + 0.15 · popularity`` where

* *name*: similarity of the two names (``rapidfuzz.fuzz.ratio / 100``); for numbers
  ``1 - |v - t| / max(|v|, |t|)``;
* *proximity*: 1 / d for the shortest undirected path of d ≤ 3 asserted facts between them, else 0;
* *type*: Jaccard similarity of their asserted classes; 1 if neither has any;
* *popularity*: ``1 - |log2((1 + in(v)) / (1 + in(t)))| / 6``, at least 0, where ``in`` is the
  number of facts of the claim's predicate with the term as object.

The weights are a convention, fixed so that scores of different files are comparable; the parts are
in ``meta.hardness_parts``.
"""

from __future__ import annotations

import math

from cards.generation.graph_lookup import MAX_INCOMING_FACTS, GraphLookup
from cards.generation.literals import parse_number

WEIGHTS = {"name": 0.4, "proximity": 0.3, "type": 0.15, "popularity": 0.15}
MAX_DISTANCE = 3
"""Maximum length of a path between the two objects, in facts."""
MAX_NODES = 400
"""Maximum number of nodes visited in the search for a path, so that a hub with thousands of
neighbours does not slow the search down; terms behind it score 0."""


def compute_hardness(
    lookup: GraphLookup, p: int, wrong_object: int, true_object: int
) -> tuple[float, dict[str, float]]:
    """Computes the score and its parts, rounded to four digits.

    Args:
        lookup: the knowledge base.
        p: the claim's predicate.
        wrong_object: the object of the near-miss.
        true_object: the true object.
    """
    parts = {
        "name": _score_name(lookup, wrong_object, true_object),
        "proximity": _score_proximity(lookup, wrong_object, true_object),
        "type": _score_types(lookup, wrong_object, true_object),
        "popularity": _score_popularity(lookup, p, wrong_object, true_object),
    }
    score = sum(WEIGHTS[name] * value for name, value in parts.items())
    return round(score, 4), {name: round(value, 4) for name, value in parts.items()}


def _score_name(lookup: GraphLookup, wrong_object: int, true_object: int) -> float:
    v, t = (
        parse_number(lookup.terms.get_text(wrong_object)),
        parse_number(lookup.terms.get_text(true_object)),
    )
    if v is not None and t is not None:
        larger = max(abs(v), abs(t))
        return max(0.0, 1 - abs(v - t) / larger) if larger else 1.0
    from rapidfuzz import fuzz

    return fuzz.ratio(lookup.get_label(wrong_object), lookup.get_label(true_object)) / 100


def _score_proximity(lookup: GraphLookup, wrong_object: int, true_object: int) -> float:
    if lookup.terms.is_literal(wrong_object):
        return 0.0
    visited, frontier = {wrong_object}, [wrong_object]
    for distance in range(1, MAX_DISTANCE + 1):
        next_frontier: list[int] = []
        for node in frontier:
            for neighbour in list_neighbours(lookup, node):
                if neighbour == true_object:
                    return 1 / distance
                if neighbour not in visited:
                    visited.add(neighbour)
                    next_frontier.append(neighbour)
            if len(visited) > MAX_NODES:
                return 0.0
        frontier = next_frontier
    return 0.0


def list_neighbours(lookup: GraphLookup, term: int) -> list[int]:
    """Lists the entities one asserted fact away.

    At most ``MAX_INCOMING_FACTS`` incoming facts are followed per predicate.
    """
    neighbours = [fact.o for fact in lookup.list_facts_about(term) if not fact.denied]
    for p in lookup.fact_predicates:
        neighbours += [fact.s for fact in lookup.list_incoming_facts(term, p)[:MAX_INCOMING_FACTS]]
    return [node for node in dict.fromkeys(neighbours) if not lookup.terms.is_literal(node)]


def _score_types(lookup: GraphLookup, wrong_object: int, true_object: int) -> float:
    wrong_types, true_types = (
        set(lookup.get_types(wrong_object)),
        set(lookup.get_types(true_object)),
    )
    union = wrong_types | true_types
    return len(wrong_types & true_types) / len(union) if union else 1.0


def _score_popularity(lookup: GraphLookup, p: int, wrong_object: int, true_object: int) -> float:
    counts = [
        len(lookup.closure_index.find_subjects(p, term)) for term in (wrong_object, true_object)
    ]
    # A factor of 64 (log2 = 6) or more between the numbers of facts scores 0.
    log_ratio = abs(math.log2((1 + counts[0]) / (1 + counts[1])))
    return max(0.0, 1 - log_ratio / 6)
