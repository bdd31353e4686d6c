"""Tests the ensemble's formulas, its order of ties, and retrievers without results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.bm25 import BM25
from retrieval.ensemble import RRF_K, EnsembleRanker, Method, normalise_weights
from retrieval.protocol import Passage, Retriever

CORPUS = [Passage(letter, letter) for letter in "abcdefgh"]


class FixedRetriever:
    """A retriever that always returns the same results."""

    name = "fixed"

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        self.requested_sizes: list[int] = []

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        self.requested_sizes.append(pool_size)
        matches = [(k, v) for k, v in self._scores if chunks is None or k in chunks]
        return dict(matches[:pool_size])

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        return list(self.get_scores(query, k).items())


result_pools = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(-10, 10, allow_nan=False), max_size=8
)
pool_lists = st.lists(result_pools, min_size=1, max_size=4)


@given(pool_lists)
def test_rrf_follows_the_formula(pools: list[dict[str, float]]) -> None:
    retrievers = [FixedRetriever(pool) for pool in pools]
    scores = EnsembleRanker(CORPUS, retrievers).get_scores("q", 8)
    expected: dict[str, Fraction] = {}
    for pool in pools:
        for passage_id, score in pool.items():
            rank = 1 + sum(other_score > score for other_score in pool.values())
            expected[passage_id] = expected.get(passage_id, Fraction(0)) + Fraction(1, RRF_K + rank)
    assert set(scores) == set(expected)
    n_nonempty = sum(map(bool, pools))
    for passage_id, score in scores.items():
        assert score == pytest.approx(float(expected[passage_id] / n_nonempty), rel=1e-12)


@given(pool_lists, st.sampled_from(["rrf", "linear"]))
def test_the_order_of_retrievers_does_not_matter(
    pools: list[dict[str, float]], method: Method
) -> None:
    orders = {
        tuple(EnsembleRanker(CORPUS, list(order), method=method).get_scores("q", 8).items())
        for order in itertools.permutations([FixedRetriever(pool) for pool in pools])
    }
    assert len(orders) == 1


@given(pool_lists, st.sampled_from(["rrf", "linear"]), st.integers(1, 8))
def test_results_are_best_first_with_ties_in_corpus_order(
    pools: list[dict[str, float]], method: Method, size: int
) -> None:
    ranker = EnsembleRanker(CORPUS, [FixedRetriever(pool) for pool in pools], method=method)
    full_results = list(ranker.get_scores("q", 8).items())
    assert full_results == sorted(full_results, key=lambda pair: (-pair[1], pair[0]))
    assert ranker.search("q", size) == full_results[:size]


def test_missing_result_scores_below_the_last_one() -> None:
    first_retriever, second_retriever = (
        FixedRetriever({"a": 2.0, "b": 1.0}),
        FixedRetriever({"c": 1.0, "a": 0.5, "b": 0.1}),
    )
    scores = EnsembleRanker(CORPUS, (first_retriever, second_retriever)).get_scores("q", 8)
    # RRF adds weight / (60 + rank); each of the two retrievers has the weight 0.5.
    assert scores["c"] == pytest.approx(0.5 / 61), "only the second retriever has a result"
    assert scores["b"] == pytest.approx(0.5 / 62 + 0.5 / 63)
    assert list(scores) == ["a", "b", "c"]


def test_linear_scales_each_pool_to_0_and_1() -> None:
    first_retriever, second_retriever = (
        FixedRetriever({"a": 30.0, "b": 20.0, "c": 10.0}),
        FixedRetriever({"d": 0.2, "a": 0.2}),
    )
    scores = EnsembleRanker(
        CORPUS, (first_retriever, second_retriever), (3, 1), method="linear"
    ).get_scores("q", 8)
    assert scores == {"a": pytest.approx(1.0), "b": 0.375, "d": 0.25, "c": 0.0}
    assert list(scores) == ["a", "b", "d", "c"]


def test_retriever_without_results_is_left_out() -> None:
    first_retriever, second_retriever, empty_retriever = (
        FixedRetriever({"a": 3.0, "b": 1.0}),
        FixedRetriever({"b": 0.4, "c": 0.1}),
        FixedRetriever({}),
    )
    for method in get_args(Method):
        expected = EnsembleRanker(
            CORPUS, (first_retriever, second_retriever), (1, 3), method=method
        ).get_scores("q", 8)
        with_empty = EnsembleRanker(
            CORPUS, (first_retriever, empty_retriever, second_retriever), (1, 4, 3), method=method
        )
        assert with_empty.get_scores("q", 8) == expected
        with_empty_first = EnsembleRanker(
            CORPUS, (empty_retriever, first_retriever), (0.9, 0.1), method=method
        )
        one_retriever = EnsembleRanker(CORPUS, (first_retriever,), method=method)
        assert with_empty_first.get_scores("q", 8) == one_retriever.get_scores("q", 8)
        only_empty = EnsembleRanker(CORPUS, (empty_retriever, empty_retriever), method=method)
        assert only_empty.get_scores("q", 8) == {}


@given(pool_lists, st.sampled_from(["rrf", "linear"]), st.integers(-2, 9), st.permutations(CORPUS))
def test_scores_are_bounded_and_independent_of_order(
    pools: list[dict[str, float]], method: Method, size: int, corpus: list[Passage]
) -> None:
    retrievers = [FixedRetriever(pool) for pool in pools]
    scores = EnsembleRanker(CORPUS, retrievers, method=method).get_scores("q", 8)
    assert EnsembleRanker(corpus, retrievers, method=method).get_scores("q", 8) == scores
    assert all(0 <= score <= 1 and math.isfinite(score) for score in scores.values())
    limited = EnsembleRanker(CORPUS, retrievers, method=method).get_scores("q", size)
    assert list(limited.items()) == list(scores.items())[: max(size, 0)]


def test_extreme_scores_are_scaled() -> None:
    extreme_retriever = FixedRetriever({"a": 1.7e308, "b": 0.0, "c": -1.7e308})
    assert EnsembleRanker(CORPUS, (extreme_retriever,), method="linear").get_scores("q", 8) == {
        "a": 1.0,
        "b": 0.5,
        "c": 0.0,
    }


def test_ties_are_settled_by_another_retriever_then_the_corpus() -> None:
    tied_retriever = FixedRetriever(dict.fromkeys("abcd", 1.0))
    for method in get_args(Method):
        ranker = EnsembleRanker(
            CORPUS, (tied_retriever, FixedRetriever({"c": 3, "b": 2, "h": 1})), method=method
        )
        assert list(ranker.get_scores("q", 8))[:4] == ["c", "b", "a", "d"]


def test_retrievers_of_another_corpus_are_refused() -> None:
    for method in get_args(Method):
        ranker = EnsembleRanker(
            CORPUS, (FixedRetriever({"a": 1.0}), FixedRetriever({"0": 1.0})), method=method
        )
        with pytest.raises(ValueError, match=r"fixed returned '0'.*share passage ids"):
            ranker.get_scores("q", 3)
    with pytest.raises(ValueError, match="the score nan"):
        EnsembleRanker(CORPUS, (FixedRetriever({"a": math.nan}),)).get_scores("q", 3)


def test_retriever_of_weight_zero_is_not_called() -> None:
    first_retriever, second_retriever = FixedRetriever({"a": 1.0}), FixedRetriever({"b": 1.0})
    ranker = EnsembleRanker(CORPUS, (first_retriever, second_retriever), (1, 0), pool=3)
    assert list(ranker.get_scores("q", 5)) == ["a"]
    assert first_retriever.requested_sizes == [5], "the pool is never smaller than the request"
    assert second_retriever.requested_sizes == []
    ranker.get_scores("q", 1)
    assert first_retriever.requested_sizes == [5, 3]


def test_only_requested_chunks_are_scored() -> None:
    ranker = EnsembleRanker(CORPUS, (BM25(CORPUS), FixedRetriever({"a": 1.0, "b": 0.5})))
    assert isinstance(ranker, Retriever)
    assert list(ranker.get_scores("b", 5, {"b", "c"})) == ["b"]
    assert ranker.get_scores("z", 5, {"h"}) == {}


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=6))
def test_weights_sum_to_one(weights: list[float]) -> None:
    if max(weights) == 0:
        with pytest.raises(ValueError, match="all weights"):
            normalise_weights(weights, len(weights))
        return
    normalised = normalise_weights(weights, len(weights))
    assert math.fsum(normalised) == pytest.approx(1.0)
    assert normalise_weights(normalised, len(normalised)) == normalised


@pytest.mark.parametrize("weights", [(-1, 2), (math.nan, 1), (math.inf, 1), (1,), (1, 1, 1)])
def test_invalid_weights_are_refused(weights: Sequence[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        EnsembleRanker(CORPUS, (FixedRetriever({}), FixedRetriever({})), weights)


def test_params_hold_every_setting() -> None:
    params = EnsembleRanker(CORPUS, (BM25(CORPUS), FixedRetriever({})), (1, 3)).params()
    assert params["weights"] == [0.25, 0.75]
    assert params["k"] == 60
    assert params["retrievers"] == [BM25(CORPUS).params(), {"name": "fixed"}]
    assert EnsembleRanker(CORPUS, (FixedRetriever({}),), name="hybrid").params()["name"] == "hybrid"
    assert "k" not in EnsembleRanker(CORPUS, (FixedRetriever({}),), method="linear").params()
    with pytest.raises(ValueError, match="pool"):
        EnsembleRanker(CORPUS, (FixedRetriever({}),), pool=0)
