"""Difficulty of cards: that of their claim's subgraph, and no label in disguise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from shipped import open_shipped

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card
from cards.difficulty import difficulty_of
from cards.generator import CardPlan, make_cards
from cards.world import World
from kg.knowledge import KnowledgeBase

LEVELS = ("easy", "medium", "hard")


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return open_shipped("rivers")


@pytest.fixture(scope="module")
def made(rivers: KnowledgeBase) -> Sequence[Card]:
    return make_cards(rivers, CardPlan(per_label=100, faithfulness=True)).cards


def test_every_card_says_what_its_level_was_read_from(
    rivers: KnowledgeBase, made: Sequence[Card]
) -> None:
    near = make_near_misses(rivers, NearMissPlan(num=30)).cards
    world = World(rivers)
    for card in [*made, *near]:
        level, read = difficulty_of(world.fact_graph, world.terms, card.claim)
        assert card.difficulty == level
        assert card.meta["difficulty"] == read
        assert read["score"] == sum(read["dimensions"].values())
        assert level == LEVELS[(read["score"] > 3) + (read["score"] > 7)]
        assert read["features"]["query_node_count"] == len({card.claim.subj, card.claim.obj})
    assert {card.kind.split("/")[0] for card in near} == {"near-miss"}


def cramers_v(table: Sequence[Sequence[int]]) -> float:
    """Association of two attributes, 0 to 1 (H. Cramér, Mathematical Methods of Statistics)."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    total = sum(rows)
    chi = sum(
        (n - rows[i] * columns[j] / total) ** 2 / (rows[i] * columns[j] / total)
        for i, row in enumerate(table)
        for j, n in enumerate(row)
        if columns[j]
    )
    smaller = min(len(rows), sum(map(bool, columns)))
    return (chi / total / (smaller - 1)) ** 0.5


def test_a_stratum_is_no_label_in_disguise(made: Sequence[Card]) -> None:
    plain = [card for card in made if "graph_label" not in card.meta]
    counts = Counter((card.label, card.difficulty) for card in plain)
    table = [[counts[label, level] for level in LEVELS] for label in "ECU"]
    assert [sum(row) for row in table] == [100, 100, 100]
    # A table by counting the facts a label rests on had 0.6 here; chance alone gives 0.08.
    assert cramers_v(table) < 0.2
    # Each stratum that can be measured holds every label.
    for column in zip(*table, strict=True):
        assert all(column) or sum(column) < 15
    # The measure above would notice.
    assert cramers_v([[100, 0, 0], [0, 100, 0], [0, 50, 50]]) > 0.7
