"""What was read, and what it says of nodes and facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from eval.synthlink.agents.library import Hit
from eval.synthlink.agents.trail import Cited
from eval.synthlink.agents.walking.naming import Keys, Naming, keys_of
from kg.claims import Claim

LEAST_NAMED: Final = 0.5
"""Share of a node's name, by weight, from which a page speaks of it."""
MOST_READ: Final = 4_000
"""Characters of a page that are read; what two places farther apart say is not one thing."""


class ReadPage(NamedTuple):
    """A page that was read."""

    page: Cited
    text: str
    """What was read of it."""
    relevance: float
    """To the question, in [0, 1]."""
    keys: Keys
    """Of its title and text."""
    named: dict[str, float]
    """Node → share of its name that the page has, at least ``LEAST_NAMED``."""

    def bears(self, claim: Claim) -> float:
        """How far it speaks of both ends of a fact, in [0, 1]."""
        return min(self.named.get(claim.subj, 0.0), self.named.get(claim.obj, 0.0))


class Reading:
    """All that was read for one question.

    Args:
        naming: finds nodes in texts.
    """

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self.pages: list[ReadPage] = []
        """In the order they were read."""
        self._nodes: dict[str, float] = {}
        self._relevance: dict[str, float] = {}
        self._urls: set[str] = set()

    def weigh(self, hits: Iterable[Hit]) -> None:
        """Learns which pages are relevant, from what the question itself found.

        Args:
            hits: best first. A page is as relevant as its best passage, against the best of all;
                one that was not found is not relevant at all.
        """
        best = 0.0
        for hit in hits:
            best = max(best, hit.score)
            if best > 0:
                self._relevance.setdefault(hit.page.url, max(0.0, hit.score / best))

    def read(self, hits: Iterable[Hit]) -> list[ReadPage]:
        """Reads the pages that were found, but for those that were read before.

        Returns:
            What is new.
        """
        new: list[ReadPage] = []
        for hit in hits:
            if hit.page.url in self._urls:
                continue
            self._urls.add(hit.page.url)
            text = hit.page.text[:MOST_READ]
            keys = keys_of(f"{hit.page.title}\n{text}")
            named = self._naming.named(keys, LEAST_NAMED)
            relevance = self._relevance.get(hit.page.url, 0.0)
            cited = Cited(hit.page.url, hit.page.title)
            new.append(ReadPage(cited, text, relevance, keys, named))
            for node, share in named.items():
                told = relevance * share * share
                self._nodes[node] = max(self._nodes.get(node, 0.0), told)
        self.pages += new
        return new

    @property
    def nodes(self) -> dict[str, float]:
        """Node → how much what was read speaks of it, in [0, 1]; in the order they were met."""
        return dict(self._nodes)

    def support(self, claim: Claim) -> float:
        """How far one page speaks of both ends of a fact; 0 where none has enough of either."""
        return max((page.bears(claim) for page in self.pages), default=0.0)
