"""Retrieves chunks by the headings and concepts of their sections.

All chunks of a section have the same score. A second retriever can break these ties. It changes
scores so little that no chunk moves above a chunk of a better section.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kg.text.sections.scorer import DEFAULT_ALPHA, HEADING_WEIGHT, INHERITANCE_DECAY
from retrieval.base import (
    BaseRetriever,
    collect_unique_ids,
    describe_retriever,
    find_positions,
    rank_passages,
)
from retrieval.protocol import Passage, Retriever

if TYPE_CHECKING:
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.sections.tree import SectionTree


class SectionRetriever(BaseRetriever):
    """Retrieves chunks by their sections.

    Scores are greater than 0 and at most 1, as computed by ``kg.text.sections.scorer``.

    Args:
        passages: the chunks.
        tree: the sections.
        concepts: finds the concepts that a question names.
        lookup: finds concepts for words that the graph does not contain.
        tie_breaker: orders the chunks of one section; without it they keep the order of the text.
        alpha: weight of coverage against specificity, in [0, 1].
        heading_weight: weight of headings against concepts, in [0, 1].
        inheritance_decay: share of a section's score that its subsections inherit, in [0, 1].

    Raises:
        ValueError: a parameter is out of bounds.
        DuplicateIdError: two passages have the same id.
        RunFolderError: the tree names a chunk that is not among ``passages``.
    """

    name = "section_tree"

    def __init__(
        self,
        passages: Sequence[Passage],
        tree: SectionTree,
        concepts: ConceptGraph,
        *,
        lookup: CanonicalLookup | None = None,
        tie_breaker: Retriever | None = None,
        alpha: float = DEFAULT_ALPHA,
        heading_weight: float = HEADING_WEIGHT,
        inheritance_decay: float = INHERITANCE_DECAY,
    ) -> None:
        if not all(0 <= value <= 1 for value in (alpha, heading_weight, inheritance_decay)):
            raise ValueError("alpha, heading_weight or inheritance_decay is out of bounds")
        self._position = {
            passage_id: n for n, passage_id in enumerate(collect_unique_ids(passages))
        }
        # Called for its check only: a section may name a chunk that is not in the corpus.
        for section in tree.nodes.values():
            find_positions(section.chunk_ids, self._position, f"section {section.id!r}")
        self._tree, self._concepts, self._lookup, self._tie_breaker = (
            tree,
            concepts,
            lookup,
            tie_breaker,
        )
        self._alpha, self._heading_weight = alpha, heading_weight
        self._inheritance_decay = inheritance_decay
        concepts.build_indexes()

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores, besides tree and graph."""
        return {
            "name": self.name,
            "alpha": self._alpha,
            "heading_weight": self._heading_weight,
            "inheritance_decay": self._inheritance_decay,
            "ties": None if self._tie_breaker is None else describe_retriever(self._tie_breaker),
            "lookup": self._lookup is not None,
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; chunks of sections without a match are absent."""
        ties = None
        if self._tie_breaker is not None:
            ties = self._tie_breaker.get_scores(query, len(self._position))
        scores = self._tree.score_chunks(
            query,
            self._concepts.match_concepts(query, self._lookup),
            self._alpha,
            self._heading_weight,
            self._inheritance_decay,
            ties,
        )
        return rank_passages(scores, self._position, pool_size, chunks)
