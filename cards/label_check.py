"""Checks the labels of a card file against the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from cards.card import Card
from cards.generation.kinds import FAITHFULNESS_KINDS
from kg.claims import LABELS, Label
from kg.oracle import Oracle


class Disagreement(msgspec.Struct, frozen=True):
    """A card whose label differs from the oracle's verdict."""

    id: str
    label: Label
    verdict: Label
    kind: str
    reason: str
    """Component and message of the first violation, or the proof's reason or kind."""


class LabelCheck(msgspec.Struct, frozen=True):
    """The result of checking a card file's labels."""

    checked: int
    skipped: int
    """Number of context-faithfulness cards, whose gold contradicts the graph by design."""
    table: dict[str, dict[str, int]]
    """Label in the file → the oracle's verdict → number of cards."""
    disagreements: tuple[Disagreement, ...]


def check_labels(cards: Iterable[Card], oracle: Oracle) -> LabelCheck:
    """Compares every card's label with the oracle's verdict on its claim."""
    table: dict[str, Counter[str]] = {}
    disagreements: list[Disagreement] = []
    n_checked = n_skipped = 0
    for card in cards:
        if card.kind in FAITHFULNESS_KINDS:
            n_skipped += 1
            continue
        n_checked += 1
        verdict = oracle.license(card.claim)
        table.setdefault(card.label, Counter())[verdict.label] += 1
        if verdict.label != card.label:
            proof = verdict.proof
            reason = proof.reason or proof.kind
            if verdict.label == "C" and proof.violations:
                first_violation = proof.violations[0]
                reason = (
                    f"{first_violation.component}: {first_violation.message}"
                    if first_violation.message
                    else first_violation.component
                )
            disagreements.append(
                Disagreement(card.id, card.label, verdict.label, card.kind, reason)
            )
    ordered_table: dict[str, dict[str, int]] = {
        label: {v: table[label][v] for v in LABELS if table[label][v]}
        for label in LABELS
        if label in table
    }
    return LabelCheck(n_checked, n_skipped, ordered_table, tuple(disagreements))
