"""Reads the pages found for a question, and finds the nodes and facts that they mention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from eval.synthlink.agents.library import Hit
from eval.synthlink.agents.trail import CitedPage
from eval.synthlink.agents.walker.node_names import Keys, NodeNames, extract_keys
from kg.claims import Claim

MIN_NAMED_SHARE: Final = 0.5
"""Minimum share of a node's name, by weight, at which a page mentions the node."""
MAX_READ_LENGTH: Final = 4_000
"""Maximum number of characters of a page that are read. In a longer text, two nodes could be
mentioned far apart, which does not connect them but would count as support for a fact on both."""


class ReadPage(NamedTuple):
    """A page that was read."""

    page: CitedPage
    text: str
    """The part of its text that was read."""
    relevance: float
    """Relevance to the question, in [0, 1]."""
    keys: Keys
    """Keys of the words of its title and text."""
    node_shares: dict[str, float]
    """Node → share of its name that occurs in the page, at least ``MIN_NAMED_SHARE``."""

    def compute_support(self, claim: Claim) -> float:
        """Returns how completely the page names both subject and object of a fact, in [0, 1]."""
        return min(self.node_shares.get(claim.subj, 0.0), self.node_shares.get(claim.obj, 0.0))


class PageReader:
    """Reads pages for one question, and collects what they mention.

    Args:
        node_names: finds nodes in texts.
    """

    def __init__(self, node_names: NodeNames) -> None:
        self._node_names = node_names
        self.pages: list[ReadPage] = []
        """Pages in the order they were read."""
        self._node_weights: dict[str, float] = {}
        self._relevance: dict[str, float] = {}
        """Address of a page → its relevance to the question."""
        self._read_urls: set[str] = set()

    def record_relevance(self, hits: Iterable[Hit]) -> None:
        """Records the relevance of pages from a search for the question itself.

        The relevance of a page is the score of its best passage relative to the best passage of
        all; pages that are not among the hits have relevance 0.

        Args:
            hits: passages found by searching for the question, best first.
        """
        best = 0.0
        for hit in hits:
            best = max(best, hit.score)
            if best > 0:
                self._relevance.setdefault(hit.page.url, max(0.0, hit.score / best))

    def read_pages(self, hits: Iterable[Hit]) -> list[ReadPage]:
        """Reads the pages of some hits that were not read before.

        Returns:
            The newly read pages.
        """
        new_pages: list[ReadPage] = []
        for hit in hits:
            if hit.page.url in self._read_urls:
                continue
            self._read_urls.add(hit.page.url)
            text = hit.page.text[:MAX_READ_LENGTH]
            keys = extract_keys(f"{hit.page.title}\n{text}")
            node_shares = self._node_names.find_named_nodes(keys, MIN_NAMED_SHARE)
            relevance = self._relevance.get(hit.page.url, 0.0)
            cited_page = CitedPage(hit.page.url, hit.page.title)
            new_pages.append(ReadPage(cited_page, text, relevance, keys, node_shares))
            for node, share in node_shares.items():
                weight = relevance * share * share
                self._node_weights[node] = max(self._node_weights.get(node, 0.0), weight)
        self.pages += new_pages
        return new_pages

    @property
    def node_weights(self) -> dict[str, float]:
        """Node → how much the pages mention it, in [0, 1]; in the order of the first mentions."""
        return dict(self._node_weights)

    def compute_support(self, claim: Claim) -> float:
        """Returns the support of the page that supports a fact best, in [0, 1]; 0 for no pages."""
        return max((page.compute_support(claim) for page in self.pages), default=0.0)
