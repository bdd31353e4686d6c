"""Several card files as one card set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cards.card import Card, read_cards
from kg.base.errors import DuplicateIdError


def join_cards(files: Sequence[Path]) -> list[Card]:
    """Reads card files one after the other.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of a file, as ``read_cards`` says.
        DuplicateIdError: two files bear the same card id.
    """
    cards: list[Card] = []
    seen: dict[str, Path] = {}
    for path in files:
        for card in read_cards(path):
            if card.id in seen:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=f"{seen[card.id]} and {path}",
                    hint="Give each card file once.",
                )
            seen[card.id] = path
            cards.append(card)
    return cards
