"""Tests retrieval over the section tree, and ties that another retriever decides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import RunFolderError
from kg.text.chunks import Chunk
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.sections.builder import build_section_tree
from kg.text.sections.scorer import MAX_TIE_REDUCTION
from retrieval.bm25 import BM25
from retrieval.protocol import Passage, Retriever
from retrieval.sections import SectionRetriever


def make_chunk(section: str, number: int, heading: str, text: str) -> Chunk:
    """Makes the ``number``-th chunk of a section of the document d."""
    section_id = f"d#{section}"
    return Chunk(
        section_id if number == 1 else f"{section_id}/{number}",
        text,
        {"document": "d", "section": f"{section} {heading}", "section_id": section_id},
    )


CHUNKS = [
    make_chunk("1", 1, "Storage", "Where bytes are kept."),
    make_chunk("1.1", 1, "Overview of Physical Storage Media", "Tapes are slow."),
    make_chunk("1.1", 2, "Overview of Physical Storage Media", "Magnetic disks spin."),
    make_chunk("1.1", 3, "Overview of Physical Storage Media", "Flash wears out."),
    make_chunk("2", 1, "Locking", "A lock is held."),
]
KEYWORDS = [
    ChunkKeywords("d#1", ("bytes",)),
    ChunkKeywords("d#1.1", ("tapes",)),
    ChunkKeywords("d#1.1/2", ("magnetic disks",)),
    ChunkKeywords("d#1.1/3", ("flash",)),
    ChunkKeywords("d#2", ("lock",)),
]
GRAPH = link_concepts(KEYWORDS)
TREE = build_section_tree(CHUNKS, GRAPH)
PASSAGES = [Passage(chunk.id, chunk.text) for chunk in CHUNKS]
MEDIA_CHUNK_IDS = ["d#1.1", "d#1.1/2", "d#1.1/3"]


def test_headings_match_in_any_case() -> None:
    scores = SectionRetriever(PASSAGES, TREE, GRAPH).get_scores("physical storage media", 9)
    assert list(scores) == [*MEDIA_CHUNK_IDS, "d#1"], "ties keep the order of the text"
    assert scores["d#1.1"] == scores["d#1.1/3"] == 1.0 > scores["d#1"] > 0


def test_ties_inside_a_section_are_settled_by_another_retriever() -> None:
    retriever = SectionRetriever(PASSAGES, TREE, GRAPH, tie_breaker=BM25(PASSAGES))
    query = "Which physical storage media are magnetic disks, which flash?"
    scores = retriever.get_scores(query, 9)
    assert list(scores)[:3] == ["d#1.1/2", "d#1.1/3", "d#1.1"]
    untied_scores = SectionRetriever(PASSAGES, TREE, GRAPH).get_scores(query, 9)
    for chunk_id, score in untied_scores.items():
        assert score * (1 - MAX_TIE_REDUCTION) <= scores[chunk_id] <= score
    assert list(retriever.get_scores(query, 1)) == ["d#1.1/2"]
    assert list(retriever.get_scores(query, 9, {"d#1.1", "d#1.1/3", "no"})) == ["d#1.1/3", "d#1.1"]


def test_section_retriever_satisfies_the_protocol() -> None:
    retriever = SectionRetriever(PASSAGES, TREE, GRAPH, tie_breaker=BM25(PASSAGES), alpha=0.5)
    assert isinstance(retriever, Retriever)
    params = retriever.params()
    assert (params["name"], params["alpha"], params["lookup"]) == ("section_tree", 0.5, False)
    assert params["ties"] == BM25(PASSAGES).params()
    for query in ("", "?", "zebra", "\x00"):
        assert retriever.search(query, 3) == []
    with pytest.raises(ValueError, match="out of bounds"):
        SectionRetriever(PASSAGES, TREE, GRAPH, alpha=1.5)


def test_tree_of_other_chunks_is_refused() -> None:
    with pytest.raises(RunFolderError, match="'d#2', which is not among the chunks"):
        SectionRetriever(PASSAGES[:-1], TREE, GRAPH)


words = st.lists(
    st.sampled_from(["storage", "physical media", "tapes", "lock", "flash", "zebra"]), max_size=4
)


@given(words, st.integers(0, 6), st.permutations(PASSAGES), st.booleans())
@settings(deadline=None)
def test_scores_are_bounded_filtered_and_ordered(
    query: list[str], size: int, corpus: list[Passage], with_tie_breaker: bool
) -> None:
    text = " ".join(query)
    tie_breaker = BM25(PASSAGES) if with_tie_breaker else None
    retriever = SectionRetriever(PASSAGES, TREE, GRAPH, tie_breaker=tie_breaker)
    scores = retriever.get_scores(text, 9)
    assert all(0 < score <= 1 for score in scores.values())
    assert list(retriever.get_scores(text, size).items()) == list(scores.items())[:size]
    shuffled_retriever = SectionRetriever(
        corpus, TREE, GRAPH, tie_breaker=BM25(corpus) if with_tie_breaker else None
    )
    assert shuffled_retriever.get_scores(text, 9) == scores
    if not with_tie_breaker:
        order = [passage.id for passage in corpus]
        results = shuffled_retriever.search(text, 9)
        assert results == sorted(results, key=lambda pair: (-pair[1], order.index(pair[0])))
