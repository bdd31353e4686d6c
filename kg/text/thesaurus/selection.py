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
MIN_PHRASE = 2
"""Times a phrase must stand in the text at all."""
MIN_FRAMED_SHARE = Fraction(1, 10)
"""And so often, of all the times it stands anywhere: "the run" does not make "runs" a name."""
FRAGMENT_SHARE = Fraction(4, 5)
"""A concept that so many of its chunks share with a longer one around it is part of its name."""

_BEFORE = frozenset(
    words_of(
        """the a an each every this these its their his her our no any of in by with for from on
        under between without through into after before as about against over than whose"""
    )
)
"""What stands before a name. Words that also stand for one ("another wrote") are not among them."""
_AFTER = frozenset(
    words_of(
        """is are was were be been of in on at by with for and or nor that which who can may must
        has have had will as from than if when but while does do did not would should could cannot
        into after before then so because without through where under between until unless"""
    )
)
_BEFORE_VERBS = frozenset(
    words_of("to can may must will would could should cannot never not does do did they we you")
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
    usage = _Usage(chunks, {part for node in fit for part in (node, *node.split())})
    named = (node for node in fit if usage.is_name(node) and not _is_fragment(node, concepts))
    return sorted({*topics, *named})


class _Usage:
    """How some forms stand in the sentences of a text.

    Args:
        chunks: the text.
        wanted: the forms, and each of their words.
    """

    def __init__(self, chunks: Iterable[Chunk], wanted: Collection[str]) -> None:
        self._framed: Counter[str] = Counter()
        """Times a form stands as a name does."""
        self._anywhere: Counter[str] = Counter()
        self._done: set[str] = set()
        """Words that stand as verbs do: "to split", "must split"."""
        self._bare: set[tuple[str, int]] = set()
        """(form, place) of words in it that stand somewhere without an ending."""
        for chunk in chunks:
            for part in _MARKS.split(chunk.text):
                written = words(part)
                self._count(written, [stem(word) for word in written], wanted)

    def is_name(self, form: str) -> bool:
        """Whether a form is the name of something, as far as the text shows."""
        parts = form.split()
        if len(parts) == 1:
            return self._is_noun(form, MIN_FRAMED)
        return (
            self._anywhere[form] >= MIN_PHRASE
            and self._is_noun(form, 1)
            and self._is_noun(parts[-1], MIN_FRAMED)
            # "transaction commits", "compares attributes": a verb in its third person.
            and not any(
                part in self._done and (form, place) not in self._bare
                for place, part in enumerate(parts)
            )
        )

    def _is_noun(self, form: str, least: int) -> bool:
        framed = self._framed[form]
        return framed >= least and framed >= MIN_FRAMED_SHARE * self._anywhere[form]

    def _count(self, written: Sequence[str], stems: Sequence[str], wanted: Collection[str]) -> None:
        for start in range(len(stems)):
            before = written[start - 1] if start else ""
            if before in _BEFORE_VERBS:
                self._done.add(stems[start])
            for end in range(start + 1, min(start + _LONGEST, len(stems)) + 1):
                form = " ".join(stems[start:end])
                if form not in wanted:
                    continue
                self._anywhere[form] += 1
                self._framed[form] += before in _BEFORE and (
                    end == len(stems) or written[end] in _AFTER
                )
                for at in range(start, end):
                    if written[at] == stems[at]:
                        self._bare.add((form, at - start))


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
