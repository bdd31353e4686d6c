"""Tests that difficulty is that of the claims of a triplet and independent of the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from shipped import open_shipped

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.card import Card
from cards.card_set import CardSet
from cards.generation.card_plan import CardPlan
from cards.generation.difficulty import compute_difficulty
from cards.generation.graph_lookup import GraphLookup
from cards.generator import make_cards
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


@pytest.mark.slow
def test_cards_of_a_triplet_have_the_difficulty_of_the_claim_in_the_middle(
    card_set: CardSet,
) -> None:
    near_misses = make_near_misses(card_set.kb, NearMissPlan(num=30)).cards
    lookup = GraphLookup(card_set.kb)
    groups: dict[object, list[Card]] = {}
    for card in [*card_set.cards, *near_misses]:
        groups.setdefault(card.meta.get("context", card.id), []).append(card)
    for group in groups.values():
        results = [compute_difficulty(lookup.fact_graph, lookup.terms, c.claim) for c in group]
        scores = sorted(details["score"] for _, details in results)
        for card in group:
            details = card.meta["difficulty"]
            # True claims beside near-misses are not written, so their scores are unknown here.
            if len(group) == 3:
                assert details["score"] == scores[1]
            assert (card.difficulty, details) == (group[0].difficulty, group[0].meta["difficulty"])
            assert details["score"] == sum(details["dimensions"].values())
            # Scores up to 3 are easy, those above 7 hard, the others medium.
            assert card.difficulty == LEVELS[(details["score"] > 3) + (details["score"] > 7)]
    assert sum(len(group) == 3 for group in groups.values()) == 100
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
    assert compute_cramers_v(table) == 0
    # Each level with at least 15 cards contains every label.
    for column in zip(*table, strict=True):
        assert all(column) or sum(column) < 15
    # The same measure detects a table in which the level follows from the label.
    assert compute_cramers_v([[100, 0, 0], [0, 100, 0], [0, 50, 50]]) > 0.7
