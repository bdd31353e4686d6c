from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.ranking.measures import MEASURES, per_question
from eval.ranking.questions import Question
from eval.ranking.rankings import DEPTH, Rankings, Recorded, rank
from eval.ranking.trec import qrels_text, run_text
from retrieval.bm25 import BM25
from retrieval.protocol import Passage


def question(name: str, gold: Sequence[str]) -> Question:
    return Question(
        id=name,
        question=f"What about {name}?",
        kind="multi-hop" if gold else "unanswerable",
        split="test",
        gold=tuple(gold),
    )


def ranked(**orders: Sequence[str]) -> Rankings:
    """Rankings in which every chunk has the same score, as the last word on ties has them."""
    return Rankings("r", {}, {name: dict.fromkeys(order, 1.0) for name, order in orders.items()})


def by_hand(order: Sequence[str], gold: Sequence[str]) -> list[float]:
    """The definitions, written out."""
    hits = [chunk in gold for chunk in order]
    recall = [sum(hits[:k]) / len(gold) for k in (1, 5, 10)]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))
    first = next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0)
    return [*recall, gain / ideal, first, float(set(gold) <= set(order[:10]))]


def test_measures_of_one_ranking_worked_out_by_hand() -> None:
    order = ["x", "g1", "y", "z", "w", "g2"]
    values = per_question(ranked(q=order), [question("q", ["g1", "g2"])])[0]
    found = dict(zip(MEASURES, values.tolist(), strict=True))
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    assert found == pytest.approx(
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
def test_measures_are_their_definitions(order: list[str], kept: int, gold: set[str]) -> None:
    values = per_question(ranked(q=order[:kept]), [question("q", sorted(gold))])[0]
    assert values.tolist() == pytest.approx(by_hand(order[:kept], sorted(gold)))
    assert ((values >= 0) & (values <= 1)).all()


def test_a_tie_stays_in_the_retrievers_order() -> None:
    # trec_eval would put equal scores in descending order of their ids: "z" before "a".
    first = per_question(ranked(q=["a", "z"]), [question("q", ["a"])])[0]
    second = per_question(ranked(q=["z", "a"]), [question("q", ["a"])])[0]
    assert first[0] == 1.0
    assert second[0] == 0.0


def test_what_was_not_found_is_zero_and_what_cannot_be_found_is_no_number() -> None:
    asked = [question("none", []), question("missed", ["g"]), question("found", ["g"])]
    values = per_question(ranked(none=["g"], missed=[], found=["g"]), asked)
    assert np.isnan(values[0]).all()
    assert (values[1] == 0).all()
    assert (values[2] == 1).all()
    assert np.isnan(per_question(ranked(none=["g"]), asked[:1])).all()


@given(st.lists(st.permutations(CHUNKS), min_size=1, max_size=4))
def test_other_tools_read_the_same_numbers_from_the_trec_files(orders: list[list[str]]) -> None:
    asked = [question(f"q {n} %", [order[0], order[-1]]) for n, order in enumerate(orders)]
    rankings = Rankings(
        "with space",
        {},
        {
            one.id: dict(zip(reversed(order[:11]), [3.0] * 11, strict=True))
            for one, order in zip(asked, orders, strict=True)
        },
    )
    qrels = list(ir_measures.read_trec_qrels(io.StringIO(qrels_text(asked))))
    run = list(ir_measures.read_trec_run(io.StringIO(run_text(rankings, asked))))
    ours = per_question(rankings, asked)
    for column, name in enumerate(MEASURES[:-1]):
        theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], qrels, run)
        assert ours[:, column].mean() == pytest.approx(next(iter(theirs.values())))


def test_fields_of_trec_files_hold_no_space_whatever_ids_hold() -> None:
    odd = question("a b\n\u2028c\x1b", ["d\te%"])
    rankings = Rankings("n\x00 m", {}, {odd.id: {"d\te%": 1.0}})
    (line,) = run_text(rankings, [odd]).splitlines()
    assert len(line.split()) == 6
    assert line.isprintable()
    assert qrels_text([odd]).split()[2] == line.split()[2] == "d%09e%25"


class Scripted:
    """A retriever that says what it is told."""

    name = "scripted"

    def __init__(self, said: Mapping[str, float]) -> None:
        self.said = dict(said)

    def get_scores(self, query: str, pool_size: int, chunks: object = None) -> dict[str, float]:
        return self.said

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        return list(self.said.items())


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"a": 1.0, "b": 2.0}, "not best first"),
        ({"a": math.nan}, "no finite number"),
        ({"a": math.inf}, "no finite number"),
        ({"z": 1.0}, "'z' is no chunk"),
        ({"a": 3.0, "b": 2.0, "c": 1.0}, "3 chunks where 2"),
    ],
)
def test_what_is_no_ranking_is_not_measured(said: dict[str, float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rank(Scripted(said), [question("q", ["a"])], ["a", "b", "c"], depth=2)


def test_a_recorded_retriever_says_the_same_again() -> None:
    passages = [Passage(f"p{n}", f"pages and buffers {'index ' * n}") for n in range(6)]
    asked = [question("index pages", ["p1"]), question("nothing known", ["p2"])]
    bm25 = BM25(passages)
    recorded = Recorded(rank(bm25, asked, bm25.ids), asked)
    assert recorded.params() == bm25.params()
    for one in asked:
        for size in (1, 3, DEPTH):
            assert recorded.get_scores(one.question, size) == bm25.get_scores(one.question, size)
        some = {"p1", "p4"}
        assert recorded.get_scores(one.question, 2, some) == bm25.get_scores(one.question, 2, some)
    with pytest.raises(KeyError):
        recorded.get_scores("never asked", 1)
