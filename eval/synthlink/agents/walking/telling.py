"""Tells facts as prose: in the order of the way, what is said of one thing in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.guard.stream import Guard
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


class Teller:
    """Puts facts in sentences that say them and nothing else.

    Args:
        kb: whose words are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._guard = Guard(kb)

    def tell(self, claims: Sequence[Claim]) -> list[str]:
        """Sentences that say the claims.

        Neighbours about one thing are joined, up to ``MOST_JOINED`` in a sentence: "The cotton gin
        came about through Eli Whitney and first appeared in 1794." They stay apart where a domain's
        wording does not begin with the subject, and where the stream guard would not read from the
        sentence what was put in it: what one reader takes for another claim, another might too.

        Args:
            claims: in order; all of them licensed.
        """
        found: list[str] = []
        for run in _about_one(claims):
            for start in range(0, len(run), MOST_JOINED):
                groups = run[start : start + MOST_JOINED]
                joined = self._joined(groups)
                if joined and self._is_read(joined, groups):
                    found.append(joined)
                else:
                    found += [self._kb.words.fact(claim) for group in groups for claim in group]
        return found

    def _joined(self, groups: Sequence[Sequence[Claim]]) -> str:
        """One sentence about one thing; empty where the wording allows none."""
        subject = self._kb.words.name(groups[0][0].subj)
        clauses = [self._clause(group) for group in groups]
        if not all(clause.startswith(subject + " ") for clause in clauses):
            return ""
        said = listing([clause.removeprefix(subject + " ") for clause in clauses])
        return sentence(f"{subject} {said}") + "."

    def _clause(self, group: Sequence[Claim]) -> str:
        """What is said of one thing by one predicate: "X came about through A and B"."""
        first, words = group[0], self._kb.words
        if len(group) == 1:
            return words.clause_of(first)
        objects = listing([words.name(claim.obj, claim.pred) for claim in group])
        return words.clause(first.pred, words.name(first.subj), objects)

    def _is_read(self, text: str, groups: Sequence[Sequence[Claim]]) -> bool:
        events = list(self._guard.events([text]))
        read = {claim for event in events for claim in event.claims}
        meant = {claim for group in groups for claim in group}
        return meant <= read and all(event.kind == "licensed" for event in events)


def _about_one(claims: Sequence[Claim]) -> list[list[list[Claim]]]:
    """Neighbours about one subject, and among these the neighbours by one predicate."""
    runs: list[list[list[Claim]]] = []
    for group in _by_predicate(claims):
        if runs and runs[-1][0][0].subj == group[0].subj:
            runs[-1].append(group)
        else:
            runs.append([group])
    return runs


def _by_predicate(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Neighbours that differ in their object alone."""
    groups: list[list[Claim]] = []
    for claim in claims:
        if groups and (groups[-1][0].subj, groups[-1][0].pred) == (claim.subj, claim.pred):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    return groups
