"""Retrieval over the section tree: chunks of the sections whose headings or concepts are asked for.

All chunks of a section score alike; a second retriever puts them in order, by less than could
lift a chunk over one of a better section.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kg.text.sections.scoring import DEFAULT_ALPHA, HEADING_WEIGHT, INHERITANCE_DECAY
from retrieval.protocol import Passage, Retriever
from retrieval.ranking import Searching, best_of, described, places_of, unique_ids

if TYPE_CHECKING:
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.sections.tree import SectionTree


class SectionRetriever(Searching):
    """Finds chunks by their sections.

    Scores are greater than 0 and at most 1, as ``kg.text.sections.scoring`` has them.

    Args:
        passages: the chunks.
        tree: the sections.
        concepts: says which concepts a question names.
        lookup: finds the concepts of words that the graph does not hold itself.
        ties: puts the chunks of one section in order; without it they keep the order of the text.
        alpha: weight of coverage against specificity, in [0, 1].
        heading_weight: weight of headings against concepts, in [0, 1].
        inheritance_decay: share of a section's score that its subsections inherit, in [0, 1].

    Raises:
        ValueError: a parameter is out of bounds.
        DuplicateIdError: two passages bear one id.
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
        ties: Retriever | None = None,
        alpha: float = DEFAULT_ALPHA,
        heading_weight: float = HEADING_WEIGHT,
        inheritance_decay: float = INHERITANCE_DECAY,
    ) -> None:
        if not all(0 <= value <= 1 for value in (alpha, heading_weight, inheritance_decay)):
            raise ValueError("alpha, heading_weight or inheritance_decay is out of bounds")
        self._place = {passage_id: n for n, passage_id in enumerate(unique_ids(passages))}
        for section in tree.nodes.values():
            places_of(section.chunk_ids, self._place, f"section {section.id!r}")
        self._tree, self._concepts, self._lookup, self._ties = tree, concepts, lookup, ties
        self._alpha, self._heading_weight = alpha, heading_weight
        self._inheritance_decay = inheritance_decay
        concepts.prepare()

    def params(self) -> dict[str, object]:
        """What decides the scores, besides tree and graph."""
        return {
            "name": self.name,
            "alpha": self._alpha,
            "heading_weight": self._heading_weight,
            "inheritance_decay": self._inheritance_decay,
            "ties": None if self._ties is None else described(self._ties),
            "lookup": self._lookup is not None,
        }

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; chunks of sections without a match are absent."""
        ties = None
        if self._ties is not None:
            ties = self._ties.get_scores(query, len(self._place))
        scores = self._tree.chunk_scores(
            query,
            self._concepts.match(query, self._lookup),
            self._alpha,
            self._heading_weight,
            self._inheritance_decay,
            ties,
        )
        return best_of(scores, self._place, pool_size, chunks)
