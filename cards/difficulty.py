"""How hard a card is: the level of its claim's subgraph, as of any other question.

The asked subject and object are the nodes; ``kg.difficulty.fact_graph`` says what their subgraph
is and why the links between the two are left out of it. Features become points and a level by the
preset ``seed``, whose thresholds no answer was used to find.
"""

from __future__ import annotations

from typing import Any

import msgspec

from cards.card import Difficulty
from kg.claims import Claim
from kg.difficulty.fact_graph import FactGraph
from kg.difficulty.score import SEED, score_of
from kg.term_table import TermTable

_LEVELS: dict[str, Difficulty] = {"EASY": "easy", "MEDIUM": "medium", "HARD": "hard"}


def difficulty_of(
    facts: FactGraph, terms: TermTable, claim: Claim
) -> tuple[Difficulty, dict[str, Any]]:
    """The level of a claim, and what it was read from.

    Args:
        facts: the facts of the graph the claim is about.
        terms: their terms.
        claim: the claim; a term that no fact mentions is a node alone.

    Returns:
        The level, and ``preset``, ``score`` (0 to 10), ``dimensions`` and ``features``.
    """
    asked = list(dict.fromkeys((terms.intern(claim.subj), terms.intern(claim.obj))))
    features = facts.subgraph(asked, terms.intern(claim.pred)).features
    score = score_of(features, SEED)
    return _LEVELS[score.level], {
        "preset": score.preset,
        "score": score.total,
        "dimensions": score.dimensions,
        "features": msgspec.structs.asdict(features),
    }
