"""Scores of sections and their chunks for a query.

Of a section's set ``S`` (of graph nodes, or of heading n-grams) and the query's set ``Q``::

    s         = α · |Q ∩ S| / |Q| + (1 - α) · |Q ∩ S| / |S|        coverage and specificity
    own       = w · s_heading + (1 - w) · s_nodes                  w: the heading's weight
    effective = own + decay · effective(parent)

A chunk scores as the best of its sections, divided by the best of all chunks. The formulas and
their values (α = 0.6, w = 0.5, decay = 0.5) are those of the published code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from kg.text.normaliser import content_words, ngrams

DEFAULT_ALPHA = 0.6
HEADING_WEIGHT = 0.5
INHERITANCE_DECAY = 0.5
TIE_STEP = 1e-6
"""By how much of its score, at most, a chunk falls behind another of an equal section."""


class Section(Protocol):
    """What scoring needs of a section."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def parent(self) -> str | None:
        """The id of the section it lies in."""
        ...

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Its own chunks."""
        ...

    @property
    def keywords(self) -> tuple[str, ...]:
        """Graph nodes in it and below it."""
        ...

    @property
    def heading_keywords(self) -> tuple[str, ...]:
        """N-grams of its heading."""
        ...


def heading_keywords(text: str) -> tuple[str, ...]:
    """The normalised 1- to 3-grams of a heading or a query, each once, in order."""
    return tuple(dict.fromkeys(ngrams(content_words(text))))


class SectionScorer:
    """Scores sections, parents before children, by keywords looked up in an inverted index.

    Args:
        sections: every parent before its children.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        places = {section.id: i for i, section in enumerate(sections)}
        self._parents = [
            None if section.parent is None else places[section.parent] for section in sections
        ]
        self._by_node = _inverted(section.keywords for section in sections)
        self._by_ngram = _inverted(section.heading_keywords for section in sections)
        self._corpus_order = {
            chunk: i
            for i, chunk in enumerate(
                dict.fromkeys(chunk for section in sections for chunk in section.chunk_ids)
            )
        }

    def chunk_scores(
        self,
        query: str,
        matched: Collection[str],
        *,
        alpha: float,
        heading_weight: float,
        inheritance_decay: float,
        ties: Mapping[str, float] | None,
    ) -> dict[str, float]:
        """Chunk → score in (0, 1], best first; chunks that score nothing are absent.

        Args:
            query: the question, for the headings.
            matched: graph nodes that the question names.
            alpha: weight of coverage against specificity.
            heading_weight: weight of headings against graph nodes.
            inheritance_decay: share of a section's score that its subsections inherit.
            ties: chunk → anything of which more is better (a node score, BM25). All chunks of a
                section score alike; these put them in order, by less than ``TIE_STEP`` of their
                score. Without them the scores are exactly those of the formulas.
        """
        nodes = dict.fromkeys(matched)
        grams = heading_keywords(query)
        by_node = Counter(i for node in nodes for i in self._by_node.get(node, ()))
        by_gram = Counter(i for gram in grams for i in self._by_ngram.get(gram, ()))
        best: dict[str, float] = {}
        effective: list[float] = []
        for i, section in enumerate(self._sections):
            own = heading_weight * overlap(
                by_gram[i], len(grams), len(section.heading_keywords), alpha
            ) + (1 - heading_weight) * overlap(by_node[i], len(nodes), len(section.keywords), alpha)
            parent = self._parents[i]
            score = own + (0.0 if parent is None else inheritance_decay * effective[parent])
            effective.append(score)
            if score > 0:
                for chunk in section.chunk_ids:
                    best[chunk] = max(score, best.get(chunk, 0.0))
        top = max(best.values(), default=1.0)
        scores = {chunk: score / top for chunk, score in best.items()}
        if ties:
            scores = _untied(scores, ties)
        return dict(
            sorted(scores.items(), key=lambda item: (-item[1], self._corpus_order[item[0]]))
        )


def overlap(common: int, of_query: int, of_section: int, alpha: float) -> float:
    """``α · |Q ∩ S| / |Q| + (1 - α) · |Q ∩ S| / |S|``; 0 where nothing is in common."""
    if not common:
        return 0.0
    return alpha * common / of_query + (1 - alpha) * common / of_section


def _untied(scores: Mapping[str, float], ties: Mapping[str, float]) -> dict[str, float]:
    """The scores, equal ones told apart by a second score."""
    groups: dict[float, list[str]] = {}
    for chunk, score in scores.items():
        groups.setdefault(score, []).append(chunk)
    found: dict[str, float] = {}
    for score, chunks in groups.items():
        seconds = [ties.get(chunk, float("-inf")) for chunk in chunks]
        rank = {second: i for i, second in enumerate(sorted(set(seconds), reverse=True))}
        for chunk, second in zip(chunks, seconds, strict=True):
            found[chunk] = score * (1 - TIE_STEP * rank[second] / len(chunks))
    return found


def _inverted(sets: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, words in enumerate(sets):
        for word in words:
            found.setdefault(word, []).append(i)
    return found
