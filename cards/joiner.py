"""Joins several card files into one card set."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from cards.card import Card, iter_cards
from cards.generation.kinds import NEAR_MISS_PREFIX
from kg.base.errors import DuplicateIdError, QuotaError
from kg.base.packed_strings import StringNumbers
from kg.base.plain_text import format_count
from kg.claims import LABELS


def join_cards(files: Sequence[Path]) -> list[Card]:
    """Reads several card files into one list, in order; raises as ``iter_joined_cards``."""
    return list(iter_joined_cards(files))


def sample_triplets(cards: Sequence[Card], number: int) -> list[Card]:
    """Samples triplets, in the order of the cards; other cards and near-misses are left out.

    They are chosen by the hash of their name, so that the same cards give the same sample.

    Raises:
        QuotaError: there are fewer triplets.
    """
    sizes = Counter(
        card.triplet
        for card in cards
        if card.triplet and not card.kind.startswith(NEAR_MISS_PREFIX)
    )
    names = [name for name, size in sizes.items() if size == len(LABELS)]
    if len(names) < number:
        raise QuotaError(
            f"the card files have {format_count(len(names), 'triplet')}, not {number:,}",
            hint="Ask for fewer with --triplets.",
        )
    chosen = set(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:number])
    return [card for card in cards if card.triplet in chosen]


def iter_joined_cards(files: Sequence[Path]) -> Iterator[Card]:
    """Yields the cards of several files in order, keeping only their ids in memory.

    Raises:
        MissingFileError, RecordError: as for ``iter_cards``.
        DuplicateIdError: the same card id occurs twice, in one file or in two.
    """
    if len(files) == 1:  # which ``iter_cards`` checks alone
        yield from iter_cards(files[0])
        return
    ids = StringNumbers()
    ends: list[int] = []
    for path in files:
        for card in iter_cards(path):
            n_before = len(ids)
            if (number := ids.add(card.id)) < n_before:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=f"{files[bisect_right(ends, number)]} and {path}",
                    hint="Give each card file once.",
                )
            yield card
        ends.append(len(ids))
