"""The graph of facts: phrases and passages are nodes.

As in B. J. Gutiérrez et al., From RAG to Memory: Non-Parametric Continual Learning for Large
Language Models (HippoRAG 2), ICML 2025, three kinds of undirected edges link them:

* the two phrases of each fact, weight 2 for each passage's statement of it (1 in each direction),
* each phrase and each passage with a fact about it, weight 1,
* phrases with a cosine of ``SYNONYM_THRESHOLD`` or more and the same numbers, weight 2 · cosine:
  embeddings hardly tell 1963 from 1964.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from retrieval.adjacency import Adjacency
from retrieval.dense import embed_texts

if TYPE_CHECKING:
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.facts.fact import Fact

SYNONYM_THRESHOLD: Final = 0.8
"""Smallest cosine of phrases that mean the same, as published with HippoRAG 2."""
_DIGITS: Final = re.compile(r"\d+")
MIN_SYNONYM_LENGTH: Final = 3
"""Number of letters and digits that a phrase with synonyms has, as published with HippoRAG 2."""


class FactGraph:
    """Phrases, passages and facts, in an order that does not depend on that of the facts.

    Args:
        facts: the facts.
        positions: id of a passage → its position in the corpus.
        embedder: compares phrases.
        cache: folder that caches embeddings; None for no cache.
        threshold: smallest cosine of phrases that mean the same.

    Attributes:
        phrases: the phrases, sorted; phrase ``n`` is node ``n``.
        fact_texts: each different text of a fact, sorted.
        fact_phrases: for each text, the phrases of its facts.
        passage_counts: for each phrase, the number of passages with a fact about it.
        n_synonyms: number of pairs of phrases that mean the same.
        adjacency: the edges; the node of the passage at position ``p`` is ``len(phrases) + p``.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        positions: Mapping[str, int],
        embedder: Embedder,
        *,
        cache: Path | None = None,
        threshold: float = SYNONYM_THRESHOLD,
    ) -> None:
        edge_weights: Counter[tuple[str, str]] = Counter()
        passages_of: dict[str, set[int]] = {}
        phrases_of_text: dict[str, set[str]] = {}
        for fact in facts:
            subject, obj = fact.phrases
            if not (subject and obj):
                continue
            for phrase in (subject, obj):
                passages_of.setdefault(phrase, set()).add(positions[fact.chunk_id])
            phrases_of_text.setdefault(fact.text, set()).update((subject, obj))
            if subject != obj:
                edge_weights[min(subject, obj), max(subject, obj)] += 2
        self.phrases = sorted(passages_of)
        self._node_of = {phrase: node for node, phrase in enumerate(self.phrases)}
        self.fact_texts = sorted(phrases_of_text)
        self.fact_phrases = [
            np.array(sorted(self._node_of[phrase] for phrase in phrases_of_text[text]))
            for text in self.fact_texts
        ]
        self.passage_counts = np.array([len(passages_of[phrase]) for phrase in self.phrases])
        synonyms = list(self._iter_synonyms(embedder, cache, threshold))
        self.n_synonyms = len(synonyms)
        offset = len(self.phrases)
        weights: Counter[tuple[int, int]] = Counter()
        for (left, right), weight in sorted(edge_weights.items()):
            weights[self._node_of[left], self._node_of[right]] += weight
        edges: dict[tuple[int, int], float] = dict(weights)
        # A synonym's weight is added, so that related phrases with like names are linked once.
        for left_node, right_node, cosine in synonyms:
            edge = (left_node, right_node)
            edges[edge] = edges.get(edge, 0.0) + 2 * cosine
        for phrase in self.phrases:
            for position in sorted(passages_of[phrase]):
                edges[self._node_of[phrase], offset + position] = 1.0
        self.adjacency = Adjacency(
            offset + len(positions), ((*edge, weight) for edge, weight in edges.items())
        )

    def _iter_synonyms(
        self, embedder: Embedder, cache: Path | None, threshold: float
    ) -> Iterator[tuple[int, int, float]]:
        """Yields each pair of phrases that mean the same, with its cosine."""
        from kg.text.canonical.similar_pairs import find_similar_pairs

        if len(self.phrases) < 2:
            return
        vectors: npt.NDArray[np.float32] = embed_texts(self.phrases, embedder, cache)
        rows = np.arange(len(self.phrases))
        pairs, _ = find_similar_pairs(vectors, rows, rows, 1.0 - threshold)
        order = np.lexsort((pairs.second, pairs.first))
        for left, right, distance in zip(
            pairs.first[order].tolist(),
            pairs.second[order].tolist(),
            pairs.distance[order].tolist(),
            strict=True,
        ):
            first, second = self.phrases[left], self.phrases[right]
            has_letters = all(
                sum(map(str.isalnum, phrase)) >= MIN_SYNONYM_LENGTH for phrase in (first, second)
            )
            if has_letters and _DIGITS.findall(first) == _DIGITS.findall(second):
                yield left, right, 1.0 - distance
