"""Reads card files many cards at a time, with the fields that checks need and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cards.card import Difficulty, card_from_json
from kg.base.errors import RecordError
from kg.base.files import decode_block, iter_decoded_lines, iter_line_blocks, iter_records
from kg.claims import GOLD_OF_LABEL, LABELS, Claim, Gold, Label, Proof

_BLOCK_CARDS: int = 1000
"""Number of cards in a block, if the file has to be read line by line."""


class CheckedProof(msgspec.Struct, gc=False, frozen=True):
    """The kind of a proof over the card alone, which may have any value."""

    kind: Any = ""


class CheckedMeta(msgspec.Struct, gc=False, frozen=True):
    """The keys of a card's ``meta`` that checks need; these may have any value."""

    card_proof: CheckedProof | list[Any] | str | float | bool | None = None
    context: Any = ""
    full_label: Any = ""
    mined_rules: Any = False


class CheckedCard(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """A card without what checks do not need; see ``Card`` for the meaning of the fields."""

    id: str
    facts: tuple[str, ...]
    question: str
    gold: Gold
    label: Label
    claim: Claim
    rules: tuple[str, ...] = ()
    kind: str = ""
    proof: Proof | None = None
    cluster: str = ""
    difficulty: Difficulty | None = None
    meta: CheckedMeta = CheckedMeta()

    @property
    def triplet(self) -> str:
        """As ``Card.triplet``."""
        return self.meta.context if isinstance(self.meta.context, str) else ""

    @property
    def full_label(self) -> str:
        """As ``Card.full_label``."""
        return self.meta.full_label if self.meta.full_label in LABELS else ""

    @property
    def rests_on_mined_rules(self) -> bool:
        """As ``Card.rests_on_mined_rules``."""
        return self.meta.mined_rules is True


class CardBlock(NamedTuple):
    """Some consecutive cards of a file.

    Attributes:
        path: the file.
        lines: the line of each card, from 1.
        cards: the cards.
    """

    path: Path
    lines: Sequence[int]
    cards: Sequence[CheckedCard]


def iter_card_blocks(path: Path) -> Iterator[CardBlock]:
    """Yields the cards of a file, whose ids may occur twice, in blocks.

    Raises:
        MissingFileError: the file does not exist.
        RecordError: a line is not a valid card, or the file has none.
    """
    decoder = msgspec.json.Decoder(CheckedCard)
    is_empty = True
    for first_line, n_lines, content in iter_line_blocks(path, "card file"):
        cards = decode_block(content, n_lines, decoder)
        if cards is None or any(GOLD_OF_LABEL[card.label] != card.gold for card in cards):
            for block in _iter_lines(path, first_line, decoder):
                is_empty = False
                yield block
            break
        is_empty = False
        yield CardBlock(path, range(first_line, first_line + len(cards)), cards)
    if is_empty:
        raise RecordError("no cards", where=str(path), hint="Make some with `epoche cards`.")


def _iter_lines(
    path: Path, first_line: int, decoder: msgspec.json.Decoder[CheckedCard]
) -> Iterator[CardBlock]:
    """Yields the cards from a line on, read line by line."""

    def decode(line: bytes) -> CheckedCard:
        card = decoder.decode(line)
        if GOLD_OF_LABEL[card.label] != card.gold:
            raise msgspec.ValidationError(f"label {card.label} needs gold")
        return card

    lines: list[int] = []
    cards: list[CheckedCard] = []
    try:
        for line, card in iter_decoded_lines(path, "card", decode):
            if line < first_line:
                continue
            lines.append(line)
            cards.append(card)
            if len(cards) == _BLOCK_CARDS:
                yield CardBlock(path, lines, cards)
                lines, cards = [], []
    except RecordError:
        # Whole cards are read, so that the message is that of all other readers of cards.
        for _ in iter_records(path, "card", card_from_json):
            pass
        raise
    if cards:
        yield CardBlock(path, lines, cards)
