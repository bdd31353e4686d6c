"""Tells facts as prose: in the order of the way, what is said of one thing in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.paths import Chosen
from kg.claims import Claim
from kg.words.plain_text import listing, sentence

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MOST_JOINED = 3
"""Things said in one sentence."""


def in_order(facts: FactMap, chosen: Chosen) -> tuple[Claim, ...]:
    """Facts as they are told, along the way.

    At each node: what else led there, then its traits, then what else came of it, then the step
    that leads on.
    """
    steps = {claim.subj: claim for claim in chosen.way}
    on_the_way = frozenset(chosen.nodes)
    told: dict[Claim, None] = {}
    for node in chosen.nodes:
        told.update(
            dict.fromkeys(
                claim
                for claim in chosen.beside
                if claim.obj == node and claim.subj not in on_the_way
            )
        )
        own = [claim for claim in chosen.beside if claim.subj == node]
        told.update(dict.fromkeys(sorted(own, key=facts.is_way)))
        if node in steps:
            told[steps[node]] = None
    return tuple(told)


def tell(kb: KnowledgeBase, claims: Sequence[Claim]) -> list[str]:
    """Sentences that say the claims and nothing else.

    Neighbours about one thing are joined: "The cotton gin came about through Eli Whitney and first
    appeared in 1794." Where a domain's wording does not begin with the subject, or several
    sentences would be one of more than ``MOST_JOINED`` parts, they stay apart.

    Args:
        kb: whose words are used.
        claims: in order.
    """
    found: list[str] = []
    name, said = "", list[str]()
    for group in _by_predicate(claims):
        subject = kb.words.name(group[0].subj)
        clause = _clause(kb, group)
        joins = clause.startswith(subject + " ")
        if said and (not joins or subject != name or len(said) == MOST_JOINED):
            found.append(_joined(name, said))
            said = []
        if joins:
            name = subject
            said.append(clause.removeprefix(subject + " "))
        else:
            found.append(sentence(clause) + ".")
    if said:
        found.append(_joined(name, said))
    return found


def _by_predicate(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Neighbours that differ in their object alone."""
    groups: list[list[Claim]] = []
    for claim in claims:
        if groups and (groups[-1][0].subj, groups[-1][0].pred) == (claim.subj, claim.pred):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    return groups


def _clause(kb: KnowledgeBase, group: Sequence[Claim]) -> str:
    """What is said of one thing by one predicate: "X came about through A and B"."""
    first = group[0]
    if len(group) == 1:
        return kb.words.clause_of(first)
    objects = listing([kb.words.name(claim.obj, claim.pred) for claim in group])
    return kb.words.clause(first.pred, kb.words.name(first.subj), objects)


def _joined(subject: str, said: Sequence[str]) -> str:
    return sentence(f"{subject} {listing(said)}") + "."
