"""Builds the concept graph from the keywords of each chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from kg.text.concepts.association import compute_npmi
from kg.text.concepts.concept_graph import ConceptGraph
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
    import networkx as nx

    spellings: dict[str, Counter[str]] = {}
    chunk_numbers: dict[str, list[int]] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(chunk_keywords):
        nodes_of_chunk: set[str] = set()
        for keyword in row.keywords[:MAX_LINKED_KEYWORDS]:
            node = resolve_concept(keyword, table)
            if node:
                spellings.setdefault(node, Counter())[keyword] += 1
                nodes_of_chunk.add(node)
        for node in sorted(nodes_of_chunk):
            chunk_numbers.setdefault(node, []).append(number)
        pairs.update(combinations(sorted(nodes_of_chunk), 2))
    linked_pairs = sorted(pair for pair, weight in pairs.items() if weight >= min_cooccurrence)
    linked_nodes = {node for pair in linked_pairs for node in pair}
    graph = nx.Graph(chunks=len(chunk_order))
    for node in sorted(chunk_numbers):
        if drop_isolates and node not in linked_nodes:
            continue
        graph.add_node(
            node,
            **_choose_spellings(node, spellings[node]),
            chunk_ids=[chunk_order[number] for number in chunk_numbers[node]],
            count=len(chunk_numbers[node]),
        )
    for first, second in linked_pairs:
        weight = pairs[first, second]
        npmi = compute_npmi(
            weight, len(chunk_numbers[first]), len(chunk_numbers[second]), len(chunk_order)
        )
        graph.add_edge(first, second, weight=weight, npmi=npmi)
    return ConceptGraph(graph)


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
