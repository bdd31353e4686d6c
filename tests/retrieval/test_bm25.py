"""BM25: correct scores, settled ties, and the protocol of all retrievers."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import DuplicateIdError
from kg.embedding.embedder import Embedder
from kg.text.normaliser import extract_content_words
from retrieval.bm25 import BM25
from retrieval.dense import DenseRetriever
from retrieval.protocol import Passage, Retriever

CORPUS = [
    Passage("a", "The Rhine flows into the North Sea."),
    Passage("b", "The Main flows into the Rhine."),
    Passage("c", "The Elbe flows into the North Sea."),
    Passage("d", "The Rhine is a river."),
    Passage("e", "Nothing to see here"),
]


def reference_scores(
    query: str, corpus: list[Passage], k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """Robertson and Zaragoza's formula in Lucene's variant, written out."""
    lines = [extract_content_words(passage.text) for passage in corpus]
    mean = sum(map(len, lines)) / len(lines)
    scores = []
    for line in lines:
        counts, score = Counter(line), 0.0
        for word in extract_content_words(query):
            holding = sum(word in other for other in lines)
            idf = math.log(1 + (len(lines) - holding + 0.5) / (holding + 0.5))
            frequency = counts[word]
            score += idf * frequency / (frequency + k1 * (1 - b + b * len(line) / mean))
        scores.append(score)
    return scores


vocabulary = st.sampled_from(["rhine", "main", "elbe", "sea", "north", "flow", "river", "lake"])
texts = st.lists(vocabulary, min_size=1, max_size=8).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts)
@settings(deadline=None, max_examples=60)
def test_scores_follow_the_formula(lines: list[str], query: str) -> None:
    corpus = [Passage(str(number), line) for number, line in enumerate(lines)]
    expected = reference_scores(query, corpus)
    found = BM25(corpus).get_scores(query, len(corpus))
    assert set(found) == {str(n) for n, score in enumerate(expected) if score > 0}
    for passage_id, score in found.items():
        assert score == pytest.approx(expected[int(passage_id)], rel=1e-4)


def test_matches_are_ranked_best_first() -> None:
    found = BM25(CORPUS).search("Does the Rhine flow into the North Sea?", 10)
    assert [passage_id for passage_id, _ in found] == ["a", "c", "b", "d"]
    assert all(score > 0 for _, score in found)


def test_equal_scores_keep_the_corpus_order() -> None:
    corpus = [Passage(str(number), f"Brook {number % 2}") for number in range(40)]
    assert [found for found, _ in BM25(corpus).search("brook", 7)] == list("0123456")


def test_pool_limits_size_and_candidates() -> None:
    retriever = BM25(CORPUS)
    assert list(retriever.get_scores("North Sea Rhine", 1)) == ["a"]
    assert list(retriever.get_scores("North Sea Rhine", 5, {"c", "d", "zzz"})) == ["c", "d"]
    assert retriever.get_scores("North Sea Rhine", 0) == {}


@pytest.mark.parametrize("query", ["", "?", "the of", "zebra", "\x00", "🙂", "{{7*7}}"])
def test_query_without_words_finds_nothing(query: str) -> None:
    assert BM25(CORPUS).search(query, 3) == []


def test_small_and_empty_corpora() -> None:
    assert BM25([]).search("Rhine", 3) == []
    assert BM25([Passage("a", ""), Passage("b", "?!")]).search("Rhine", 3) == []
    assert [found for found, _ in BM25([Passage("a", "Rhine")]).search("rhine", 3)] == ["a"]


def test_duplicate_ids_are_named() -> None:
    with pytest.raises(DuplicateIdError, match="'x'"):
        BM25([Passage("x", "a b"), Passage("y", "c"), Passage("x", "d")])


def count_letters(texts: object) -> np.ndarray:
    """A toy embedder: letter counts."""
    rows = [
        [text.casefold().count(chr(97 + letter)) for letter in range(26)]
        for text in texts  # type: ignore[attr-defined]  # a list of str
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), 26)


TOY = Embedder(count_letters, "toy")


def test_dense_ranks_by_cosine_with_settled_ties() -> None:
    corpus = [Passage("x", "aab"), Passage("y", "ccc"), Passage("z", "aabaab"), Passage("o", "1")]
    retriever = DenseRetriever(corpus, TOY)
    scores = retriever.get_scores("aab", 4)
    assert list(scores) == ["x", "z", "y", "o"], "length does not matter, order settles"
    assert scores["x"] == pytest.approx(1.0)
    assert scores["o"] == 0.0, "a zero vector has similarity 0"
    assert list(retriever.get_scores("aab", 4, {"y", "o"})) == ["y", "o"]
    assert retriever.params() == {
        "name": "dense",
        "embedder": "toy",
        "weights_sha256": None,
    }
    assert DenseRetriever([], TOY).search("a", 3) == []


def test_bm25_and_dense_satisfy_the_protocol() -> None:
    assert isinstance(BM25(CORPUS), Retriever)
    assert isinstance(DenseRetriever(CORPUS, TOY), Retriever)
