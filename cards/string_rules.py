"""String rules: what pattern matching on a card's sentences answers, with no graph and no reading.

They are reported apart from the trained baselines, because the ones that compare the asked pair
with the stated pairs *are* the task in part. What they tell is how much of a card set needs no
reasoning at all: near 1.0, nothing but matching is measured.
"""

from __future__ import annotations

from collections.abc import Callable

from cards.surface import Sight
from kg.claims import Gold


def pair_stated(sight: Sight) -> Gold:
    """Asked pair stated → YES, else UNKNOWN."""
    return "YES" if sight.pair_stated else "UNKNOWN"


def pair_stated_else_no(sight: Sight) -> Gold:
    """Asked pair stated → YES, else NO."""
    return "YES" if sight.pair_stated else "NO"


def any_negation(sight: Sight) -> Gold:
    """Any negation among the facts → NO; asked pair stated → YES; else UNKNOWN."""
    if any(sight.negations):
        return "NO"
    return "YES" if sight.pair_stated else "UNKNOWN"


def other_value(sight: Sight) -> Gold:
    """Asked pair stated → YES; another value stated for the subject → NO; else UNKNOWN."""
    if sight.pair_stated:
        return "YES"
    return "NO" if sight.pair_denied or sight.other_value else "UNKNOWN"


def four_rules(sight: Sight) -> Gold:
    """Any negation → NO; pair stated → YES; object stated of another → NO; else UNKNOWN."""
    if any(sight.negations):
        return "NO"
    if sight.pair_stated:
        return "YES"
    return "NO" if sight.object_elsewhere else "UNKNOWN"


STRING_RULES: dict[str, Callable[[Sight], Gold]] = {
    "pair stated → YES, else UNKNOWN": pair_stated,
    "pair stated → YES, else NO": pair_stated_else_no,
    "negation → NO, pair stated → YES, else UNKNOWN": any_negation,
    "pair stated → YES, other value stated → NO, else UNKNOWN": other_value,
    "negation → NO, pair → YES, object elsewhere → NO, else UNKNOWN": four_rules,
}
