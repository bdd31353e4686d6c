"""Linking: from each chunk's keywords to a graph of what occurs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from kg.loading import no_garbage_collection
from kg.text.concepts.association import npmi
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.normaliser import normalise

if TYPE_CHECKING:
    from kg.text.canonical.table import CanonicalTable

MAX_LINKED = 500
"""Keywords of one chunk that are linked, the best of them: pairs grow with their square."""


def link(
    chunk_keywords: Sequence[ChunkKeywords],
    table: CanonicalTable | None = None,
    min_cooccurrence: int = 1,
    *,
    drop_isolates: bool = False,
) -> ConceptGraph:
    """Links the concepts that are keywords of one chunk.

    Args:
        chunk_keywords: each chunk's keywords, in the order of the text; a chunk stands once.
        table: says which keywords are one concept; without it, those of one normal form are.
        min_cooccurrence: pairs that fewer chunks have are not linked.
        drop_isolates: leaves out concepts that are linked to nothing.

    Returns:
        The graph, the same for any order of one chunk's keywords but for ties in spelling. NPMI
        counts every chunk given, those without keywords too.

    Raises:
        ValueError: ``min_cooccurrence`` is below 1, or a chunk stands twice.
    """
    if min_cooccurrence < 1:
        raise ValueError("min_cooccurrence must be at least 1")
    order = [row.chunk_id for row in chunk_keywords]
    if len(set(order)) < len(order):
        raise ValueError("a chunk stands twice")
    with no_garbage_collection():
        return _linked(chunk_keywords, order, table, min_cooccurrence, drop_isolates)


def _linked(
    chunk_keywords: Sequence[ChunkKeywords],
    order: Sequence[str],
    table: CanonicalTable | None,
    min_cooccurrence: int,
    drop_isolates: bool,
) -> ConceptGraph:
    import networkx as nx

    spellings: dict[str, Counter[str]] = {}
    places: dict[str, list[int]] = {}
    pairs: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(chunk_keywords):
        found: set[str] = set()
        for keyword in row.keywords[:MAX_LINKED]:
            node = concept_of(keyword, table)
            if node:
                spellings.setdefault(node, Counter())[keyword] += 1
                found.add(node)
        for node in sorted(found):
            places.setdefault(node, []).append(number)
        for pair in combinations(sorted(found), 2):
            pairs.setdefault(pair, []).append(number)
    kept = sorted(pair for pair, where in pairs.items() if len(where) >= min_cooccurrence)
    linked = {node for pair in kept for node in pair}
    graph = nx.Graph(chunks=len(order))
    for node in sorted(places):
        if drop_isolates and node not in linked:
            continue
        graph.add_node(
            node,
            **_spelt(node, spellings[node]),
            chunk_ids=[order[number] for number in places[node]],
            count=len(places[node]),
        )
    for one, other in kept:
        where = pairs[one, other]
        graph.add_edge(
            one,
            other,
            weight=len(where),
            npmi=npmi(len(where), len(places[one]), len(places[other]), len(order)),
            chunk_ids=[order[number] for number in where],
        )
    return ConceptGraph(graph)


def concept_of(keyword: str, table: CanonicalTable | None) -> str:
    """The node a keyword belongs to: its canonical form's normal form, empty for no words."""
    canonical = table.resolve(keyword) if table is not None else None
    return normalise(keyword if canonical is None else canonical)


def _spelt(node: str, spellings: Counter[str]) -> dict[str, str | list[str]]:
    """How a node is written: commonest spelling first, equally common ones in sorted order.

    The label is a spelling of the node itself where there is one: a merged synonym may be
    commoner, but the canonical form is what was chosen to stand for all of them.
    """
    ranked = sorted(spellings, key=lambda spelling: (-spellings[spelling], spelling))
    own = next((spelling for spelling in ranked if normalise(spelling) == node), ranked[0])
    return {
        "label": own,
        "aliases": [spelling for spelling in ranked if spelling != own],
        "forms": sorted({normalise(spelling) for spelling in ranked} - {node, ""}),
    }
