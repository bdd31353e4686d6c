"""Ranks the concepts of a run by how much the text is about them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
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
"""Words of documentation and the share of chunks that has them in three of four collections at
most; written by ``benchmarks/count_common_words.py``."""
# Marks inside names such as "node.js" are no boundaries.
_CLAUSE_BOUNDARY: Final = re.compile(r"[.,;:!?()\[\]{}\"“”|—–](?:\s|$)|\n\s*\n")
_ARGUMENTS: Final = re.compile(r"(?<=\w)\([^()\n]*\)")
"""The arguments of a call in a program: their names are no names of things."""
_LICENCE = r"licen[cs]es?"
_ARTICLE = r"(?:the\s+)?"
_SIDE_HEADING: Final = re.compile(
    rf"(?:(?:\d+|[a-z])(?:\.\d+)*\.?\s+|appendix\W+(?:[a-z\d]\W+)?)?{_ARTICLE}(?:"
    r"(?:gnu(?:\s+\w+){0,4}|(?:\w+\s+)?general\s+public|free\s+documentation|apache(?:\s+software)?|"
    r"(?:[\w-]+\s+){0,2}bsd(?:\s+[\w-]+)?|mit|isc|x11|zlib|psf|artistic|(?:mozilla|eclipse)\s+public|"
    r"boost\s+software|python\s+software\s+foundation|creative\s+commons(?:\s+\w+){0,3})\s+"
    rf"{_LICENCE}(?:,?\s+(?:version\s+)?v?[\d.]+)?|"
    r"(?:full\s+)?copyright(?:\s+(?:notice|statement|information|history|header))?|"
    r"legal\s+notices?|trademarks?|(?:table\s+of\s+)?contents|"
    r"(?:general|concept|subject|function|command|option|variable|type|key)\s+index|"
    r"bibliography|(?:normative|informative)\s+references|"
    r"acknowledge?ments?|authors?(?:['’]\s+addresses)?|contributors|credits|"
    r"status\s+of\s+this\s+(?:document|memo)|(?:revision|document)\s+history|change\s*log"
    r")"
)
"""Headings of what stands beside the subject of a document, wherever it stands."""
_OUTER_NAMES = rf"{_ARTICLE}(?:{_LICENCE}|copying|index|references)"
_OUTER_HEADING: Final = re.compile(rf"(?:\d+\.?\s+)?{_OUTER_NAMES}")
"""Headings of what stands beside the subject at the ends of a document. Elsewhere it may be the
subject: references of C++, an index of a database, copying files."""
_SIDE_APPENDIX: Final = re.compile(rf"(?:[a-z]\.?\s+|appendix\W+(?:[a-z\d]\W+)?){_OUTER_NAMES}")
_APPENDIX: Final = re.compile(r"appendix\b.*", re.DOTALL)
_SIDE_DOCUMENTS: Final = frozenset({"genindex", "bookindex", "copying", "license", "licence"})
"""Names of documents that are as a whole what their title says, if that is an outer heading."""


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
      that end in "ed" have none unless a heading names them, as "named" in a manual of BIND.
    * words are those of the concept, 1 if it has only one use; the factor is the idea of C-value
      (K. Frantzi et al., Automatic recognition of multi-word terms, 2000).
    * headings are the different ones that name it, since they say what a text treats.

    Sections beside the subject do not count, see ``list_subject_chunks``.
    """
    chunks = list_subject_chunks(chunks)
    headings = _count_headings(concepts, chunks)
    uses = _count_uses(concepts, chunks)
    excess = _measure_excess(concepts, chunks, headings)

    def score(node: str) -> float:
        n_words = node.count(" ") + 1 if uses.get(node, 0) > 1 else 1
        weight = math.log2(1 + n_words) * math.log2(2 + headings[node])
        return uses.get(node, 0) * excess.get(node, 1) ** 2 * weight

    return sorted(
        concepts.attributes,
        key=lambda node: (-score(node), -len(concepts.get_chunk_ids(node)), node),
    )


def list_subject_chunks(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """Returns the chunks without those of licences, indexes, references and the like.

    All are returned if fewer than half would be left: then the text is about these.
    """
    documents: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        documents[str(chunk.metadata.get("document", ""))].append(chunk)
    left_out = {chunk.id for name, of in documents.items() for chunk in _iter_side_chunks(name, of)}
    subject = [chunk for chunk in chunks if chunk.id not in left_out]
    return subject if 2 * len(subject) >= len(chunks) else chunks


def _iter_side_chunks(document: str, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yields the chunks of a document that stand beside its subject.

    ``_OUTER_HEADING`` counts at the top level only, below the title if the document has one: before
    and after all sections but such, and before appendices.
    """
    paths = [[heading.casefold() for heading in _list_headings(chunk)] for chunk in chunks]
    titles = {path[0] for path in paths if path}
    is_named = document.rpartition("/")[2].casefold() in _SIDE_DOCUMENTS
    if is_named and len(titles) == 1 and _OUTER_HEADING.fullmatch(min(titles)):
        yield from chunks
        return
    level = 1 if len(titles) == 1 else 0
    sections = list(dict.fromkeys(path[level] for path in paths if len(path) > level))
    outer = {
        *takewhile(_is_side_heading, sections),
        *takewhile(lambda h: _is_side_heading(h) or _APPENDIX.match(h), reversed(sections)),
    }
    for chunk, path in zip(chunks, paths, strict=True):
        is_outer = path[level : level + 1] and path[level] in outer
        if any(
            _SIDE_HEADING.fullmatch(heading) or _SIDE_APPENDIX.fullmatch(heading)
            for heading in path
        ) or (is_outer and _OUTER_HEADING.fullmatch(path[level])):
            yield chunk


def _is_side_heading(heading: str) -> bool:
    """Whether a heading at an end of a document is that of a section beside its subject."""
    return any(p.fullmatch(heading) for p in (_SIDE_HEADING, _SIDE_APPENDIX, _OUTER_HEADING))


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
        for clause in _CLAUSE_BOUNDARY.split(_ARGUMENTS.sub(" . ", chunk.prose)):
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


def _measure_excess(
    concepts: ConceptGraph, chunks: Sequence[Chunk], headings: Mapping[str, int]
) -> dict[str, float]:
    """Returns the excess of the concepts that are common English words, see ``rank_concepts``."""
    common = {word: share for word, share in load_common_words().items() if word in concepts}
    counts: Counter[str] = Counter()
    english = [chunk for chunk in chunks if str(chunk.metadata.get("language", "en"))[:2] == "en"]
    for chunk in english:
        counts.update(common.keys() & set(extract_content_words(chunk.prose)))
    return {
        word: 0.0
        if word.endswith("ed") and not headings[word]
        else max(0.0, 1 - share * len(english) / counts[word])
        for word, share in common.items()
        if counts[word]
    }


@cache
def load_common_words() -> Mapping[str, float]:
    """Returns the stems of common words of documentation → the share of chunks that has them."""
    rows = (line.split("\t") for line in COMMON_WORDS.read_text(encoding="utf-8").splitlines())
    return {word: float(share) for word, share in rows}
