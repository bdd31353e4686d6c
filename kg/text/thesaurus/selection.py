"""Selects the concepts for a thesaurus: names of things that the text mentions repeatedly.

Statistical keyword extraction also finds keywords that are not names: fragments ("normal" of
"normal form") and verbs ("transaction receives"). Names are recognised by the words around them:
"*the* dirty page *is* …", "*of* locking *and* …". The word lists are English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from kg.base.plain_text import list_words
from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.words.normaliser import FUNCTION_WORDS, split_words, stem_word

MIN_CHUNKS = 2
"""Minimum number of chunks in which a single word must occur, unless a heading names it. A phrase
needs only one."""
MIN_NAME_USES = 2
"""Minimum number of times that a single word must be used as a name, which is recognised by the
words before and after it (the lists below). A phrase needs only one."""
MIN_PHRASE_USES = 2
"""Minimum number of occurrences of a phrase."""
MIN_NAME_SHARE = Fraction(1, 10)
"""Minimum share of a word's occurrences in which it is used as a name. A verb such as "runs" is
then not a name because "the run" occurs once."""
MIN_FRAGMENT_SHARE = Fraction(4, 5)
"""Minimum share of a concept's chunks in which a longer concept that contains it occurs, for the
concept to count as a fragment."""

_WORDS_BEFORE_NAMES = frozenset(
    list_words(
        """the a an each every this these its their his her our no any of in by with for from on
        under between without through into after before as about against over than whose"""
    )
)
"""Words before a name. Words that can also replace a name ("another wrote") are left out."""
_WORDS_AFTER_NAMES = frozenset(
    list_words(
        """is are was were be been of in on at by with for and or nor that which who can may must
        has have had will as from than if when but while does do did not would should could cannot
        into after before then so because without through where under between until unless"""
    )
)
_WORDS_BEFORE_VERBS = frozenset(
    list_words("to can may must will would could should cannot never not does do did they we you")
)
_WORDS_NOT_IN_NAMES = (FUNCTION_WORDS | _WORDS_BEFORE_NAMES | _WORDS_AFTER_NAMES) - {"of", "and"}
"""Words that never occur in a name of several words: "give an arrow" and "schedule is written" are
not names."""
_CLAUSE_BOUNDARY = re.compile(r"[.,;:!?()\[\]{}\"“”|—–]|\n\s*\n")
"""Punctuation and blank lines, across which no name extends."""
_MAX_WORDS_PER_FORM = 5
"""Maximum number of words in a form that is counted."""


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
    usage = _FormUsage(chunks, {part for node in candidates for part in (node, *node.split())})
    names = (
        node for node in candidates if usage.is_name(node) and not _is_fragment(node, concepts)
    )
    return sorted({*topics, *names})


class _FormUsage:
    """Counts how some forms (stemmed words or phrases) are used in the clauses of a text.

    Args:
        chunks: the text.
        forms: the forms to count, and each of their words.
    """

    def __init__(self, chunks: Iterable[Chunk], forms: Collection[str]) -> None:
        self._name_counts: Counter[str] = Counter()
        """Form → number of uses as a name."""
        self._total_counts: Counter[str] = Counter()
        """Form → number of occurrences."""
        self._verbs: set[str] = set()
        """Words that are used as verbs: "to split", "must split"."""
        self._uninflected: set[tuple[str, int]] = set()
        """(form, position) of words of a form that occur somewhere without an ending."""
        for chunk in chunks:
            for clause in _CLAUSE_BOUNDARY.split(chunk.text):
                words = split_words(clause)
                self._count_forms(words, [stem_word(word) for word in words], forms)

    def is_name(self, form: str) -> bool:
        """Whether the text uses a form as the name of something."""
        parts = form.split()
        if len(parts) == 1:
            return self._is_noun(form, MIN_NAME_USES)
        return (
            self._total_counts[form] >= MIN_PHRASE_USES
            and self._is_noun(form, 1)
            and self._is_noun(parts[-1], MIN_NAME_USES)
            # "transaction commits", "compares attributes": a verb in the third person.
            and not any(
                part in self._verbs and (form, position) not in self._uninflected
                for position, part in enumerate(parts)
            )
        )

    def _is_noun(self, form: str, min_uses: int) -> bool:
        uses = self._name_counts[form]
        return uses >= min_uses and uses >= MIN_NAME_SHARE * self._total_counts[form]

    def _count_forms(
        self, words: Sequence[str], stems: Sequence[str], forms: Collection[str]
    ) -> None:
        for start in range(len(stems)):
            previous_word = words[start - 1] if start else ""
            if previous_word in _WORDS_BEFORE_VERBS:
                self._verbs.add(stems[start])
            for end in range(start + 1, min(start + _MAX_WORDS_PER_FORM, len(stems)) + 1):
                form = " ".join(stems[start:end])
                if form not in forms:
                    continue
                self._total_counts[form] += 1
                self._name_counts[form] += previous_word in _WORDS_BEFORE_NAMES and (
                    end == len(stems) or words[end] in _WORDS_AFTER_NAMES
                )
                for index in range(start, end):
                    if words[index] == stems[index]:
                        self._uninflected.add((form, index - start))


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
