"""Which concepts are worth stating: names of things that the text keeps speaking of.

Statistics finds keywords that are no names: torn-off ends ("normal" of "normal form"), verbs
("transaction receives"). A name shows itself by how it stands in sentences: "*the* dirty page
*is* …", "*of* locking *and* …". That test is of English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.normaliser import FUNCTION_WORDS, stem, words
from kg.words.plain_text import words_of

MIN_CHUNKS = 2
"""Chunks that must speak of a single word which no heading names; for a phrase, one is enough."""
MIN_FRAMED = 2
"""Times a single word must stand as a name does; for a phrase, once is enough."""
MIN_FRAMED_SHARE = Fraction(1, 10)
"""And so often, of all the times it stands anywhere: "the run" does not make "runs" a name."""
FRAGMENT_SHARE = Fraction(4, 5)
"""A concept that so many of its chunks share with a longer one around it is part of its name."""

_BEFORE = frozenset(
    words_of(
        """the a an each every this these that those its their his her our no any one two another
        both some several many all most other such same of in by with for from on under between
        without through into after before as about against over than whose"""
    )
)
_AFTER = frozenset(
    words_of(
        """is are was were be been of in on at by with for and or nor that which who can may must
        has have had will as from than if when but while does do did not would should could cannot
        into after before then so because without through where under between until unless"""
    )
)
_INNER = (FUNCTION_WORDS | _BEFORE | _AFTER) - {"of", "and"}
"""Words that no name of more than one holds: "give an arrow", "schedule is written"."""
_MARKS = re.compile(r"[.,;:!?()\[\]{}\"“”|—–]|\n\s*\n")
_LONGEST = 5


def worth_stating(
    concepts: ConceptGraph,
    chunks: Sequence[Chunk],
    topics: Collection[str],
    min_chunks: int = MIN_CHUNKS,
) -> list[str]:
    """The concepts to state, sorted.

    Args:
        concepts: all of them.
        chunks: the text.
        topics: concepts that headings name: they are stated in any case.
        min_chunks: see ``MIN_CHUNKS``.
    """
    fit = [
        node
        for node in concepts.nodes
        if node not in topics
        and len(concepts.chunk_ids(node)) >= (1 if " " in node else min_chunks)
        and _INNER.isdisjoint(node.split())
    ]
    heads = {node.rsplit(" ", 1)[-1] for node in fit}
    framed, anywhere = _frames(chunks, heads.union(fit))

    def is_name(form: str) -> bool:
        enough = framed[form] >= (1 if " " in form else MIN_FRAMED)
        return enough and framed[form] >= MIN_FRAMED_SHARE * anywhere[form]

    named = (
        node
        for node in fit
        if is_name(node) and is_name(node.rsplit(" ", 1)[-1]) and not _is_fragment(node, concepts)
    )
    return sorted({*topics, *named})


def _frames(chunks: Iterable[Chunk], wanted: Collection[str]) -> tuple[Counter[str], Counter[str]]:
    """How often each wanted form stands as a name does, and how often at all."""
    framed: Counter[str] = Counter()
    anywhere: Counter[str] = Counter()
    for chunk in chunks:
        for part in _MARKS.split(chunk.text):
            written = words(part)
            stems = [stem(word) for word in written]
            for start in range(len(stems)):
                for end in range(start + 1, min(start + _LONGEST, len(stems)) + 1):
                    form = " ".join(stems[start:end])
                    if form not in wanted:
                        continue
                    anywhere[form] += 1
                    framed[form] += (
                        start > 0
                        and written[start - 1] in _BEFORE
                        and (end == len(stems) or written[end] in _AFTER)
                    )
    return framed, anywhere


def _is_fragment(node: str, concepts: ConceptGraph) -> bool:
    """Whether a concept is nearly always part of a longer one, as "dirty" of "dirty page"."""
    parts, chunk_ids = set(node.split()), set(concepts.chunk_ids(node))
    longer = {
        other
        for chunk_id in chunk_ids
        for other in concepts.nodes_of_chunk(chunk_id)
        if parts < set(other.split())
    }
    return any(
        len(chunk_ids.intersection(concepts.chunk_ids(other))) >= FRAGMENT_SHARE * len(chunk_ids)
        for other in longer
    )
