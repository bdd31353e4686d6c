"""Retrieves chunks by the concepts that a question names and their neighbours in the graph.

The concepts that a question names are found by their words. From them, strengths are spread over
the graph. Every chunk gets the sum of the strengths of its concepts::

    score(chunk) = Σ strength(v) over the concepts v of the chunk, divided by the largest of all

Two ways to spread strengths:

* ``bfs``: a named concept has the strength 1. A concept at ``h`` hops has the strength
  ``neighbor_weight^h · Π w/max_w`` over the edges of the strongest shortest path to it, where
  ``max_w`` is the largest weight in the graph. The published code uses ``w/max_w`` of one edge
  only, at any distance; with one hop, its default, the two are the same. In both, a node counts
  once, at its shortest distance.
* ``ppr``: the share of time that a random walk spends at the concept. The walk starts at a named
  concept, follows edges by their weight and restarts after each step with probability
  ``1 - damping``. Damping of 0.5 as in B. J. Gutiérrez et al., HippoRAG, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from retrieval.adjacency import Adjacency, compute_offsets, expand_rows, sum_by_index
from retrieval.base import CorpusRetriever, collect_unique_ids, find_positions
from retrieval.protocol import Passage

if TYPE_CHECKING:
    import numpy.typing as npt

    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.sections.tree import SectionTree

Mode = Literal["bfs", "ppr"]

NUM_HOPS = 1
NEIGHBOR_WEIGHT = 0.5
DAMPING = 0.5
BETA = 0.5
"""Defaults of the parameters of ``ConceptRetriever`` with the same names."""


class ConceptRetriever(CorpusRetriever):
    """Retrieves chunks by the concepts of the question and their neighbours.

    Scores are greater than 0 and at most 1. A question that does not name a concept gets no chunks.

    With a section tree, the score is ``β · section + (1 - β) · concept``, where a missing score
    counts as 0, as in the published ``KGRetriever``.

    Args:
        passages: the chunks.
        concepts: the graph; converted to arrays once.
        lookup: finds concepts for words that the graph does not contain.
        mode: how strengths are spread: ``bfs`` or ``ppr``.
        num_hops: maximum number of hops of ``bfs``; at least 0.
        neighbor_weight: factor of ``bfs`` for each hop; in (0, 1].
        damping: probability of ``ppr`` that the walk goes on after a step; in [0, 1).
        sections: section tree whose scores are blended in.
        beta: the weight of the sections, in [0, 1].

    Raises:
        ValueError: a parameter is out of bounds.
        DuplicateIdError: two passages have the same id.
        RunFolderError: graph or sections name a chunk that is not among ``passages``.
    """

    name = "kg"

    def __init__(
        self,
        passages: Sequence[Passage],
        concepts: ConceptGraph,
        *,
        lookup: CanonicalLookup | None = None,
        mode: Mode = "bfs",
        num_hops: int = NUM_HOPS,
        neighbor_weight: float = NEIGHBOR_WEIGHT,
        damping: float = DAMPING,
        sections: SectionTree | None = None,
        beta: float = BETA,
    ) -> None:
        if num_hops < 0 or not (0 < neighbor_weight <= 1 and 0 <= damping < 1 and 0 <= beta <= 1):
            raise ValueError("num_hops, neighbor_weight, damping or beta is out of bounds")
        self.ids = collect_unique_ids(passages)
        self._concepts, self._lookup = concepts, lookup
        self._mode: Mode = mode
        self._num_hops, self._neighbor_weight, self._damping = num_hops, neighbor_weight, damping
        self._sections, self._beta = sections, beta if sections is not None else 0.0
        self._position = {passage_id: n for n, passage_id in enumerate(self.ids)}
        nodes = concepts.nodes
        self._node_index = {node: n for n, node in enumerate(nodes)}
        self._adjacency = Adjacency(
            len(nodes),
            (
                (self._node_index[left], self._node_index[right], weight)
                for left, right, weight in concepts.graph.edges.data("weight")
            ),
        )
        rows = [
            find_positions(concepts.get_chunk_ids(node), self._position, f"concept {node!r}")
            for node in nodes
        ]
        # The chunk positions of all concepts in one array, and where those of each concept start.
        self._starts = compute_offsets(np.array([len(row) for row in rows], dtype=np.int64))
        self._chunks = np.array([position for row in rows for position in row], dtype=np.int64)
        # Called for its check only: a section may name a chunk that is not in the corpus.
        for section in sections.nodes.values() if sections is not None else ():
            find_positions(section.chunk_ids, self._position, f"section {section.id!r}")
        concepts.build_indexes()
        if mode == "ppr":
            self._adjacency.build_matrix()

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores, besides the graph."""
        if self._mode == "bfs":
            spread_params = {"num_hops": self._num_hops, "neighbor_weight": self._neighbor_weight}
        else:
            spread_params = {"damping": self._damping}
        return {
            "name": self.name,
            "mode": self._mode,
            **spread_params,
            "beta": self._beta,
            "lookup": self._lookup is not None,
        }

    def match_concepts(self, query: str) -> list[str]:
        """Finds the concepts that a question names, in the order of the question."""
        return self._concepts.match_concepts(query, self._lookup)

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; chunks that contain no concept with a strength are absent."""
        concept_ids = self.match_concepts(query)
        scores = self._score_by_concepts(concept_ids)
        if self._sections is not None and self._beta > 0:
            scores *= 1 - self._beta
            for chunk_id, score in self._sections.score_chunks(query, concept_ids).items():
                scores[self._position[chunk_id]] += self._beta * score
        return self.rank_scores(scores, pool_size, chunks, above=0.0)

    def _score_by_concepts(self, concept_ids: Sequence[str]) -> npt.NDArray[np.float64]:
        """Scores all chunks by concepts alone.

        Returns:
            Scores of shape (chunks,); the largest is 1, or all are 0.
        """
        seeds = np.array(sorted(self._node_index[node] for node in concept_ids), dtype=np.int64)
        scores = np.zeros(len(self.ids))
        if not len(seeds):
            return scores
        if self._mode == "ppr":
            strength_groups = [self._adjacency.compute_pagerank(seeds, self._damping)]
        else:
            strength_groups = list(
                self._adjacency.spread_by_hops(seeds, self._num_hops, self._neighbor_weight)
            )
        for nodes, strengths in strength_groups:
            entries, origins = expand_rows(self._starts, nodes)
            scores += sum_by_index(self._chunks[entries], strengths[origins], len(self.ids))
        largest = scores.max(initial=0.0)
        return scores / largest if largest > 0 else scores
