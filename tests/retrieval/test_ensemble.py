"""The ensemble: the published formulas, settled ties, and retrievers without results."""

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
        self.asked: list[int] = []

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        self.asked.append(pool_size)
        found = [(k, v) for k, v in self._scores if chunks is None or k in chunks]
        return dict(found[:pool_size])

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        return list(self.get_scores(query, k).items())


result_pools = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(-10, 10, allow_nan=False), max_size=8
)
several_pools = st.lists(result_pools, min_size=1, max_size=4)


@given(several_pools)
def test_rrf_follows_the_formula(found: list[dict[str, float]]) -> None:
    retrievers = [FixedRetriever(pool) for pool in found]
    scores = EnsembleRanker(CORPUS, retrievers).get_scores("q", 8)
    exact: dict[str, Fraction] = {}
    for pool in found:
        for name, score in pool.items():
            rank = 1 + sum(other > score for other in pool.values())
            exact[name] = exact.get(name, Fraction(0)) + Fraction(1, RRF_K + rank)
    assert set(scores) == set(exact)
    speaking = sum(map(bool, found))
    for name, score in scores.items():
        assert score == pytest.approx(float(exact[name] / speaking), rel=1e-12)


@given(several_pools, st.sampled_from(["rrf", "linear"]))
def test_the_order_of_retrievers_does_not_matter(
    found: list[dict[str, float]], method: Method
) -> None:
    orders = {
        tuple(EnsembleRanker(CORPUS, list(order), method=method).get_scores("q", 8).items())
        for order in itertools.permutations([FixedRetriever(pool) for pool in found])
    }
    assert len(orders) == 1


@given(several_pools, st.sampled_from(["rrf", "linear"]), st.integers(1, 8))
def test_results_are_best_first_with_ties_in_corpus_order(
    found: list[dict[str, float]], method: Method, size: int
) -> None:
    ranker = EnsembleRanker(CORPUS, [FixedRetriever(pool) for pool in found], method=method)
    whole = list(ranker.get_scores("q", 8).items())
    assert whole == sorted(whole, key=lambda pair: (-pair[1], pair[0]))
    assert ranker.search("q", size) == whole[:size]


def test_missing_result_scores_below_the_last_one() -> None:
    one, two = FixedRetriever({"a": 2.0, "b": 1.0}), FixedRetriever({"c": 1.0, "a": 0.5, "b": 0.1})
    scores = EnsembleRanker(CORPUS, (one, two)).get_scores("q", 8)
    assert scores["c"] == pytest.approx(0.5 / 61), "half the weight, one retriever only"
    assert scores["b"] == pytest.approx(0.5 / 62 + 0.5 / 63)
    assert list(scores) == ["a", "b", "c"]


def test_linear_scales_each_pool_to_0_and_1() -> None:
    one, two = (
        FixedRetriever({"a": 30.0, "b": 20.0, "c": 10.0}),
        FixedRetriever({"d": 0.2, "a": 0.2}),
    )
    scores = EnsembleRanker(CORPUS, (one, two), (3, 1), method="linear").get_scores("q", 8)
    assert scores == {"a": pytest.approx(1.0), "b": 0.375, "d": 0.25, "c": 0.0}
    assert list(scores) == ["a", "b", "d", "c"]


def test_retriever_without_results_is_left_out() -> None:
    one, two, silent = (
        FixedRetriever({"a": 3.0, "b": 1.0}),
        FixedRetriever({"b": 0.4, "c": 0.1}),
        FixedRetriever({}),
    )
    for method in get_args(Method):
        both = EnsembleRanker(CORPUS, (one, two), (1, 3), method=method).get_scores("q", 8)
        with_silent = EnsembleRanker(CORPUS, (one, silent, two), (1, 4, 3), method=method)
        assert with_silent.get_scores("q", 8) == both
        alone = EnsembleRanker(CORPUS, (silent, one), (0.9, 0.1), method=method)
        only = EnsembleRanker(CORPUS, (one,), method=method)
        assert alone.get_scores("q", 8) == only.get_scores("q", 8)
        nothing = EnsembleRanker(CORPUS, (silent, silent), method=method)
        assert nothing.get_scores("q", 8) == {}


@given(
    several_pools, st.sampled_from(["rrf", "linear"]), st.integers(-2, 9), st.permutations(CORPUS)
)
def test_scores_are_bounded_and_independent_of_order(
    found: list[dict[str, float]], method: Method, size: int, corpus: list[Passage]
) -> None:
    retrievers = [FixedRetriever(pool) for pool in found]
    scores = EnsembleRanker(CORPUS, retrievers, method=method).get_scores("q", 8)
    assert EnsembleRanker(corpus, retrievers, method=method).get_scores("q", 8) == scores
    assert all(0 <= score <= 1 and math.isfinite(score) for score in scores.values())
    some = EnsembleRanker(CORPUS, retrievers, method=method).get_scores("q", size)
    assert list(some.items()) == list(scores.items())[: max(size, 0)]


def test_extreme_scores_are_scaled() -> None:
    wide = FixedRetriever({"a": 1.7e308, "b": 0.0, "c": -1.7e308})
    assert EnsembleRanker(CORPUS, (wide,), method="linear").get_scores("q", 8) == {
        "a": 1.0,
        "b": 0.5,
        "c": 0.0,
    }


def test_ties_are_settled_by_another_retriever_then_the_corpus() -> None:
    tied = FixedRetriever(dict.fromkeys("abcd", 1.0))
    for method in get_args(Method):
        ranker = EnsembleRanker(
            CORPUS, (tied, FixedRetriever({"c": 3, "b": 2, "h": 1})), method=method
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
    one, two = FixedRetriever({"a": 1.0}), FixedRetriever({"b": 1.0})
    ranker = EnsembleRanker(CORPUS, (one, two), (1, 0), pool=3)
    assert list(ranker.get_scores("q", 5)) == ["a"]
    assert (one.asked, two.asked) == ([5], []), "never fewer than are wanted"
    ranker.get_scores("q", 1)
    assert one.asked == [5, 3]


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
    normal = normalise_weights(weights, len(weights))
    assert math.fsum(normal) == pytest.approx(1.0)
    assert normalise_weights(normal, len(normal)) == normal, "once is enough"


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
