"""Tests the cache of dense retrieval, and dense retrieval with a real model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kg.base.errors import WriteError
from kg.embedding import embedder
from retrieval import dense
from retrieval.bm25 import BM25
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Passage


def make_counting_embedder(calls: list[int]) -> embedder.Embedder:
    """Makes an embedder that appends the number of texts of each call to ``calls``."""

    def encode_and_count(texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([[len(text), text.count("a"), 1.0] for text in texts], dtype=np.float32)

    return embedder.Embedder(encode_and_count, "toy", "ab" * 32)


def test_corpus_is_embedded_once_and_a_damaged_cache_rebuilt(tmp_path: Path) -> None:
    calls: list[int] = []
    corpus = [Passage("x", "aab"), Passage("y", "cccc")]
    folder = tmp_path / "made" / "here"
    first_retriever = dense.DenseRetriever(corpus, make_counting_embedder(calls), cache=folder)
    second_retriever = dense.DenseRetriever(corpus, make_counting_embedder(calls), cache=folder)
    assert calls == [2]
    assert second_retriever.search("ab", 2) == first_retriever.search("ab", 2)
    (cache_file,) = folder.iterdir()
    cache_bytes = cache_file.read_bytes()
    for damaged_bytes in (
        b"",
        cache_bytes[:-1],
        cache_bytes[:64],
        cache_bytes[:-1] + bytes([cache_bytes[-1] ^ 1]),
    ):
        cache_file.write_bytes(damaged_bytes)
        calls.clear()
        repaired = dense.DenseRetriever(corpus, make_counting_embedder(calls), cache=folder)
        assert calls == [2]
        assert cache_file.read_bytes() == cache_bytes
        assert repaired.search("ab", 2) == first_retriever.search("ab", 2)
    for other_corpus in ([Passage("x", "aabc"), Passage("y", "ccc")], [*corpus, Passage("z", "")]):
        calls.clear()
        dense.DenseRetriever(other_corpus, make_counting_embedder(calls), cache=folder)
        assert calls == [len(other_corpus)]
    other_embedder = make_counting_embedder(calls)._replace(sha256="cd" * 32)
    calls.clear()
    dense.DenseRetriever(corpus, other_embedder, cache=folder)
    assert calls == [2]
    assert (
        dense.DenseRetriever([], make_counting_embedder(calls), cache=folder).search("a", 1) == []
    )


def test_unwritable_cache_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        dense.DenseRetriever(
            [Passage("x", "a")], make_counting_embedder([]), cache=tmp_path / "file" / "cache"
        )


@pytest.mark.slow
def test_a_real_model_finds_the_paraphrase(minilm: embedder.Embedder, tmp_path: Path) -> None:
    corpus = [
        Passage("food", "Bread is made of flour and water."),
        Passage("river", "The Rhine flows into the North Sea."),
        Passage("bank", "The bank lends money at two per cent."),
    ]
    retriever = dense.DenseRetriever(corpus, minilm, cache=tmp_path)
    assert retriever.search("Where does the stream reach the ocean?", 1)[0][0] == "river"
    assert BM25(corpus).search("Where does the stream reach the ocean?", 3) == []
    cached_retriever = dense.DenseRetriever(corpus, minilm, cache=tmp_path)
    query = "What is baked from grain?"
    assert cached_retriever.search(query, 3) == retriever.search(query, 3)


@pytest.mark.slow
def test_ensemble_keeps_results_of_both_retrievers(minilm: embedder.Embedder) -> None:
    corpus = [
        Passage("named", "Zzyzx is at 4.5 m."),
        Passage("meant", "The stream ends in the ocean."),
        Passage("other", "Bread is made of flour and water."),
    ]
    ensemble = EnsembleRanker(corpus, (BM25(corpus), dense.DenseRetriever(corpus, minilm)), pool=1)
    scores = ensemble.get_scores("Does the river Zzyzx reach the sea?", 2)
    assert set(scores) == {"named", "meant"}
