"""The outcomes of answers to cards: their colours, symbols and texts on pages."""

from __future__ import annotations

from typing import Literal

from eval.abstention.result import Pred
from kg.claims import Gold

Outcome = Literal["right", "held", "wrong", "none"]

OUTCOMES: tuple[tuple[Outcome, str, str], ...] = (
    ("right", "✓", "right"),
    ("held", "○", "held back: UNKNOWN although the gold answer is YES or NO"),
    ("wrong", "✗", "wrong"),
    ("none", "!", "no usable reply: INVALID or ERROR"),
)
"""Key, symbol and description of each outcome of an answer."""


def classify_answer(gold: Gold, pred: Pred) -> Outcome:
    """Returns the outcome of an answer, which does not depend on the policy."""
    if pred in ("INVALID", "ERROR"):
        return "none"
    if pred == gold:
        return "right"
    return "held" if pred == "UNKNOWN" else "wrong"


def get_outcome_symbol(key: Outcome) -> str:
    """Returns the symbol that accompanies an outcome's colour."""
    return next(symbol for name, symbol, _ in OUTCOMES if name == key)


def get_outcome_text(key: Outcome) -> str:
    """Returns an outcome's description."""
    return next(description for name, _, description in OUTCOMES if name == key)
