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

    A claim that is asserted, entailed or already admitted is ``known``; one that the oracle
    refutes is ``contradicted``; one with label U is ``admitted`` and from then on counts as
    asserted. An admission makes the closure of the graph outdated. It is recomputed only when the
    outdated closure gives a later claim the label U. This takes as long as the first closure, some
    milliseconds for graphs of a few thousand triples.

    Args:
        kb: graph, shapes and oracle.
        claims: the proposed claims.
        on_done: called with the number of claims decided so far.
    """
    oracle, stale = kb.oracle, False
    asserted = list(kb.graph.iter_claims())
    decisions: list[Decision] = []
    for claim in claims:
        verdict = oracle.license(claim)
        # Only U needs the new closure: further claims can turn U into E or C, but they do not
        # withdraw an entailment or a contradiction.
        if verdict.label == "U" and stale:
            oracle, stale = kb.oracle.make_local_oracle(asserted, kb.shapes), False
            verdict = oracle.license(claim)
        if verdict.label == "E":
            decisions.append(Decision(claim, "known"))
        elif verdict.label == "C":
            decisions.append(Decision(claim, "contradicted", kb.verbaliser.render_proof(verdict)))
        else:
            decisions.append(Decision(claim, "admitted"))
            asserted.append(claim)
            stale = True
        on_done(len(decisions))
    return decisions
