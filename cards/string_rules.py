"""Defines string rules, which answer a card by matching patterns in its sentences.

They are reported separately from the trained baselines, because comparing the pair of the question
with the pairs in the facts is part of the task. Their accuracy shows how much of a card set needs
no reasoning: near 1.0, the set measures pattern matching only.
"""

from __future__ import annotations

from collections.abc import Callable

from cards.surface import CardSurface
from kg.claims import Gold


def match_pair(surface: CardSurface) -> Gold:
    """A fact has the pair → YES, else UNKNOWN."""
    return "YES" if surface.has_pair else "UNKNOWN"


def match_pair_else_no(surface: CardSurface) -> Gold:
    """A fact has the pair → YES, else NO."""
    return "YES" if surface.has_pair else "NO"


def match_negation(surface: CardSurface) -> Gold:
    """Any fact is negated → NO; a fact has the pair → YES; else UNKNOWN."""
    if any(surface.negations):
        return "NO"
    return "YES" if surface.has_pair else "UNKNOWN"


def match_other_value(surface: CardSurface) -> Gold:
    """A fact has the pair → YES; one has another value of the subject → NO; else UNKNOWN."""
    if surface.has_pair:
        return "YES"
    return "NO" if surface.has_denied_pair or surface.has_other_value else "UNKNOWN"


def match_four_patterns(surface: CardSurface) -> Gold:
    """Any negation → NO; pair → YES; the object with another subject → NO; else UNKNOWN."""
    if any(surface.negations):
        return "NO"
    if surface.has_pair:
        return "YES"
    return "NO" if surface.has_object_elsewhere else "UNKNOWN"


STRING_RULES: dict[str, Callable[[CardSurface], Gold]] = {
    "pair stated → YES, else UNKNOWN": match_pair,
    "pair stated → YES, else NO": match_pair_else_no,
    "negation → NO, pair stated → YES, else UNKNOWN": match_negation,
    "pair stated → YES, other value stated → NO, else UNKNOWN": match_other_value,
    "negation → NO, pair → YES, object elsewhere → NO, else UNKNOWN": match_four_patterns,
}
