"""Tests that every retriever follows the protocol for any passages and any question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.embedding.lexical import make_lexical_embedder
from retrieval.bm25 import BM25
from retrieval.dense import DenseRetriever
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Passage, Retriever

LEXICAL = make_lexical_embedder()


def make_ensemble(passages: Sequence[Passage], method: str) -> Retriever:
    parts = (BM25(passages), DenseRetriever(passages, LEXICAL))
    return EnsembleRanker(passages, parts, (1, 2), method=method)  # type: ignore[arg-type]


FACTORIES: dict[str, Callable[[Sequence[Passage]], Retriever]] = {
    "bm25": BM25,
    "dense": lambda passages: DenseRetriever(passages, LEXICAL),
    "rrf": lambda passages: make_ensemble(passages, "rrf"),
    "linear": lambda passages: make_ensemble(passages, "linear"),
}
SCORE_BOUNDS = {
    "bm25": (0.0, math.inf),
    "dense": (-1.0, 1.0),
    "rrf": (0.0, 1 / 61),  # rank 1 in every retriever scores 1 / (60 + 1)
    "linear": (0.0, 1.0),
}

words = st.sampled_from(
    ["rhine", "main", "B+-tree", "2PL", "see", "Über", "数据", "\x00", ".", "a"]
)
texts = st.lists(words, max_size=6).map(" ".join)
corpora = st.lists(texts, max_size=7).map(
    lambda lines: [Passage(f"p{number}", line) for number, line in enumerate(lines)]
)


@pytest.mark.parametrize("name", FACTORIES)
@given(corpora, texts, st.integers(-1, 9), st.data())
@settings(deadline=None, max_examples=60)
def test_retriever_protocol_holds_for_any_corpus(
    name: str, corpus: list[Passage], query: str, size: int, data: st.DataObject
) -> None:
    make_retriever = FACTORIES[name]
    retriever = make_retriever(corpus)
    scores = retriever.get_scores(query, len(corpus))
    order = [passage.id for passage in corpus]
    low, high = SCORE_BOUNDS[name]
    assert set(scores) <= set(order)
    for score in scores.values():
        assert math.isfinite(score)
        assert low - 1e-6 <= score <= high + 1e-6
    assert list(scores) == sorted(
        scores, key=lambda passage_id: (-scores[passage_id], order.index(passage_id))
    )
    assert list(retriever.get_scores(query, size).items()) == list(scores.items())[: max(size, 0)]
    selection = set(data.draw(st.lists(st.sampled_from([*order, "elsewhere"]), unique=True)))
    selected_scores = retriever.get_scores(query, 9, selection)
    assert set(selected_scores) == selection.intersection(scores)
    if name in ("bm25", "dense"):
        assert selected_scores == {
            passage_id: scores[passage_id] for passage_id in selected_scores
        }, "selecting candidates does not change scores"
    shuffled_retriever = make_retriever(data.draw(st.permutations(corpus)))
    shuffled_scores = shuffled_retriever.get_scores(query, len(corpus))
    assert shuffled_scores == scores
