"""Decides which proposed triples are admitted to a graph: those that its shapes do not contradict.

Each claim is checked against the graph and all claims admitted before it. Of two claims that
contradict each other, only the earlier one is admitted.
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
    """The outcome of one claim."""

    claim: Claim
    outcome: Outcome
    reason: str = ""
    """The proof in words, if the claim is contradicted."""


def admit_claims(
    kb: KnowledgeBase, claims: Sequence[Claim], on_done: Callable[[int], None]
) -> list[Decision]:
    """Decides on claims, in order.

    A claim that is asserted, entailed or already admitted is ``known``; a claim that the oracle
    refutes is ``contradicted``; a claim with label U is ``admitted``, and from then on counts as
    asserted.

    An admission makes the closure of the graph outdated. The closure is recomputed only when a
    later claim has label U by the outdated one. This takes some milliseconds for graphs of a few
    thousand triples.

    Args:
        kb: graph, shapes and oracle.
        claims: the proposed claims.
        on_done: called with the number of claims decided so far.
    """
    oracle, is_outdated = kb.oracle, False
    asserted = list(kb.graph.iter_claims())
    decisions: list[Decision] = []
    for claim in claims:
        verdict = oracle.license(claim)
        # Only label U needs the new closure: admitted claims can turn U into E or C, but they never
        # withdraw an entailment or a contradiction.
        if verdict.label == "U" and is_outdated:
            oracle, is_outdated = kb.oracle.make_local_oracle(asserted, kb.shapes), False
            verdict = oracle.license(claim)
        if verdict.label == "E":
            decisions.append(Decision(claim, "known"))
        elif verdict.label == "C":
            decisions.append(Decision(claim, "contradicted", kb.verbaliser.render_proof(verdict)))
        else:
            decisions.append(Decision(claim, "admitted"))
            asserted.append(claim)
            is_outdated = True
        on_done(len(decisions))
    return decisions
