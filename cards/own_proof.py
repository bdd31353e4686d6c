"""Proves a card's label again from nothing but the facts and rules on the card."""

from __future__ import annotations

from typing import Any

import msgspec

from cards.card import Card
from cards.facts import make_denial_triples
from kg.claims import Claim, Label
from kg.knowledge import KnowledgeBase
from kg.shapes.collection import Shapes


class CardProver:
    """Decides the claims of cards over the cards' own facts and rules.

    Args:
        kb: the graph that the cards were made from; only its shapes and rules are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._rules: dict[str, tuple[Shapes, tuple[Claim, ...]]] = {}

    def find_label(self, card: Card) -> Label | None:
        """Returns the label that the card alone proves; None if it does not state its triples."""
        triples = _read_triples(card)
        if triples is None:
            return None
        shapes, axioms = self._find_rules(card.claim.pred)
        return self._kb.oracle.make_local_oracle(triples, shapes, axioms).license(card.claim).label

    def _find_rules(self, pred: str) -> tuple[Shapes, tuple[Claim, ...]]:
        if pred not in self._rules:
            rules = self._kb.verbaliser.get_rules(pred)
            names = dict.fromkeys(shape for rule in rules for shape in rule.shapes)
            axioms = dict.fromkeys(axiom for rule in rules for axiom in rule.axioms)
            self._rules[pred] = self._kb.shapes.select_shapes(list(names)), tuple(axioms)
        return self._rules[pred]


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
