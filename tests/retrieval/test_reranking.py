"""Tests re-ranking with a tiny, random cross-encoder that is made without a model hub."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tiny_models import write_cross_encoder

from kg.base.errors import MissingFileError, WeightsError
from retrieval.bm25 import BM25
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Passage, Retriever
from retrieval.reranker import RerankingRetriever, load_reranker

pytestmark = pytest.mark.extra("dense")
CORPUS = [
    Passage("tree", "A tree index keeps its keys in order."),
    Passage("hash", "A hash index keeps no order."),
    Passage("bitmap", "A bitmap index keeps a bit for each row and each value."),
    Passage("lock", "A lock is held until the end."),
    Passage("again", "A hash index keeps no order."),
]
QUERY = "Which index keeps order?"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        return write_cross_encoder(tmp_path_factory.mktemp("rerank") / "tiny", 11, num_labels=1)


def test_results_are_ordered_by_the_scores_of_the_model(model_folder: Path) -> None:
    """The expected scores come from the model itself, called without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForSequenceClassification.from_pretrained(model_folder).eval()
    expected = {}
    for passage in CORPUS:
        with torch.no_grad():
            inputs = tokenizer(QUERY, passage.text, return_tensors="pt")
            logit = float(model(**inputs).logits[0, 0])
        expected[passage.id] = 1 / (1 + math.exp(-logit))
    base = BM25(CORPUS)
    reranked = RerankingRetriever(CORPUS, base, load_reranker(str(model_folder)))
    scores = reranked.get_scores(QUERY, 5)
    assert set(scores) == set(base.get_scores(QUERY, 5)) == {"tree", "hash", "bitmap", "again"}
    assert scores == {
        passage_id: pytest.approx(expected[passage_id], abs=1e-5) for passage_id in scores
    }
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert list(scores) != list(base.get_scores(QUERY, 5)), "re-ranking must change the order"
    assert list(scores).index("hash") + 1 == list(scores).index("again"), "ties keep BM25's order"


def test_pool_limit_filter_and_empty_results(model_folder: Path) -> None:
    encoder = load_reranker(str(model_folder))
    reranked = RerankingRetriever(CORPUS, BM25(CORPUS), encoder, pool=1)
    assert isinstance(reranked, Retriever)
    full_results = RerankingRetriever(CORPUS, BM25(CORPUS), encoder).get_scores(QUERY, 9)
    (top_id,) = reranked.get_scores(QUERY, 1)
    assert top_id == BM25(CORPUS).search(QUERY, 1)[0][0], "the pool has only the best passage"
    assert set(reranked.get_scores(QUERY, 9)) == set(full_results), "k results are returned"
    filtered = RerankingRetriever(CORPUS, BM25(CORPUS), encoder).get_scores(
        QUERY, 9, {"tree", "lock", "no"}
    )
    assert set(filtered) == {"tree"}
    assert reranked.get_scores("zebra", 3) == {}
    assert RerankingRetriever([], BM25([]), encoder).search(QUERY, 3) == []
    with pytest.raises(ValueError, match="pool"):
        RerankingRetriever(CORPUS, BM25(CORPUS), encoder, pool=0)


def test_reranked_ensemble_is_named_in_params(model_folder: Path) -> None:
    ensemble = EnsembleRanker(CORPUS, (BM25(CORPUS),))
    reranked = RerankingRetriever(CORPUS, ensemble, load_reranker(str(model_folder)))
    params = reranked.params()
    assert (params["name"], params["model"]) == ("ensemble+rerank", "tiny"), (
        "params must not contain a path"
    )
    assert len(str(params["weights_sha256"])) == 64
    assert params["retriever"] == ensemble.params()
    assert reranked.search(QUERY, 2) == reranked.search(QUERY, 2)


def test_unusable_models_are_refused(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="3 outputs"):
        load_reranker(str(write_cross_encoder(tmp_path / "three", 11, num_labels=3)))
    with pytest.raises(MissingFileError):
        load_reranker("./nothing/here")
    (tmp_path / "three" / "config.json").write_text("{")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        load_reranker(str(tmp_path / "three"))
