"""Ranks the concepts of a run by how much the text is about them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
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
"""Words of documentation and the share of chunks that has them, in three of four collections at
most; written by ``benchmarks/count_common_words.py``."""
# Marks inside names such as "node.js" are no boundaries.
_CLAUSE_BOUNDARY: Final = re.compile(r"[.,;:!?()\[\]{}\"“”|—–](?:\s|$)|\n\s*\n")
_CALL: Final = re.compile(r"\w\([^()\n]*\)")
"""A call in a program: the names of arguments are no names of things."""
_FRONT_MATTER: Final = re.compile(
    r"(?:(?:\d+|[a-z])(?:\.\d+)*\.?\s+|appendix\W+(?:[a-z\d]\W+)?)?(?:the\s+)?(?:"
    r"(?:\w+\s+){0,4}licen[cs]es?(?:\s+v?[\d.]+)?|copying|(?:full\s+)?copyright(?:\s+\w+)?|"
    r"legal\s+notices?|trademarks?|(?:table\s+of\s+)?contents|"
    r"(?:(?:general|concept|subject|function|command|option|variable|type|key)\s+)?index|"
    r"bibliography|(?:normative\s+|informative\s+)?references|"
    r"acknowledge?ments?|authors?(?:['’]\s+addresses)?|contributors|credits|"
    r"status\s+of\s+this\s+(?:document|memo)|(?:revision|document)\s+history|change\s*log"
    r")"
)
"""Headings of what a document has beside its subject."""


def rank_concepts(concepts: ConceptGraph, chunks: Sequence[Chunk]) -> list[str]:
    """Returns all concepts, those that the text is most about first.

    The order is that of uses · excess² · log2(1 + words) · log2(2 + headings), where

    * uses are the chunks in which the concept occurs on its own, and not only inside longer ones,
      as "user" does in "user agent", but at most as many as there are different words before it, or
      after it; the border of a clause and all numbers count as one word each. What is always
      followed by the same word is a part of something longer ("GNU General Public"), or counts
      things ("RFC 793"). What is always between the same words belongs to a sentence, table or
      notice that the text repeats. This is the accessor variety of H. Feng et al., Accessor variety
      criteria for Chinese word extraction, 2004.
    * excess is 1 less the share of chunks that any documentation has with an English word over the
      share that this text has, at least 0: "default" and "example" are everywhere. Common words
      that end in "ed" have none.
    * words are those of the concept, 1 if it has only one use; the factor is the idea of C-value
      (K. Frantzi et al., Automatic recognition of multi-word terms, 2000).
    * headings are the different ones that name it, since they say what a text treats.

    Licences, tables of contents, indexes and the like do not count, see ``_list_subject_chunks``.
    """
    chunks = _list_subject_chunks(chunks)
    headings = _count_headings(concepts, chunks)
    uses = _count_uses(concepts, chunks)
    excess = _measure_excess(concepts, chunks)

    def score(node: str) -> float:
        n_words = node.count(" ") + 1 if uses.get(node, 0) > 1 else 1
        weight = math.log2(1 + n_words) * math.log2(2 + headings[node])
        return uses.get(node, 0) * excess.get(node, 1) ** 2 * weight

    return sorted(
        concepts.attributes,
        key=lambda node: (-score(node), -len(concepts.get_chunk_ids(node)), node),
    )


def _list_subject_chunks(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """Returns the chunks without those of licences, indexes, references and the like.

    All are returned if fewer than half would be left: then the text is about these.
    """
    subject = [
        chunk
        for chunk in chunks
        if not any(_FRONT_MATTER.fullmatch(heading.casefold()) for heading in _list_headings(chunk))
    ]
    return subject if 2 * len(subject) >= len(chunks) else chunks


def _list_headings(chunk: Chunk) -> list[str]:
    """Returns the headings above a chunk, the beginning of each."""
    path = chunk.metadata.get("section_path")
    return [str(h)[:MAX_HEADING_LENGTH] for h in path] if isinstance(path, list | tuple) else []


def _count_headings(concepts: ConceptGraph, chunks: Iterable[Chunk]) -> Counter[str]:
    """Returns concept → number of different headings that name it."""
    headings = {heading for chunk in chunks for heading in _list_headings(chunk)}
    return Counter(
        node for heading in sorted(headings) for node in concepts.match_concepts(heading)
    )


def _count_uses(concepts: ConceptGraph, chunks: Iterable[Chunk]) -> dict[str, int]:
    """Returns concept → uses, see ``rank_concepts``."""
    counts: Counter[str] = Counter()
    before: defaultdict[str, set[str]] = defaultdict(set)
    after: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in chunks:
        nodes = set(concepts.get_chunk_nodes(chunk.id))
        found: set[str] = set()
        for clause in _CLAUSE_BOUNDARY.split(_CALL.sub(" . ", chunk.prose)):
            words = split_words(clause)
            neighbours = ["", *("0" if word.isdigit() else word for word in words), ""]
            hidden_to = 0  # the furthest end of a concept that begins here or before
            for start, end, node in concepts.find_mentions([*map(stem_word, words)]):
                if end > hidden_to and node in nodes:
                    found.add(node)
                    before[node].add(neighbours[start])
                    after[node].add(neighbours[end + 1])
                if len(concepts.get_chunk_ids(node)) >= MIN_CHUNKS:
                    hidden_to = max(hidden_to, end)
        counts.update(found)
    return {node: min(count, len(before[node]), len(after[node])) for node, count in counts.items()}


def _measure_excess(concepts: ConceptGraph, chunks: Sequence[Chunk]) -> dict[str, float]:
    """Returns the excess of the concepts that are common English words, see ``rank_concepts``."""
    common = {word: share for word, share in load_common_words().items() if word in concepts}
    counts: Counter[str] = Counter()
    english = [chunk for chunk in chunks if str(chunk.metadata.get("language", "en"))[:2] == "en"]
    for chunk in english:
        counts.update(common.keys() & set(extract_content_words(chunk.prose)))
    return {
        word: 0.0 if word.endswith("ed") else max(0.0, 1 - share * len(english) / counts[word])
        for word, share in common.items()
        if counts[word]
    }


@cache
def load_common_words() -> Mapping[str, float]:
    """Returns the stems of common words of documentation → the share of chunks that has them."""
    rows = (line.split("\t") for line in COMMON_WORDS.read_text(encoding="utf-8").splitlines())
    return {word: float(share) for word, share in rows}
