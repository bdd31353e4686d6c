"""The card: one question whose answer is proved, and the view of it that a system may see."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_records, to_json_bytes, write_jsonl_atomic
from kg.claims import GOLD_OF_LABEL, Claim, Gold, Label, Proof

Difficulty = Literal["easy", "medium", "hard"]


class CardView(msgspec.Struct, frozen=True):
    """All that a system under test ever sees of a card.

    A separate type rather than a promise: the runner hands systems this object, so gold, label,
    claim, kind, proof and id cannot reach them.
    """

    facts: tuple[str, ...]
    rules: tuple[str, ...]
    question: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the benchmark. Field meanings are in ``docs/records.md``.

    Files from elsewhere may lack every field that has a default; keys this class does not know
    are kept in ``extra`` and written back.
    """

    id: str
    """Opaque: carries neither label nor kind."""
    facts: tuple[str, ...]
    question: str
    gold: Gold
    label: Label
    claim: Claim
    rules: tuple[str, ...] = ()
    kind: str = ""
    """How the label comes about: ``asserted``, ``functional``, ``near-miss/sibling`` …"""
    proof: Proof | None = None
    """The proof over the graph."""
    cluster: str = ""
    """What the card must be resampled with: its subject's IRI."""
    difficulty: Difficulty | None = None
    meta: dict[str, Any] = {}
    """``triples`` (the facts as claims, in order; a denied one under ``denied``), ``card_proof``
    (the proof over facts and rules alone), ``difficulty`` (what its level was read from),
    ``hardness``, ``strategy`` …"""
    extra: dict[str, Any] = {}

    @property
    def view(self) -> CardView:
        """The part of the card a system sees."""
        return CardView(self.facts, self.rules, self.question)


_FIELDS = frozenset(Card.__struct_fields__) - {"extra"}


def card_from_json(row: dict[str, Any]) -> Card:
    """Reads one card, keeping unknown keys.

    Raises:
        msgspec.ValidationError: a field is missing or has the wrong type.
        ValueError: gold and label contradict each other.
    """
    known = {key: value for key, value in row.items() if key in _FIELDS}
    card = msgspec.convert({**known, "extra": {k: row[k] for k in row if k not in _FIELDS}}, Card)
    if GOLD_OF_LABEL[card.label] != card.gold:
        raise ValueError(f"label {card.label} needs gold {GOLD_OF_LABEL[card.label]}")
    return card


def card_to_json(card: Card) -> dict[str, Any]:
    """One card as a JSON object, unknown keys last."""
    row: dict[str, Any] = msgspec.to_builtins(card)
    extra = row.pop("extra")
    return {**row, **extra}


def read_cards(path: Path | str) -> list[Card]:
    """Reads a card file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
        DuplicateIdError: two cards bear one id.
    """
    cards: list[Card] = []
    seen: set[str] = set()
    for card in iter_records(path, "card", card_from_json):
        if card.id in seen:
            raise DuplicateIdError(
                f"card id {card.id!r} occurs twice",
                where=str(path),
                hint="Ids must be unique; make the cards again or rename one.",
            )
        seen.add(card.id)
        cards.append(card)
    if not cards:
        raise RecordError("no cards", where=str(path), hint="Make some with `epoche cards`.")
    return cards


def write_cards(path: Path | str, cards: Iterable[Card]) -> int:
    """Writes a card file, all or nothing; returns how many."""
    return write_jsonl_atomic(path, map(_row, cards))


def _row(card: Card) -> Any:
    """What encodes to ``card_to_json(card)``; a card of ours has nothing extra to be put last."""
    return card_to_json(card) if card.extra else msgspec.Raw(_without_extra(card))


_NO_EXTRA = b',"extra":{}}'


def _without_extra(card: Card) -> bytes:
    line = to_json_bytes(card)
    assert line.endswith(_NO_EXTRA)
    return line[: -len(_NO_EXTRA)] + b"}"


def card_set_hash(cards: Iterable[Card]) -> str:
    """Hex SHA-256 that identifies a card set by content, in file order.

    Takes the cards one by one and keeps none.
    """
    content = hashlib.sha256()
    between = b""
    for card in cards:
        content.update(between + _canonical(card))
        between = b"\n"
    return content.hexdigest()


def _canonical(card: Card) -> bytes:
    return to_json_bytes([card.id, card.facts, card.rules, card.question, card.gold, card.label])
