"""Ranks the concepts of a run by how much the text is about them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.words.normaliser import extract_content_words, split_words, stem_word

MAX_HEADING_LENGTH: Final = 300
"""Maximum number of characters of a heading that are searched for concepts."""
MIN_CHUNKS: Final = 2
"""Number of chunks that a concept must have to hide the shorter ones inside it."""
COMMON_WORDS: Final = Path(__file__).with_name("common_words.tsv")
"""Words of documentation and the share of chunks that has them, in most collections of some ten;
written by ``benchmarks/count_common_words.py``."""
# Marks inside names such as "node.js" are no boundaries.
_CLAUSE_BOUNDARY: Final = re.compile(r"[.,;:!?()\[\]{}\"“”|—–](?:\s|$)|\n\s*\n")


def rank_concepts(concepts: ConceptGraph, chunks: Sequence[Chunk]) -> list[str]:
    """Returns all concepts, those that the text is most about first.

    The order is that of chunks · excess · log2(1 + words) · log2(2 + headings), where

    * chunks are those in which the concept occurs on its own, and not only inside longer ones, as
      "user" does in "user agent". That and the factor for the number of its words is the idea of
      C-value (K. Frantzi et al., Automatic recognition of multi-word terms, 2000).
    * excess is 1 less the share of chunks that any documentation has with an English word over the
      share that this text has, at least 0: "default" and "example" are everywhere.
    * headings are the different ones that name it, since they say what a text treats.
    """
    headings = _count_headings(concepts, chunks)
    own_chunks: Counter[str] = Counter()
    for chunk in chunks:
        own_chunks.update(_list_own_concepts(concepts, chunk))
    excess = _measure_excess(concepts, chunks)

    def score(node: str) -> float:
        n_words = node.count(" ") + 1
        weight = math.log2(1 + n_words) * math.log2(2 + headings[node])
        return own_chunks[node] * excess.get(node, 1) * weight

    return sorted(
        concepts.attributes,
        key=lambda node: (-score(node), -len(concepts.get_chunk_ids(node)), node),
    )


def _count_headings(concepts: ConceptGraph, chunks: Iterable[Chunk]) -> Counter[str]:
    """Returns concept → number of different headings that name it."""
    headings = {str(h) for chunk in chunks for h in chunk.metadata.get("section_path", ())}
    return Counter(
        node
        for heading in sorted(headings)
        for node in concepts.match_concepts(heading[:MAX_HEADING_LENGTH])
    )


def _list_own_concepts(concepts: ConceptGraph, chunk: Chunk) -> set[str]:
    """Returns the concepts of a chunk that occur in it outside longer concepts."""
    found: set[str] = set()
    for clause in _CLAUSE_BOUNDARY.split(chunk.prose):
        hidden_to = 0  # the furthest end of a concept that begins here or before
        for _, end, node in concepts.find_mentions([*map(stem_word, split_words(clause))]):
            if end > hidden_to:
                found.add(node)
            if len(concepts.get_chunk_ids(node)) >= MIN_CHUNKS:
                hidden_to = max(hidden_to, end)
    return found.intersection(concepts.get_chunk_nodes(chunk.id))


def _measure_excess(concepts: ConceptGraph, chunks: Sequence[Chunk]) -> dict[str, float]:
    """Returns the excess of the concepts that are common English words, see ``rank_concepts``."""
    common = {word: share for word, share in load_common_words().items() if word in concepts}
    counts: Counter[str] = Counter()
    english = [chunk for chunk in chunks if str(chunk.metadata.get("language", "en"))[:2] == "en"]
    for chunk in english:
        counts.update(common.keys() & set(extract_content_words(chunk.prose)))
    return {
        word: max(0.0, 1 - share * len(english) / counts[word])
        for word, share in common.items()
        if counts[word]
    }


@cache
def load_common_words() -> Mapping[str, float]:
    """Returns the stems of common words of documentation → the share of chunks that has them."""
    rows = (line.split("\t") for line in COMMON_WORDS.read_text(encoding="utf-8").splitlines())
    return {word: float(share) for word, share in rows}
