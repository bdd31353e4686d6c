"""Joins several card files into one card set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cards.card import Card, read_cards
from kg.base.errors import DuplicateIdError


def join_cards(files: Sequence[Path]) -> list[Card]:
    """Reads several card files and returns their cards in order.

    Raises:
        MissingFileError, RecordError: as for ``read_cards``.
        DuplicateIdError: the same card id occurs twice, in one file or in two.
    """
    cards: list[Card] = []
    file_by_id: dict[str, Path] = {}
    for path in files:
        for card in read_cards(path):
            if card.id in file_by_id:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=f"{file_by_id[card.id]} and {path}",
                    hint="Give each card file once.",
                )
            file_by_id[card.id] = path
            cards.append(card)
    return cards
