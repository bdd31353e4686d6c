"""Computes the difficulty level of a card from the subgraph of its claim.

The claim's subject and object are the nodes; ``kg.difficulty.fact_graph`` defines their subgraph
and explains why it excludes the links between the two. The scoring preset that is named ``seed``
(no random seed) assigns points to the features and a level to the sum; its thresholds were set
before any system's answers were known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from cards.card import Difficulty
from kg.claims import Claim
from kg.difficulty.fact_graph import FactGraph
from kg.difficulty.score import SEED_PRESET, score_features
from kg.triples.term_table import TermTable

_LEVELS: dict[str, Difficulty] = {"EASY": "easy", "MEDIUM": "medium", "HARD": "hard"}


def compute_shared_difficulty(
    facts: FactGraph, terms: TermTable, claims: Iterable[Claim]
) -> tuple[Difficulty, dict[str, Any]]:
    """Computes the difficulty that the cards of a triplet or pair have in common.

    It is that of the claim in the middle, by score; the harder one of two. If each card had its
    own, the level would tell the label: true claims link things that lie close together.
    """
    results = [compute_difficulty(facts, terms, claim) for claim in claims]
    results.sort(key=lambda result: result[1]["score"])
    return results[len(results) // 2]


def compute_difficulty(
    facts: FactGraph, terms: TermTable, claim: Claim
) -> tuple[Difficulty, dict[str, Any]]:
    """Computes the difficulty level of a claim.

    Args:
        facts: the facts of the graph the claim is about.
        terms: their terms.
        claim: the claim; a term that no fact mentions is an isolated node.

    Returns:
        The level, and ``preset``, ``score`` (0 to 10), ``dimensions`` and ``features``.
    """
    nodes = list(dict.fromkeys((terms.intern(claim.subj), terms.intern(claim.obj))))
    features = facts.find_subgraph(nodes, terms.intern(claim.pred)).features
    score = score_features(features, SEED_PRESET)
    return _LEVELS[score.level], {
        "preset": score.preset,
        "score": score.total,
        "dimensions": score.dimensions,
        "features": msgspec.structs.asdict(features),
    }
