"""Joins several card files into one card set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cards.card import Card, iter_cards
from kg.base.errors import DuplicateIdError


def join_cards(files: Sequence[Path]) -> list[Card]:
    """Reads several card files into one list, in order; raises as ``iter_joined_cards``."""
    return list(iter_joined_cards(files))


def iter_joined_cards(files: Sequence[Path]) -> Iterator[Card]:
    """Yields the cards of several files in order, keeping only their ids in memory.

    Raises:
        MissingFileError, RecordError: as for ``iter_cards``.
        DuplicateIdError: the same card id occurs twice, in one file or in two.
    """
    file_by_id: dict[str, Path] = {}
    for path in files:
        for card in iter_cards(path):
            if card.id in file_by_id:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=f"{file_by_id[card.id]} and {path}",
                    hint="Give each card file once.",
                )
            file_by_id[card.id] = path
            yield card
