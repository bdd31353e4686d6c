"""Dense retrieval: the cache of an embedded corpus, and the real model."""

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


def counting_embedder(calls: list[int]) -> embedder.Embedder:
    def encode_and_count(texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([[len(text), text.count("a"), 1.0] for text in texts], dtype=np.float32)

    return embedder.Embedder(encode_and_count, "toy", "ab" * 32)


def test_corpus_is_embedded_once_and_a_damaged_cache_rebuilt(tmp_path: Path) -> None:
    calls: list[int] = []
    corpus = [Passage("x", "aab"), Passage("y", "cccc")]
    folder = tmp_path / "made" / "here"
    first = dense.DenseRetriever(corpus, counting_embedder(calls), cache=folder)
    again = dense.DenseRetriever(corpus, counting_embedder(calls), cache=folder)
    assert calls == [2]
    assert again.search("ab", 2) == first.search("ab", 2)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:64], whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(damaged)
        calls.clear()
        repaired = dense.DenseRetriever(corpus, counting_embedder(calls), cache=folder)
        assert calls == [2]
        assert file.read_bytes() == whole
        assert repaired.search("ab", 2) == first.search("ab", 2)
    for other in ([Passage("x", "aabc"), Passage("y", "ccc")], [*corpus, Passage("z", "")]):
        calls.clear()
        dense.DenseRetriever(other, counting_embedder(calls), cache=folder)
        assert calls == [len(other)]
    others = counting_embedder(calls)._replace(sha256="cd" * 32)
    calls.clear()
    dense.DenseRetriever(corpus, others, cache=folder)
    assert calls == [2]
    assert dense.DenseRetriever([], counting_embedder(calls), cache=folder).search("a", 1) == []


def test_unwritable_cache_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        dense.DenseRetriever(
            [Passage("x", "a")], counting_embedder([]), cache=tmp_path / "file" / "cache"
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
    kept = dense.DenseRetriever(corpus, minilm, cache=tmp_path)
    asked = "What is baked from grain?"
    assert kept.search(asked, 3) == retriever.search(asked, 3)


@pytest.mark.slow
def test_ensemble_keeps_results_of_both_retrievers(minilm: embedder.Embedder) -> None:
    corpus = [
        Passage("named", "Zzyzx is at 4.5 m."),
        Passage("meant", "The stream ends in the ocean."),
        Passage("other", "Bread is made of flour and water."),
    ]
    both = EnsembleRanker(corpus, (BM25(corpus), dense.DenseRetriever(corpus, minilm)), pool=1)
    found = both.get_scores("Does the river Zzyzx reach the sea?", 2)
    assert set(found) == {"named", "meant"}
