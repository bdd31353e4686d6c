"""Retrieval over the concept graph: what a question names, what is spoken of near it, and where.

The concepts a question names are found by their words, the graph is walked from them, and every
chunk is given the sum of the strengths of the concepts it speaks of::

    score(chunk) = Σ strength(v) over the concepts v of the chunk, divided by the largest of all

Two ways to walk:

* ``bfs``: a named concept has the strength 1, one at ``h`` hops ``neighbor_weight^h · Π w/max_w``
  over the edges of the strongest shortest path to it (``max_w``: the graph's heaviest edge). The
  formula of the published code has ``w/max_w`` of one edge only, however far the node is; with
  one hop, its default, the two are the same. There too a node is met once, at its closest hop.
* ``ppr``: the share of time that a walk spends there which starts at a named concept, follows
  edges by their weight and starts again after each step with probability ``1 - damping``. Damping
  of 0.5 as in B. J. Gutiérrez et al., HippoRAG, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from retrieval.adjacency import Adjacency, offsets, rows_of, sums
from retrieval.protocol import Passage
from retrieval.ranking import Ranked, places_of, unique_ids

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


class ConceptRetriever(Ranked):
    """Finds chunks by the concepts of the question and those around them.

    Scores are greater than 0 and at most 1. A question that names no concept finds nothing.

    With a section tree, ``β · section + (1 - β) · node`` of both scores, either 0 where it is
    absent, as in the published ``KGRetriever``.

    Args:
        passages: the chunks.
        concepts: the graph; read into arrays here, once.
        lookup: finds the concepts of words that the graph does not hold itself.
        mode: how the graph is walked.
        num_hops: of ``bfs``; at least 0.
        neighbor_weight: of ``bfs``; in (0, 1].
        damping: of ``ppr``; in [0, 1).
        sections: blended in, where given.
        beta: the weight of the sections, in [0, 1].

    Raises:
        ValueError: a parameter is out of bounds.
        DuplicateIdError: two passages bear one id.
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
        self.ids = unique_ids(passages)
        self._concepts, self._lookup = concepts, lookup
        self._mode: Mode = mode
        self._num_hops, self._neighbor_weight, self._damping = num_hops, neighbor_weight, damping
        self._sections, self._beta = sections, beta if sections is not None else 0.0
        self._place = {passage_id: n for n, passage_id in enumerate(self.ids)}
        nodes = concepts.nodes
        self._node = {node: n for n, node in enumerate(nodes)}
        self._adjacency = Adjacency(
            len(nodes),
            (
                (self._node[one], self._node[other], weight)
                for one, other, weight in concepts.graph.edges.data("weight")
            ),
        )
        rows = [
            places_of(concepts.chunk_ids(node), self._place, f"concept {node!r}") for node in nodes
        ]
        self._starts = offsets(np.array([len(row) for row in rows], dtype=np.int64))
        self._chunks = np.array([place for row in rows for place in row], dtype=np.int64)
        for section in sections.nodes.values() if sections is not None else ():
            places_of(section.chunk_ids, self._place, f"section {section.id!r}")
        concepts.prepare()
        if mode == "ppr":
            self._adjacency.prepare()

    def params(self) -> dict[str, object]:
        """What decides the scores, besides the graph."""
        if self._mode == "bfs":
            walk = {"num_hops": self._num_hops, "neighbor_weight": self._neighbor_weight}
        else:
            walk = {"damping": self._damping}
        return {
            "name": self.name,
            "mode": self._mode,
            **walk,
            "beta": self._beta,
            "lookup": self._lookup is not None,
        }

    def matched(self, query: str) -> list[str]:
        """The concepts that a question names, in its order."""
        return self._concepts.match(query, self._lookup)

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """As the protocol says; chunks without a concept that was reached are absent."""
        matched = self.matched(query)
        scores = self._node_scores(matched)
        if self._sections is not None and self._beta > 0:
            scores *= 1 - self._beta
            for chunk_id, score in self._sections.chunk_scores(query, matched).items():
                scores[self._place[chunk_id]] += self._beta * score
        return self.best(scores, pool_size, chunks, above=0.0)

    def _node_scores(self, matched: Sequence[str]) -> npt.NDArray[np.float64]:
        """Scores of all chunks by concepts alone, shape (chunks,), the largest 1 or all 0."""
        seeds = np.array(sorted(self._node[node] for node in matched), dtype=np.int64)
        scores = np.zeros(len(self.ids))
        if not len(seeds):
            return scores
        if self._mode == "ppr":
            reached = [self._adjacency.pagerank(seeds, self._damping)]
        else:
            reached = list(self._adjacency.around(seeds, self._num_hops, self._neighbor_weight))
        for nodes, strengths in reached:
            entries, origins = rows_of(self._starts, nodes)
            scores += sums(self._chunks[entries], strengths[origins], len(self.ids))
        largest = scores.max(initial=0.0)
        return scores / largest if largest > 0 else scores
