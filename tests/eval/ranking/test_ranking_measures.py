"""Tests the ranking metrics against their definitions, manual values and ``ir_measures``."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Sequence

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.retrieval_eval.metrics import METRIC_NAMES, score_questions
from eval.retrieval_eval.questions import Question
from eval.retrieval_eval.systems.cached_retriever import CachedRetriever
from eval.retrieval_eval.systems.view import RANKING_DEPTH
from eval.retrieval_eval.trec import render_qrels, render_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage


def make_question(name: str, gold: Sequence[str]) -> Question:
    return Question(
        id=name,
        question=f"What about {name}?",
        kind="multi-hop" if gold else "unanswerable",
        split="test",
        gold=tuple(gold),
    )


def compute_metrics_by_definition(order: Sequence[str], gold: Sequence[str]) -> list[float]:
    """Returns the metrics by their definitions, in the order of ``METRIC_NAMES``."""
    hits = [chunk in gold for chunk in order]
    recall = [sum(hits[:k]) / len(gold) for k in (1, 5, 10)]
    gain = sum(1 / math.log2(position + 2) for position, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(position + 2) for position in range(min(len(gold), 10)))
    reciprocal_rank = next((1 / (position + 1) for position, hit in enumerate(hits) if hit), 0.0)
    return [*recall, gain / ideal, reciprocal_rank, float(set(gold) <= set(order[:10]))]


def test_metrics_of_one_ranking_match_manual_values() -> None:
    order = ["x", "g1", "y", "z", "w", "g2"]
    values = score_questions({"q": order}, [make_question("q", ["g1", "g2"])])[0]
    metrics = dict(zip(METRIC_NAMES, values.tolist(), strict=True))
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    assert metrics == pytest.approx(
        {
            "R@1": 0,
            "R@5": 0.5,
            "R@10": 1,
            "nDCG@10": gain / (1 + 1 / math.log2(3)),
            "RR": 0.5,
            "AllGold@10": 1,
        }
    )


CHUNKS = [f"c{n}" for n in range(15)]


@given(st.permutations(CHUNKS), st.integers(0, 15), st.sets(st.sampled_from(CHUNKS), min_size=1))
def test_metrics_match_their_definitions(order: list[str], length: int, gold: set[str]) -> None:
    values = score_questions({"q": order[:length]}, [make_question("q", sorted(gold))])[0]
    assert values.tolist() == pytest.approx(
        compute_metrics_by_definition(order[:length], sorted(gold))
    )
    assert ((values >= 0) & (values <= 1)).all()


def test_ties_keep_the_order_of_the_retriever() -> None:
    # trec_eval would put equal scores in descending order of their ids: "z" before "a".
    gold_first = score_questions({"q": ["a", "z"]}, [make_question("q", ["a"])])[0]
    gold_last = score_questions({"q": ["z", "a"]}, [make_question("q", ["a"])])[0]
    assert gold_first[0] == 1.0
    assert gold_last[0] == 0.0


def test_missing_gold_scores_zero_and_no_gold_is_undefined() -> None:
    questions = [
        make_question("none", []),
        make_question("missed", ["g"]),
        make_question("found", ["g"]),
    ]
    values = score_questions({"none": ["g"], "missed": [], "found": ["g"]}, questions)
    assert np.isnan(values[0]).all()
    assert (values[1] == 0).all()
    assert (values[2] == 1).all()
    assert np.isnan(score_questions({"none": ["g"]}, questions[:1])).all()


@given(st.lists(st.permutations(CHUNKS), min_size=1, max_size=4))
def test_trec_files_give_the_same_values_in_other_tools(orders: list[list[str]]) -> None:
    questions = [make_question(f"q {n} %", [order[0], order[-1]]) for n, order in enumerate(orders)]
    rankings = {
        question.id: list(reversed(order[:11]))
        for question, order in zip(questions, orders, strict=True)
    }
    qrels = list(ir_measures.read_trec_qrels(io.StringIO(render_qrels(questions))))
    run = list(
        ir_measures.read_trec_run(io.StringIO(render_run("with space", rankings, questions)))
    )
    scores = score_questions(rankings, questions)
    for column, name in enumerate(METRIC_NAMES[:-1]):
        reference = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], qrels, run)
        assert scores[:, column].mean() == pytest.approx(next(iter(reference.values())))


def test_trec_fields_contain_no_spaces() -> None:
    question = make_question("a b\n\u2028c\x1b", ["d\te%"])
    (line,) = render_run("n\x00 m", {question.id: ["d\te%"]}, [question]).splitlines()
    assert len(line.split()) == 6
    assert line.isprintable()
    assert render_qrels([question]).split()[2] == line.split()[2] == "d%09e%25"


class CountingRetriever(BM25):
    """A retriever that counts its searches."""

    n_searches = 0

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        self.n_searches += 1
        return super().get_scores(query, pool_size, chunks)


def test_cached_retriever_searches_once_and_repeats_its_results() -> None:
    passages = [Passage(f"p{n}", f"pages and buffers {'index ' * n}") for n in range(6)]
    bm25, counting = BM25(passages), CountingRetriever(passages)
    cached = CachedRetriever(counting)
    assert cached.params() == bm25.params()
    for query in ("index pages", "nothing known"):
        counting.n_searches = 0
        for size in (0, 1, 3, RANKING_DEPTH):
            assert cached.get_scores(query, size) == bm25.get_scores(query, size)
        assert counting.n_searches == 1
        deeper = RANKING_DEPTH + 1
        assert cached.get_scores(query, deeper) == bm25.get_scores(query, deeper)
        subset = {"p1", "p4"}
        assert cached.get_scores(query, 2, subset) == bm25.get_scores(query, 2, subset)
