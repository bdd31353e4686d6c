"""Defines string rules, which answer a card by matching patterns in its sentences.

They are reported separately from the trained baselines, because comparing the pair of the question
(subject and object) with the pairs in the facts is part of the task. Their accuracy shows how much
of a card set needs no reasoning: near 1.0, the set measures pattern matching only.
"""

from __future__ import annotations

from collections.abc import Callable

from cards.leakage.surface import CardSurface
from kg.claims import Gold


def match_pair(surface: CardSurface) -> Gold:
    """Answers YES if a fact has the pair, else UNKNOWN."""
    return "YES" if surface.has_pair else "UNKNOWN"


def match_pair_else_no(surface: CardSurface) -> Gold:
    """Answers YES if a fact has the pair, else NO."""
    return "YES" if surface.has_pair else "NO"


def match_negation(surface: CardSurface) -> Gold:
    """Answers NO if any fact is negated, else YES if a fact has the pair, else UNKNOWN."""
    if any(surface.negations):
        return "NO"
    return "YES" if surface.has_pair else "UNKNOWN"


def match_other_value(surface: CardSurface) -> Gold:
    """Answers YES if a fact has the pair, NO if one denies it or has another value; or UNKNOWN."""
    if surface.has_pair:
        return "YES"
    return "NO" if surface.has_denied_pair or surface.has_other_value else "UNKNOWN"


def match_four_patterns(surface: CardSurface) -> Gold:
    """Answers as ``match_negation``, but NO if only the object of the pair occurs in a fact."""
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
