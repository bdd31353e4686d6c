"""Difficulty of cards: that of the subgraph of their claim, and independent of the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from shipped import open_shipped

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card
from cards.difficulty import compute_difficulty
from cards.generator import CardPlan, make_cards
from cards.graph_lookup import GraphLookup
from kg.knowledge import KnowledgeBase

LEVELS = ("easy", "medium", "hard")


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return open_shipped("rivers")


@pytest.fixture(scope="module")
def cards(rivers: KnowledgeBase) -> Sequence[Card]:
    return make_cards(rivers, CardPlan(per_label=100, faithfulness=True)).cards


def test_every_card_records_its_difficulty_features(
    rivers: KnowledgeBase, cards: Sequence[Card]
) -> None:
    near = make_near_misses(rivers, NearMissPlan(num=30)).cards
    world = GraphLookup(rivers)
    for card in [*cards, *near]:
        level, read = compute_difficulty(world.fact_graph, world.terms, card.claim)
        assert card.difficulty == level
        assert card.meta["difficulty"] == read
        assert read["score"] == sum(read["dimensions"].values())
        assert level == LEVELS[(read["score"] > 3) + (read["score"] > 7)]
        assert read["features"]["query_node_count"] == len({card.claim.subj, card.claim.obj})
    assert {card.kind.split("/")[0] for card in near} == {"near-miss"}


def compute_cramers_v(table: Sequence[Sequence[int]]) -> float:
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


def test_difficulty_is_independent_of_the_label(cards: Sequence[Card]) -> None:
    plain = [card for card in cards if "graph_label" not in card.meta]
    counts = Counter((card.label, card.difficulty) for card in plain)
    table = [[counts[label, level] for level in LEVELS] for label in "ECU"]
    assert [sum(row) for row in table] == [100, 100, 100]
    # Difficulty by the number of facts behind a label had 0.6 here; chance alone gives 0.08.
    assert compute_cramers_v(table) < 0.2
    # Each stratum that is large enough contains every label.
    for column in zip(*table, strict=True):
        assert all(column) or sum(column) < 15
    # The measure above would detect such a dependency.
    assert compute_cramers_v([[100, 0, 0], [0, 100, 0], [0, 50, 50]]) > 0.7
