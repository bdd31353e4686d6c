"""Which proposed triples enter a graph: those its shapes and axioms do not contradict, in order.

Each is licensed over the graph and all that was admitted before it, so that two statements that
cannot both be true do not both enter: the earlier one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from kg.claims import Claim

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

Outcome = Literal["admitted", "known", "contradicted"]


class Decision(msgspec.Struct, frozen=True):
    """What became of one claim."""

    claim: Claim
    outcome: Outcome
    reason: str = ""
    """The proof in words, where it is contradicted."""


def admit(
    kb: KnowledgeBase, claims: Sequence[Claim], on_done: Callable[[int], None]
) -> list[Decision]:
    """Decides on claims, in order.

    A claim that adds nothing (stated, entailed, or admitted before) is ``known``. One that is open
    is ``admitted``: the oracle calls it unknown, and from now on it counts as stated. After each
    admission the graph is closed again before the next open claim, which takes as long as closing
    it did at first: some milliseconds for graphs of a few thousand triples.

    Args:
        kb: graph, shapes and oracle.
        claims: what is proposed.
        on_done: is told how many are done.
    """
    oracle, stale = kb.oracle, False
    stated = list(kb.graph.claims())
    decisions: list[Decision] = []
    for claim in claims:
        verdict = oracle.license(claim)
        if verdict.label == "U" and stale:
            oracle, stale = kb.oracle.local(stated, kb.shapes), False
            verdict = oracle.license(claim)
        if verdict.label == "E":
            decisions.append(Decision(claim, "known"))
        elif verdict.label == "C":
            decisions.append(Decision(claim, "contradicted", kb.words.proof(verdict)))
        else:
            decisions.append(Decision(claim, "admitted"))
            stated.append(claim)
            stale = True
        on_done(len(decisions))
    return decisions
