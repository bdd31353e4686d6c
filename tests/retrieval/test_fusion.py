"""Fusion: the published formula, settled ties, and what a retriever that finds nothing adds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.bm25 import BM25
from retrieval.fusion import RRF_K, Fusion, Method, normalised_weights
from retrieval.protocol import Passage, Retriever

CORPUS = [Passage(letter, letter) for letter in "abcdefgh"]


class Fixed:
    """A retriever that always finds the same."""

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


pools = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(-10, 10, allow_nan=False), max_size=8
)
many = st.lists(pools, min_size=1, max_size=4)


@given(many)
def test_rrf_is_the_formula(found: list[dict[str, float]]) -> None:
    retrievers = [Fixed(pool) for pool in found]
    scores = Fusion(CORPUS, retrievers).get_scores("q", 8)
    exact: dict[str, Fraction] = {}
    for retriever in retrievers:
        for rank, (name, _) in enumerate(retriever.search("q", 8), start=1):
            exact[name] = exact.get(name, Fraction(0)) + Fraction(1, RRF_K + rank)
    assert set(scores) == set(exact)
    for name, score in scores.items():
        assert score == pytest.approx(float(exact[name] / len(found)), rel=1e-12)


@given(many, st.sampled_from(["rrf", "linear"]))
def test_the_order_of_retrievers_does_not_matter(
    found: list[dict[str, float]], method: Method
) -> None:
    orders = {
        tuple(Fusion(CORPUS, list(order), method=method).get_scores("q", 8).items())
        for order in itertools.permutations([Fixed(pool) for pool in found])
    }
    assert len(orders) == 1


@given(many, st.sampled_from(["rrf", "linear"]), st.integers(1, 8))
def test_best_first_ties_in_corpus_order(
    found: list[dict[str, float]], method: Method, size: int
) -> None:
    fusion = Fusion(CORPUS, [Fixed(pool) for pool in found], method=method)
    whole = list(fusion.get_scores("q", 8).items())
    assert whole == sorted(whole, key=lambda pair: (-pair[1], pair[0]))
    assert fusion.search("q", size) == whole[:size]


def test_not_being_found_is_less_than_being_found_last() -> None:
    one, two = Fixed({"a": 2.0, "b": 1.0}), Fixed({"c": 1.0, "a": 0.5, "b": 0.1})
    scores = Fusion(CORPUS, (one, two)).get_scores("q", 8)
    assert scores["c"] == pytest.approx(0.5 / 61), "half the weight, one retriever only"
    assert scores["b"] == pytest.approx(0.5 / 62 + 0.5 / 63)
    assert list(scores) == ["a", "b", "c"]


def test_linear_spreads_each_pool_between_0_and_1() -> None:
    one, two = Fixed({"a": 30.0, "b": 20.0, "c": 10.0}), Fixed({"d": 0.2, "a": 0.2})
    scores = Fusion(CORPUS, (one, two), (3, 1), method="linear").get_scores("q", 8)
    assert scores == {"a": pytest.approx(1.0), "b": 0.375, "d": 0.25, "c": 0.0}
    assert list(scores) == ["a", "b", "d", "c"]


def test_a_retriever_of_weight_zero_is_not_asked() -> None:
    one, two = Fixed({"a": 1.0}), Fixed({"b": 1.0})
    fusion = Fusion(CORPUS, (one, two), (1, 0), pool=3)
    assert list(fusion.get_scores("q", 5)) == ["a"]
    assert (one.asked, two.asked) == ([5], []), "never fewer than are wanted"
    fusion.get_scores("q", 1)
    assert one.asked == [5, 3]


def test_only_the_chunks_asked_for() -> None:
    fusion = Fusion(CORPUS, (BM25(CORPUS), Fixed({"a": 1.0, "b": 0.5})))
    assert isinstance(fusion, Retriever)
    assert list(fusion.get_scores("b", 5, {"b", "c"})) == ["b"]
    assert fusion.get_scores("z", 5, {"h"}) == {}


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=6))
def test_weights_sum_to_one(weights: list[float]) -> None:
    if max(weights) == 0:
        with pytest.raises(ValueError, match="all weights"):
            normalised_weights(weights, len(weights))
        return
    normal = normalised_weights(weights, len(weights))
    assert math.fsum(normal) == pytest.approx(1.0)
    assert normalised_weights(normal, len(normal)) == normal, "once is enough"


@pytest.mark.parametrize("weights", [(-1, 2), (math.nan, 1), (math.inf, 1), (1,), (1, 1, 1)])
def test_weights_that_mean_nothing_are_refused(weights: Sequence[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        Fusion(CORPUS, (Fixed({}), Fixed({})), weights)


def test_parameters_name_everything_that_decides() -> None:
    params = Fusion(CORPUS, (BM25(CORPUS), Fixed({})), (1, 3)).params()
    assert params["weights"] == [0.25, 0.75]
    assert params["k"] == 60
    assert params["retrievers"] == [BM25(CORPUS).params(), {"name": "fixed"}]
    assert "k" not in Fusion(CORPUS, (Fixed({}),), method="linear").params()
    with pytest.raises(ValueError, match="pool"):
        Fusion(CORPUS, (Fixed({}),), pool=0)
