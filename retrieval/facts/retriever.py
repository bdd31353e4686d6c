"""Retrieves passages by personalised PageRank over the graph of facts.

The method is that of HippoRAG 2 (see ``retrieval.facts.fact_graph``), without its call of a model
that rejects facts. For each question:

1. Facts are scored by their words (BM25) and by the cosine of their embedding, each scaled to 0…1.
2. The walk restarts at the phrases of the best ``LINKED_FACTS`` facts. The weight of a phrase is
   the mean score of its facts, divided by the number of passages with a fact about it.
3. It also restarts at every passage, with ``PASSAGE_WEIGHT`` times the passage's own score, scaled
   to 0…1: its cosine with the question.
4. The score of a passage is the share of time that the walk spends there, divided by the largest.

An embedder that compares spellings only (``lexical``) shows no likeness in meaning. With it, facts
are linked by their words alone, and the passages' own scores are those of BM25.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import numpy as np

from kg.embedding.lexical import NAME as LEXICAL
from retrieval.base import CorpusRetriever, collect_unique_ids, describe_retriever
from retrieval.bm25 import BM25
from retrieval.dense import compute_cosines, embed_query, embed_texts
from retrieval.facts.fact_graph import SYNONYM_THRESHOLD, FactGraph
from retrieval.protocol import Passage

if TYPE_CHECKING:
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.facts.fact import Fact

    Floats = npt.NDArray[np.float64]

LINKED_FACTS: Final = 5
PASSAGE_WEIGHT: Final = 0.05
DAMPING: Final = 0.5
"""As published with HippoRAG 2; not tuned."""


class PassageScorer(Protocol):
    """Scores all passages of the corpus for a question; ``BM25`` and ``DenseRetriever`` do."""

    name: str

    def score_passages(self, query: str) -> npt.NDArray[np.floating[Any]]:
        """Returns the scores in corpus order, shape (passages,)."""
        ...


class FactRetriever(CorpusRetriever):
    """Retrieves passages by personalised PageRank over the graph of facts.

    Scores are at most 1, and those of passages that the walk never reaches are absent.

    Args:
        passages: the chunks.
        facts: facts of these chunks.
        embedder: compares facts with the question, and phrases with each other.
        scorer: gives each passage's own score; over the same passages.
        source: where the facts are from, for the manifest.
        cache: folder that caches embeddings; None for no cache.
        linked_facts: number of facts whose phrases the walk restarts at; at least 1.
        passage_weight: weight of a passage's own score; at least 0.
        damping: probability that the walk goes on after a step; in [0, 1).
        threshold: smallest cosine of phrases that mean the same.

    Raises:
        ValueError: a parameter is out of bounds.
        DuplicateIdError: two passages have the same id.
    """

    name = "facts"

    def __init__(
        self,
        passages: Sequence[Passage],
        facts: Sequence[Fact],
        embedder: Embedder,
        scorer: PassageScorer,
        *,
        source: str,
        cache: Path | None = None,
        linked_facts: int = LINKED_FACTS,
        passage_weight: float = PASSAGE_WEIGHT,
        damping: float = DAMPING,
        threshold: float = SYNONYM_THRESHOLD,
    ) -> None:
        if linked_facts < 1 or passage_weight < 0 or not 0 <= damping < 1:
            raise ValueError("linked_facts, passage_weight or damping is out of bounds")
        self.ids = collect_unique_ids(passages)
        self._embedder, self._scorer = embedder, scorer
        self._linked_facts, self._passage_weight = linked_facts, passage_weight
        self._damping, self._threshold = damping, threshold
        self._source, self._facts_sha256 = source, _hash_facts(facts)
        positions = {passage_id: position for position, passage_id in enumerate(self.ids)}
        self.graph = FactGraph(facts, positions, embedder, cache=cache, threshold=threshold)
        self.graph.adjacency.build_matrix()
        texts = self.graph.fact_texts
        self._words = BM25([Passage(str(n), text) for n, text in enumerate(texts)])
        self._vectors = (
            embed_texts(texts, embedder, cache) if texts and embedder.name != LEXICAL else None
        )

    def params(self) -> dict[str, object]:
        """Returns the parameters that determine the scores."""
        return {
            "name": self.name,
            "facts": self._source,
            "facts_sha256": self._facts_sha256,
            "embedder": self._embedder.name,
            "weights_sha256": self._embedder.sha256 or None,
            "passages": describe_retriever(self._scorer),  # type: ignore[arg-type]
            "linked_facts": self._linked_facts,
            "passage_weight": self._passage_weight,
            "damping": self._damping,
            "synonym_threshold": self._threshold,
        }

    def link_facts(self, query: str) -> list[tuple[str, float]]:
        """Returns the texts of the facts that a question is linked to, with their scores."""
        scores = self._score_facts(query)
        return [
            (self.graph.fact_texts[n], float(scores[n]))
            for n in self._select_facts(scores).tolist()
        ]

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        """See ``Retriever``; passages that the walk never reaches are absent."""
        if not self.ids:
            return {}
        restart = np.concatenate(
            (
                self._weigh_phrases(query),
                self._passage_weight * _scale(self._scorer.score_passages(query)),
            )
        )
        if restart.sum() <= 0:
            return {}
        shares = self.graph.adjacency.compute_weighted_pagerank(restart, self._damping)
        scores = shares[len(self.graph.phrases) :]
        largest = scores.max()
        return self.rank_scores(
            scores / largest if largest > 0 else scores, pool_size, chunks, above=0.0
        )

    def _score_facts(self, query: str) -> Floats:
        """Returns the scores of all facts, from 0 to 1, shape (texts,)."""
        scores = _scale(self._words.score_passages(query))
        if self._vectors is not None:
            vector = embed_query(query, self._embedder)
            scores = (scores + _scale(compute_cosines(self._vectors, vector))) / 2
        return scores

    def _select_facts(self, scores: Floats) -> npt.NDArray[np.int64]:
        """Returns the best facts with a score, best first."""
        best = np.argsort(-scores, kind="stable")[: self._linked_facts]
        return best[scores[best] > 0]

    def _weigh_phrases(self, query: str) -> Floats:
        """Returns how often the walk restarts at each phrase, not normalised."""
        weights = np.zeros(len(self.graph.phrases))
        counts = np.zeros(len(self.graph.phrases))
        scores = self._score_facts(query)
        for fact in self._select_facts(scores).tolist():
            nodes = self.graph.fact_phrases[fact]
            weights[nodes] += scores[fact] / self.graph.passage_counts[nodes]
            counts[nodes] += 1
        return weights / np.maximum(counts, 1)


def _scale(scores: npt.NDArray[np.floating[Any]]) -> Floats:
    """Scales scores to 0…1 by the smallest and largest; equal ones become 1 if above 0, else 0."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.full(len(values), float(high > 0))


def _hash_facts(facts: Sequence[Fact]) -> str:
    """Returns the hash of the facts, in any order."""
    hasher = hashlib.sha256()
    for line in sorted(msgspec.json.encode(fact) for fact in facts):
        hasher.update(line + b"\n")
    return hasher.hexdigest()
