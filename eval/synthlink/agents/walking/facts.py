"""The facts of a graph as a map to walk on: ways from thing to thing, traits by the wayside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from eval.questions.cues import askable_predicates
from kg.claims import Claim
from retrieval.passages import stated_facts

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class FactMap:
    """What a graph states, by what each fact touches.

    Subjects and objects are nodes, literals too. Ways go from subject to object only, so that
    nothing is walked *through* a year, a country or a maker that two things share.

    Args:
        kb: whose stated facts are taken, but for those of predicates nobody asks about. What the
            graph only entails is licensed too, but would mostly tell the same the other way round.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        asked = frozenset(askable_predicates(kb))
        self.claims: tuple[Claim, ...] = tuple(
            fact.claim
            for fact in stated_facts(kb.graph)
            if not fact.denied and fact.claim.pred in asked
        )
        self._leaving: dict[str, list[int]] = {}
        self._arriving: dict[str, list[int]] = {}
        for place, claim in enumerate(self.claims):
            self._leaving.setdefault(claim.subj, []).append(place)
            self._arriving.setdefault(claim.obj, []).append(place)
        self._ways = frozenset(claim.pred for claim in self.claims if claim.obj in self._leaving)

    def names(self, kb: KnowledgeBase) -> dict[str, list[str]]:
        """All nodes in the graph's order, each with its names; a literal's is as it is told."""
        found: dict[str, list[str]] = {}
        for claim in self.claims:
            for end in (claim.subj, claim.obj):
                if end not in found:
                    literal = end.startswith('"')
                    found[end] = (
                        [kb.words.name(end, claim.pred)] if literal else kb.labels.names(end)
                    )
        return found

    def leaving(self, node: str) -> Sequence[int]:
        """Places, among ``claims``, of the facts that have a node as subject."""
        return self._leaving.get(node, ())

    def arriving(self, node: str) -> Sequence[int]:
        """Places, among ``claims``, of the facts that have a node as object."""
        return self._arriving.get(node, ())

    def is_way(self, claim: Claim) -> bool:
        """Whether a fact is a step of a way, and no mere trait of its subject.

        The objects of some predicates lead on to further facts (an effect has effects); those of
        others never do (makers, years, countries).
        """
        return claim.pred in self._ways

    def bearers(self, node: str) -> list[str]:
        """What has a node as a trait: what was made by a person, what happened in a year."""
        claims = (self.claims[place] for place in self.arriving(node))
        return list(dict.fromkeys(claim.subj for claim in claims if not self.is_way(claim)))

    def around(self, nodes: Sequence[str], hops: int, most: int) -> list[str]:
        """What lies before the first and behind the last node of a way, the nearest first.

        Args:
            nodes: of the way.
            hops: steps at most, of ways only.
            most: nodes at most in each direction.
        """
        met = dict.fromkeys(nodes)
        behind, before = list(nodes[-1:]), list(nodes[:1])
        for _ in range(hops):
            behind = self._next(behind, self.leaving, lambda claim: claim.obj, met, most)
            before = self._next(before, self.arriving, lambda claim: claim.subj, met, most)
        return [node for node in met if node not in nodes]

    def _next(
        self,
        nodes: Iterable[str],
        facts_of: Callable[[str], Sequence[int]],
        end: Callable[[Claim], str],
        met: dict[str, None],
        most: int,
    ) -> list[str]:
        claims = (self.claims[place] for node in nodes for place in facts_of(node))
        ends = dict.fromkeys(end(claim) for claim in claims if self.is_way(claim))
        new = [node for node in ends if node not in met][:most]
        met.update(dict.fromkeys(new))
        return new
