"""Tests that a card's difficulty is computed around its claim and is independent of the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from shipped import open_shipped

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card
from cards.generation.card_plan import CardPlan
from cards.generation.difficulty import compute_difficulty
from cards.generation.graph_lookup import GraphLookup
from cards.generator import CardSet, make_cards
from kg.knowledge import KnowledgeBase

LEVELS = ("easy", "medium", "hard")


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return open_shipped("rivers")


@pytest.fixture(scope="module")
def card_set(rivers: KnowledgeBase) -> CardSet:
    return make_cards(rivers, CardPlan(per_label=100, faithfulness=True))


@pytest.fixture(scope="module")
def cards(card_set: CardSet) -> Sequence[Card]:
    return card_set.cards


def test_every_card_records_its_difficulty_features(
    card_set: CardSet,
) -> None:
    near_misses = make_near_misses(card_set.kb, NearMissPlan(num=30)).cards
    lookup = GraphLookup(card_set.kb)
    for card in [*card_set.cards, *near_misses]:
        level, details = compute_difficulty(lookup.fact_graph, lookup.terms, card.claim)
        assert card.difficulty == level
        assert card.meta["difficulty"] == details
        assert details["score"] == sum(details["dimensions"].values())
        # Scores up to 3 are easy, those above 7 hard, the others medium.
        assert level == LEVELS[(details["score"] > 3) + (details["score"] > 7)]
        assert details["features"]["query_node_count"] == len({card.claim.subj, card.claim.obj})
    assert {card.kind.split("/")[0] for card in near_misses} == {"near-miss"}


def compute_cramers_v(table: Sequence[Sequence[int]]) -> float:
    """Returns Cramér's V, the association of two attributes from 0 to 1.

    H. Cramér, Mathematical Methods of Statistics, 1946.
    """
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    total = sum(rows)
    chi_squared = sum(
        (n - rows[i] * columns[j] / total) ** 2 / (rows[i] * columns[j] / total)
        for i, row in enumerate(table)
        for j, n in enumerate(row)
        if columns[j]
    )
    min_size = min(len(rows), sum(map(bool, columns)))
    return (chi_squared / total / (min_size - 1)) ** 0.5


def test_difficulty_is_independent_of_the_label(cards: Sequence[Card]) -> None:
    # Only faithfulness cards, whose facts differ from the graph, record a graph label.
    ordinary_cards = [card for card in cards if "graph_label" not in card.meta]
    counts = Counter((card.label, card.difficulty) for card in ordinary_cards)
    table = [[counts[label, level] for level in LEVELS] for label in "ECU"]
    assert [sum(row) for row in table] == [100, 100, 100]
    # Chance alone gives 0.08 here. Difficulty that depended on the number of facts behind the label
    # would give 0.6.
    assert compute_cramers_v(table) < 0.2
    # Each level with at least 15 cards contains every label.
    for column in zip(*table, strict=True):
        assert all(column) or sum(column) < 15
    # The same measure detects a table in which the level follows from the label.
    assert compute_cramers_v([[100, 0, 0], [0, 100, 0], [0, 50, 50]]) > 0.7
