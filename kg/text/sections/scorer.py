"""Scores sections and their chunks for a query.

With a section's set ``S`` (of graph nodes, or of heading n-grams) and the query's set ``Q``::

    s         = α · |Q ∩ S| / |Q| + (1 - α) · |Q ∩ S| / |S|        coverage and specificity
    own       = w · s_heading + (1 - w) · s_nodes                  w: weight of the heading
    effective = own + decay · effective(parent)

The score of a chunk is that of its best section, divided by the maximum over all chunks. The
formulas and their defaults (α = 0.6, w = 0.5, decay = 0.5) are those of the published code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from kg.words.normaliser import extract_content_words, list_ngrams

DEFAULT_ALPHA = 0.6
"""Default of α, the weight of coverage."""
HEADING_WEIGHT = 0.5
"""Default of w, the weight of the heading."""
INHERITANCE_DECAY = 0.5
"""Default share of a section's score that its subsections inherit."""
MAX_TIE_REDUCTION = 1e-6
"""Maximum relative reduction of a score when ties between chunks are broken."""


class Section(Protocol):
    """The attributes of a section that scores are computed from."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def parent(self) -> str | None:
        """The id of its parent section."""
        ...

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Its own chunks, without those of its subsections."""
        ...

    @property
    def keywords(self) -> tuple[str, ...]:
        """Graph nodes of its chunks and of its subsections."""
        ...

    @property
    def heading_keywords(self) -> tuple[str, ...]:
        """N-grams of its heading."""
        ...


def extract_heading_keywords(text: str) -> tuple[str, ...]:
    """Returns the normalised 1- to 3-grams of a heading or query, each once, in order."""
    return tuple(dict.fromkeys(list_ngrams(extract_content_words(text))))


class SectionScorer:
    """Scores sections by their keywords, using an inverted index.

    Args:
        sections: every parent before its children.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        index_by_id = {section.id: i for i, section in enumerate(sections)}
        self._parents = [
            None if section.parent is None else index_by_id[section.parent] for section in sections
        ]
        self._by_node = _build_inverted_index(section.keywords for section in sections)
        self._by_ngram = _build_inverted_index(section.heading_keywords for section in sections)
        self._corpus_order = {
            chunk: i
            for i, chunk in enumerate(
                dict.fromkeys(chunk for section in sections for chunk in section.chunk_ids)
            )
        }

    def score_chunks(
        self,
        query: str,
        query_nodes: Collection[str],
        *,
        alpha: float,
        heading_weight: float,
        inheritance_decay: float,
        tie_scores: Mapping[str, float] | None,
    ) -> dict[str, float]:
        """Returns chunk → score in (0, 1], best first; chunks that score 0 are left out.

        Args:
            query: the question, matched against the headings.
            query_nodes: graph nodes that the question mentions.
            alpha: weight of coverage; specificity has ``1 - alpha``.
            heading_weight: weight of headings; graph nodes have ``1 - heading_weight``.
            inheritance_decay: share of a section's score that its subsections inherit.
            tie_scores: chunk → a second score, higher is better (such as BM25). All chunks of a
                section have the same score; the second score orders them, by reducing scores by
                less than the share ``MAX_TIE_REDUCTION``. Without it the scores are exactly those
                of the formulas.
        """
        nodes = dict.fromkeys(query_nodes)
        ngrams = extract_heading_keywords(query)
        node_matches = Counter(i for node in nodes for i in self._by_node.get(node, ()))
        ngram_matches = Counter(i for ngram in ngrams for i in self._by_ngram.get(ngram, ()))
        best_scores: dict[str, float] = {}
        effective_scores: list[float] = []
        for i, section in enumerate(self._sections):
            own_score = heading_weight * compute_overlap(
                ngram_matches[i], len(ngrams), len(section.heading_keywords), alpha
            ) + (1 - heading_weight) * compute_overlap(
                node_matches[i], len(nodes), len(section.keywords), alpha
            )
            parent = self._parents[i]
            score = own_score + (
                0.0 if parent is None else inheritance_decay * effective_scores[parent]
            )
            effective_scores.append(score)
            if score > 0:
                for chunk in section.chunk_ids:
                    best_scores[chunk] = max(score, best_scores.get(chunk, 0.0))
        max_score = max(best_scores.values(), default=1.0)
        scores = {chunk: score / max_score for chunk, score in best_scores.items()}
        if tie_scores:
            scores = _break_ties(scores, tie_scores)
        return dict(
            sorted(scores.items(), key=lambda item: (-item[1], self._corpus_order[item[0]]))
        )


def compute_overlap(common: int, query_size: int, section_size: int, alpha: float) -> float:
    """Computes ``α · |Q ∩ S| / |Q| + (1 - α) · |Q ∩ S| / |S|``; 0 if nothing is in common."""
    if not common:
        return 0.0
    return alpha * common / query_size + (1 - alpha) * common / section_size


def _break_ties(scores: Mapping[str, float], tie_scores: Mapping[str, float]) -> dict[str, float]:
    """Returns the scores, with ties broken by a second score."""
    groups: dict[float, list[str]] = {}
    for chunk, score in scores.items():
        groups.setdefault(score, []).append(chunk)
    adjusted_scores: dict[str, float] = {}
    for score, chunks in groups.items():
        chunk_tie_scores = [tie_scores.get(chunk, float("-inf")) for chunk in chunks]
        rank = {
            tie_score: i for i, tie_score in enumerate(sorted(set(chunk_tie_scores), reverse=True))
        }
        for chunk, tie_score in zip(chunks, chunk_tie_scores, strict=True):
            adjusted_scores[chunk] = score * (1 - MAX_TIE_REDUCTION * rank[tie_score] / len(chunks))
    return adjusted_scores


def _build_inverted_index(sets: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for i, words in enumerate(sets):
        for word in words:
            index.setdefault(word, []).append(i)
    return index
