"""Tests that what a retriever under test returns becomes a ranking or a reason why it is none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.harness.reply import Reply
from eval.retrieval_eval.systems.view import RANKING_DEPTH, RetrievalView, read_ranking

IDS = frozenset(("a", "b", "c"))


@pytest.mark.parametrize(
    "returned",
    [
        [("a", 2.0), ("b", 1.5)],
        (["a", 2], ["b", 1.5]),
        {"a": 2.0, "b": 1.5},
        [("a", np.float32(2)), ("b", np.float64(1.5))],
        '[["a", 2], ["b", 1.5]]',
        '{"a": 2, "b": 1.5}',
    ],
)
def test_every_form_of_a_ranking_is_read(returned: object) -> None:
    assert read_ranking(returned, IDS) == Reply(value=[["a", 2.0], ["b", 1.5]])


def test_ids_without_scores_get_falling_scores() -> None:
    assert read_ranking(["c", "a"], IDS).value == [["c", 1.0], ["a", 0.5]]


@pytest.mark.parametrize("returned", [[], (), {}, "[]"])
def test_nothing_found_is_a_ranking(returned: object) -> None:
    assert read_ranking(returned, IDS) == Reply(value=[])


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (["a", "z"], "'z' at rank 2 is not a passage of the corpus"),
        (["a", "b", "a"], "'a' is at rank 1 and again at rank 3"),
        ([("a", 1.0), ("a", 1.0)], "'a' is at rank 1 and again at rank 2"),
        ([("a", 1.0), ("b", 2.0)], "not in descending order: 2 at rank 2 is above 1"),
        ([("a", math.nan)], "the score at rank 1 is nan, not a finite number"),
        ([("a", 10**400)], "not a finite number"),
        ([("a", True)], "the score at rank 1 is True"),
        ([("a", "1")], "the score at rank 1 is '1'"),
        ([("a", 1.0), "b"], "at rank 2 is 'b', not a pair"),
        (["a", ("b", 1.0)], "at rank 2 is ('b', 1.0), which is not a passage id"),
        ([1, 2], "at rank 1 is 1, not a pair"),
        ([("a", 1.0, 2.0)], "not a pair"),
        (["a", None], "at rank 2 is None"),
        (None, "this is NoneType"),
        (itertools.repeat("a"), "this is repeat"),
        ("07-tree-indexes", "a text that is not JSON"),
        ("[" * 100_000, "a text that is not JSON"),
        ("3", "this is int"),
        (["x" * 10_000], "…"),
        (["\udcff"], "is not a passage of the corpus"),
    ],
)
def test_what_is_no_ranking_is_invalid(returned: object, problem: str) -> None:
    reply = read_ranking(returned, IDS)
    assert reply.status == "invalid"
    assert reply.value is None
    assert problem in reply.problem
    assert len(reply.problem) < 500


def test_only_the_evaluated_passages_are_kept() -> None:
    returned = [f"p{n}" for n in range(RANKING_DEPTH + 5)]
    reply = read_ranking(returned)
    assert [passage_id for passage_id, _ in reply.value] == returned[:RANKING_DEPTH]
    assert reply.notes == (f"{RANKING_DEPTH + 5} passages were returned; the first 100 are kept",)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON_VALUES | st.lists(st.sampled_from(sorted(IDS))))
def test_a_valid_ranking_has_known_distinct_ids_in_order(returned: object) -> None:
    reply = read_ranking(returned, IDS)
    if reply.status == "invalid":
        assert reply.problem
        return
    ids = [passage_id for passage_id, _ in reply.value]
    scores = [score for _, score in reply.value]
    assert set(ids) <= IDS
    assert len(set(ids)) == len(ids)
    assert scores == sorted(scores, reverse=True)


def test_a_view_has_only_query_and_depth() -> None:
    assert RetrievalView("Why?").__struct_fields__ == ("query", "k")
