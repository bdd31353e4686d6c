"""Proves a card's label again from nothing but the facts and rules on the card."""

from __future__ import annotations

from typing import Any

import msgspec

from cards.card import Card
from cards.facts import make_denial_triples
from cards.generation.prover import CardRules, select_card_rules
from kg.claims import Claim, Label
from kg.knowledge import KnowledgeBase


class CardProver:
    """Decides the claims of cards over the cards' own facts and rules.

    Args:
        kb: the graph that the cards were made from; only its shapes and rules are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._rules: dict[str, CardRules] = {}

    def find_label(self, card: Card) -> Label | None:
        """Returns the label that the card alone proves; None if it does not state its triples."""
        triples = _read_triples(card)
        if triples is None:
            return None
        pred = card.claim.pred
        if pred not in self._rules:
            self._rules[pred] = select_card_rules(self._kb, pred)
        _, shapes, axioms = self._rules[pred]
        return self._kb.oracle.make_local_oracle(triples, shapes, axioms).license(card.claim).label


def _read_triples(card: Card) -> list[Claim] | None:
    """Returns ``meta.triples`` as triples; None where the card has none, or they are unreadable."""
    rows = card.meta.get("triples")
    if not isinstance(rows, list):
        return None
    triples: list[Claim] = []
    try:
        for number, row in enumerate(rows):
            denied: Any = row.get("denied")
            claim = msgspec.convert(row if denied is None else denied, Claim)
            node = f"_:denied{number}"
            triples += [claim] if denied is None else make_denial_triples(claim, node)
    except (msgspec.ValidationError, AttributeError):
        return None
    return triples
