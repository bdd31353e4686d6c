"""Builds the concept graph from the keywords of each chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.concept_links import ConceptLinks, count_shared_chunks
from kg.text.keywords.protocol import ChunkKeywords
from kg.triples.loader import pause_garbage_collection
from kg.words.normaliser import normalise_phrase

if TYPE_CHECKING:
    from kg.text.canonical.table import CanonicalTable

MAX_LINKED_KEYWORDS = 500
"""Maximum number of keywords per chunk that are linked, best first; limits the number of pairs."""


def link_concepts(
    chunk_keywords: Sequence[ChunkKeywords],
    table: CanonicalTable | None = None,
    min_cooccurrence: int = 1,
    *,
    drop_isolates: bool = False,
) -> ConceptGraph:
    """Links concepts that are keywords of the same chunk.

    Args:
        chunk_keywords: each chunk's keywords, in the order of the text; each chunk once.
        table: maps keywords to concepts; without it, only keywords with the same normal form share
            a concept.
        min_cooccurrence: minimum number of shared chunks of two linked concepts.
        drop_isolates: leaves out concepts without a link.

    Returns:
        The graph. Its NPMI values count all chunks, including those without keywords.

    Raises:
        ValueError: ``min_cooccurrence`` is below 1, or a chunk occurs twice.
    """
    if min_cooccurrence < 1:
        raise ValueError("min_cooccurrence must be at least 1")
    chunk_order = [row.chunk_id for row in chunk_keywords]
    if len(set(chunk_order)) < len(chunk_order):
        raise ValueError("a chunk occurs twice")
    with pause_garbage_collection():
        return _build_concept_graph(
            chunk_keywords, chunk_order, table, min_cooccurrence, drop_isolates
        )


def _build_concept_graph(
    chunk_keywords: Sequence[ChunkKeywords],
    chunk_order: Sequence[str],
    table: CanonicalTable | None,
    min_cooccurrence: int,
    drop_isolates: bool,
) -> ConceptGraph:
    spellings: dict[str, Counter[str]] = {}
    chunk_numbers: dict[str, list[int]] = {}
    for number, row in enumerate(chunk_keywords):
        nodes_of_chunk: set[str] = set()
        for keyword in row.keywords[:MAX_LINKED_KEYWORDS]:
            node = resolve_concept(keyword, table)
            if node:
                spellings.setdefault(node, Counter())[keyword] += 1
                nodes_of_chunk.add(node)
        for node in nodes_of_chunk:
            chunk_numbers.setdefault(node, []).append(number)
    nodes = sorted(chunk_numbers)
    pairs = count_shared_chunks([chunk_numbers[node] for node in nodes], len(chunk_order))
    pairs = pairs.select_pairs(pairs.weight >= min_cooccurrence)
    if drop_isolates:
        linked, pairs = pairs.renumber_concepts()
        nodes = [nodes[position] for position in linked]
    attributes = {
        node: {
            **_choose_spellings(node, spellings[node]),
            "chunk_ids": [chunk_order[number] for number in chunk_numbers[node]],
            "count": len(chunk_numbers[node]),
        }
        for node in nodes
    }
    return ConceptGraph(ConceptLinks(attributes, pairs, len(chunk_order)))


def resolve_concept(keyword: str, table: CanonicalTable | None) -> str:
    """Returns the node of a keyword: the normal form of its canonical form.

    The node of a keyword without words is empty.
    """
    canonical = table.resolve_keyword(keyword) if table is not None else None
    return normalise_phrase(keyword if canonical is None else canonical)


def _choose_spellings(node: str, spellings: Counter[str]) -> dict[str, str | list[str]]:
    """Returns the label, aliases and forms of a node.

    Spellings are ordered by frequency, ties alphabetically. The label is a spelling of the node
    itself if there is one: a merged synonym may be commoner, but the canonical form was chosen
    to represent all of them.
    """
    ranked = sorted(spellings, key=lambda spelling: (-spellings[spelling], spelling))
    label = next((spelling for spelling in ranked if normalise_phrase(spelling) == node), ranked[0])
    return {
        "label": label,
        "aliases": [spelling for spelling in ranked if spelling != label],
        "forms": sorted({normalise_phrase(spelling) for spelling in ranked} - {node, ""}),
    }
