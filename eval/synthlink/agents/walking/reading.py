"""What was read, and what it says of nodes and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from eval.synthlink.agents.library import Hit
from eval.synthlink.agents.trail import Cited
from eval.synthlink.agents.walking.naming import Keys, Naming, keys_of
from kg.claims import Claim

LEAST_NAMED = 0.5
"""Share of a node's name, by weight, from which a passage speaks of it."""


class Passage(NamedTuple):
    """A passage that was read."""

    page: Cited
    text: str
    weight: float
    """Its relevance to the question, in [0, 1]."""
    keys: Keys
    """Of its words and its page's title."""
    named: dict[str, float]
    """Node → share of its name that the passage has, at least ``LEAST_NAMED``."""

    def bears(self, claim: Claim) -> float:
        """How far it speaks of both ends of a fact, in [0, 1]."""
        return min(self.named.get(claim.subj, 0.0), self.named.get(claim.obj, 0.0))


class Reading:
    """All that was read for one question."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self.passages: list[Passage] = []
        self._nodes: dict[str, float] = {}
        self._read: set[tuple[str, str]] = set()

    def read(self, hits: Iterable[Hit], relevance: Callable[[Hit], float]) -> list[Passage]:
        """Reads what a search found, but for what was read before.

        Args:
            hits: best first.
            relevance: of a passage to the question, in [0, 1].

        Returns:
            What is new.
        """
        new: list[Passage] = []
        for hit in hits:
            page = Cited(hit.page.url, hit.page.title)
            if (page.url, hit.passage) in self._read:
                continue
            self._read.add((page.url, hit.passage))
            keys = keys_of(f"{page.title}\n{hit.passage}")
            named = self._naming.named(keys, LEAST_NAMED)
            new.append(Passage(page, hit.passage, relevance(hit), keys, named))
        self.passages += new
        for passage in new:
            for node, share in passage.named.items():
                told = passage.weight * share * share
                self._nodes[node] = max(self._nodes.get(node, 0.0), told)
        return new

    @property
    def nodes(self) -> dict[str, float]:
        """Node → how much what was read speaks of it, in [0, 1]; in the order they were met."""
        return dict(self._nodes)

    def support(self, claim: Claim) -> float:
        """How far one passage speaks of both ends of a fact; 0 where none has enough of either."""
        return max((passage.bears(claim) for passage in self.passages), default=0.0)
