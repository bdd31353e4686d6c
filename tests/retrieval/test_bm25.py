"""Tests that BM25 and dense retrieval score correctly, order ties, and follow the protocol."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.base.errors import DuplicateIdError
from kg.embedding.embedder import Embedder
from kg.words.normaliser import extract_content_words
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


def compute_reference_scores(
    query: str, corpus: list[Passage], k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """Scores by Robertson and Zaragoza's formula in Lucene's variant, without any index."""
    word_lists = [extract_content_words(passage.text) for passage in corpus]
    mean_length = sum(map(len, word_lists)) / len(word_lists)
    scores = []
    for words in word_lists:
        counts, score = Counter(words), 0.0
        for word in extract_content_words(query):
            n_containing = sum(word in other_words for other_words in word_lists)
            idf = math.log(1 + (len(word_lists) - n_containing + 0.5) / (n_containing + 0.5))
            frequency = counts[word]
            score += idf * frequency / (frequency + k1 * (1 - b + b * len(words) / mean_length))
        scores.append(score)
    return scores


vocabulary = st.sampled_from(["rhine", "main", "elbe", "sea", "north", "flow", "river", "lake"])
texts = st.lists(vocabulary, min_size=1, max_size=8).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts)
@settings(deadline=None, max_examples=60)
def test_scores_follow_the_formula(lines: list[str], query: str) -> None:
    corpus = [Passage(str(number), line) for number, line in enumerate(lines)]
    expected = compute_reference_scores(query, corpus)
    actual = BM25(corpus).get_scores(query, len(corpus))
    assert set(actual) == {str(n) for n, score in enumerate(expected) if score > 0}
    for passage_id, score in actual.items():
        assert score == pytest.approx(expected[int(passage_id)], rel=1e-4)


def test_matches_are_ranked_best_first() -> None:
    results = BM25(CORPUS).search("Does the Rhine flow into the North Sea?", 10)
    assert [passage_id for passage_id, _ in results] == ["a", "c", "b", "d"]
    assert all(score > 0 for _, score in results)


def test_equal_scores_keep_the_corpus_order() -> None:
    corpus = [Passage(str(number), f"Brook {number % 2}") for number in range(40)]
    assert [passage_id for passage_id, _ in BM25(corpus).search("brook", 7)] == list("0123456")


def test_scores_are_limited_to_pool_size_and_chunks() -> None:
    retriever = BM25(CORPUS)
    assert list(retriever.get_scores("North Sea Rhine", 1)) == ["a"]
    assert list(retriever.get_scores("North Sea Rhine", 5, {"c", "d", "zzz"})) == ["c", "d"]
    assert retriever.get_scores("North Sea Rhine", 0) == {}


@pytest.mark.parametrize("query", ["", "?", "the of", "zebra", "\x00", "🙂", "{{7*7}}"])
def test_query_without_words_of_the_corpus_finds_nothing(query: str) -> None:
    assert BM25(CORPUS).search(query, 3) == []


def test_scripts_without_spaces_between_words_are_searched() -> None:
    corpus = [
        Passage("zh", "数据库系统使用预写日志,以便恢复。"),
        Passage("ja", "インストールする前に、設定ファイルを編集します。"),
        Passage("th", "ระบบฐานข้อมูลใช้บันทึกล่วงหน้า"),
        Passage("mixed", "SQL查询语言 and others"),
    ]
    retriever = BM25(corpus)
    for query, expected in (
        ("什么是预写日志", "zh"),
        ("設定ファイル", "ja"),
        ("ฐานข้อมูล", "th"),
        ("sql", "mixed"),
        ("查询 语言", "mixed"),
    ):
        assert retriever.search(query, 1)[0][0] == expected


def test_small_and_empty_corpora() -> None:
    assert BM25([]).search("Rhine", 3) == []
    assert BM25([Passage("a", ""), Passage("b", "?!")]).search("Rhine", 3) == []
    results = BM25([Passage("a", "Rhine")]).search("rhine", 3)
    assert [passage_id for passage_id, _ in results] == ["a"]


def test_duplicate_ids_are_named() -> None:
    with pytest.raises(DuplicateIdError, match="'x'"):
        BM25([Passage("x", "a b"), Passage("y", "c"), Passage("x", "d")])


def count_letters(texts: object) -> np.ndarray:
    """Embeds each text as its letter counts."""
    rows = [
        [text.casefold().count(chr(97 + letter)) for letter in range(26)]
        for text in texts  # type: ignore[attr-defined]  # a list of str
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), 26)


TOY_EMBEDDER = Embedder(count_letters, "toy")


def test_dense_ranks_by_cosine_with_ties_in_corpus_order() -> None:
    corpus = [Passage("x", "aab"), Passage("y", "ccc"), Passage("z", "aabaab"), Passage("o", "1")]
    retriever = DenseRetriever(corpus, TOY_EMBEDDER)
    scores = retriever.get_scores("aab", 4)
    # x and z differ in length only, so they tie and keep the order of the corpus.
    assert list(scores) == ["x", "z", "y", "o"]
    assert scores["x"] == pytest.approx(1.0)
    assert scores["o"] == 0.0, "a zero vector has similarity 0"
    assert list(retriever.get_scores("aab", 4, {"y", "o"})) == ["y", "o"]
    assert retriever.params() == {
        "name": "dense",
        "embedder": "toy",
        "weights_sha256": None,
    }
    assert DenseRetriever([], TOY_EMBEDDER).search("a", 3) == []


def test_bm25_and_dense_satisfy_the_protocol() -> None:
    assert isinstance(BM25(CORPUS), Retriever)
    assert isinstance(DenseRetriever(CORPUS, TOY_EMBEDDER), Retriever)
