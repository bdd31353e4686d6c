"""Selects the concepts for a thesaurus: names of things that the text mentions repeatedly.

Statistical keyword extraction also finds keywords that are not names: fragments ("normal" of
"normal form") and verbs ("transaction receives"). Names are recognised by the words around them:
"*the* dirty page *is* …", "*of* locking *and* …". The word lists are English.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.keywords.usage import WORDS_AFTER_NAMES, WORDS_BEFORE_NAMES, FormUsage
from kg.words.normaliser import FUNCTION_WORDS

MIN_CHUNKS = 2
"""Minimum number of chunks in which a single word must occur, unless a heading names it. A phrase
needs only one."""
MIN_FRAGMENT_SHARE = Fraction(4, 5)
"""Minimum share of a concept's chunks in which a longer concept that contains it occurs, for the
concept to count as a fragment."""

_WORDS_NOT_IN_NAMES = (FUNCTION_WORDS | WORDS_BEFORE_NAMES | WORDS_AFTER_NAMES) - {"of", "and"}
"""Words that never occur in a name of several words: "give an arrow" and "schedule is written" are
not names."""


def select_concepts(
    concepts: ConceptGraph,
    chunks: Sequence[Chunk],
    topics: Collection[str],
    min_chunks: int = MIN_CHUNKS,
) -> list[str]:
    """Returns the concepts to include in the thesaurus, sorted.

    Args:
        concepts: all concepts of the run.
        chunks: the text.
        topics: concepts that headings name; always included.
        min_chunks: see ``MIN_CHUNKS``.
    """
    candidates = [
        node
        for node in concepts.nodes
        if node not in topics
        and len(concepts.get_chunk_ids(node)) >= (1 if " " in node else min_chunks)
        and _WORDS_NOT_IN_NAMES.isdisjoint(node.split())
    ]
    usage = FormUsage(chunks, {part for node in candidates for part in (node, *node.split())})
    names = (
        node for node in candidates if usage.is_name(node) and not _is_fragment(node, concepts)
    )
    return sorted({*topics, *names})


def _is_fragment(node: str, concepts: ConceptGraph) -> bool:
    """Whether a concept nearly always occurs with a longer one, like "dirty" in "dirty page"."""
    parts, chunk_ids = set(node.split()), set(concepts.get_chunk_ids(node))
    longer_concepts = {
        other
        for chunk_id in chunk_ids
        for other in concepts.get_chunk_nodes(chunk_id)
        if parts < set(other.split())
    }
    return any(
        len(chunk_ids.intersection(concepts.get_chunk_ids(other)))
        >= MIN_FRAGMENT_SHARE * len(chunk_ids)
        for other in longer_concepts
    )
