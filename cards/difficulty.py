"""How hard a card is, by a rule anyone can check.

Steps first: *easy* when the label can be read off one fact (the asked triple itself, stated or
denied); *medium* when one fact and one rule, or the absence of any fact, must be seen; *hard* when
several facts must be joined. Then one step harder when a distractor is close: another entity that
the context mentions bears a name at least ``CLOSE`` similar to one of the two asked names.
"""

from __future__ import annotations

from collections.abc import Iterable

from cards.card import Difficulty
from kg.claims import Label

CLOSE = 0.75
"""Normalised InDel similarity (``rapidfuzz.fuzz.ratio / 100``) from which two names are close."""

_LEVELS: tuple[Difficulty, ...] = ("easy", "medium", "hard")


def difficulty_of(
    label: Label, kind: str, premises: int, asked: tuple[str, str], others: Iterable[str]
) -> Difficulty:
    """The difficulty of a card.

    Args:
        label: E, C or U.
        kind: the card's kind.
        premises: how many facts its label rests on.
        asked: names of the asked subject and object.
        others: names of the other entities in its facts.
    """
    one_fact_tells = label != "U" and kind in ("asserted", "denied")
    level = 0 if one_fact_tells else 2 if premises > 1 else 1
    level += closest(asked, others) >= CLOSE
    return _LEVELS[min(level, 2)]


def closest(asked: tuple[str, str], others: Iterable[str]) -> float:
    """The highest name similarity in [0, 1] between an asked name and another one."""
    from rapidfuzz import fuzz

    return max(
        (fuzz.ratio(name, other) / 100 for other in others for name in asked if other != name),
        default=0.0,
    )
