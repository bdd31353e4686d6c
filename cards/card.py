"""Defines the card, a question with a proved answer, and the view of it that a system gets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import iter_records, to_json_bytes, write_jsonl_atomic
from kg.base.packed_strings import StringNumbers
from kg.claims import GOLD_OF_LABEL, LABELS, Claim, Gold, Label, Proof

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
"""The stated difficulties, in order."""
_BATCH_CARDS = 1000
_ENCODER = msgspec.json.Encoder()


class CardView(msgspec.Struct, frozen=True):
    """The part of a card that a system under test gets.

    A separate type, so that gold, label, claim, kind, proof and id cannot reach a system: the
    runner passes this object only.
    """

    facts: tuple[str, ...]
    rules: tuple[str, ...]
    question: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the benchmark. Field meanings are in ``docs/reference/records.md``.

    Fields with a default may be missing in files from other tools; unknown keys are stored in
    ``extra`` and written back.
    """

    id: str
    """An opaque id that reveals neither label nor kind."""
    facts: tuple[str, ...]
    question: str
    gold: Gold
    label: Label
    claim: Claim
    rules: tuple[str, ...] = ()
    kind: str = ""
    """The reason for the label: ``asserted``, ``functional``, ``near-miss/sibling`` …"""
    proof: Proof | None = None
    """The proof over the graph."""
    cluster: str = ""
    """The card's group for resampling: its subject's IRI."""
    difficulty: Difficulty | None = None
    meta: dict[str, Any] = {}
    """``triples`` (the facts as claims, in order; a denied one under ``denied``), ``card_proof``
    (the proof over facts and rules alone), ``difficulty`` (the features behind the level),
    ``mined_rules`` (true if its proof rests on nothing but rules found in the data), ``hardness``,
    ``strategy`` …"""
    extra: dict[str, Any] = {}

    @property
    def view(self) -> CardView:
        """The part of the card that a system gets."""
        return CardView(self.facts, self.rules, self.question)

    @property
    def triplet(self) -> str:
        """The name of the E, C and U cards that share their facts; empty if it is not known."""
        context = self.meta.get("context", "")
        return context if isinstance(context, str) else ""

    @property
    def full_label(self) -> str:
        """The label of a U card before facts were set aside; empty if it is not known.

        It is E where the claim is true in the graph, and was set aside for the card.
        """
        label = self.meta.get("full_label", "")
        return label if label in LABELS else ""

    @property
    def rests_on_mined_rules(self) -> bool:
        """Whether it is contradictory only by rules that `epoche kg init` found in the data."""
        return self.meta.get("mined_rules") is True


_FIELDS = frozenset(Card.__struct_fields__) - {"extra"}


def card_from_json(row: dict[str, Any]) -> Card:
    """Decodes one card from a JSON object, keeping unknown keys.

    Raises:
        msgspec.ValidationError: a field is missing or has the wrong type.
        ValueError: gold and label contradict each other.
    """
    fields = {key: value for key, value in row.items() if key in _FIELDS}
    card = msgspec.convert({**fields, "extra": {k: row[k] for k in row if k not in _FIELDS}}, Card)
    if GOLD_OF_LABEL[card.label] != card.gold:
        raise ValueError(f"label {card.label} needs gold {GOLD_OF_LABEL[card.label]}")
    return card


def card_to_json(card: Card) -> dict[str, Any]:
    """Encodes one card as a JSON object, unknown keys last."""
    row: dict[str, Any] = msgspec.to_builtins(card)
    extra = row.pop("extra")
    return {**row, **extra}


def read_cards(path: Path | str) -> list[Card]:
    """Reads a card file into a list; raises as ``iter_cards``."""
    return list(iter_cards(path))


def iter_cards(path: Path | str) -> Iterator[Card]:
    """Yields the cards of a file one by one, so that only their ids are kept in memory.

    Raises:
        MissingFileError: the file does not exist.
        RecordError: a line is not a valid card, or the file has none.
        DuplicateIdError: two cards have the same id.
    """
    ids = StringNumbers()
    for card in iter_records(path, "card", card_from_json):
        n_before = len(ids)
        if ids.add(card.id) < n_before:
            raise DuplicateIdError(
                f"card id {card.id!r} occurs twice",
                where=str(path),
                hint="Ids must be unique; make the cards again or rename one of the two.",
            )
        yield card
    if not len(ids):
        raise RecordError("no cards", where=str(path), hint="Make some with `epoche cards`.")


def write_cards(path: Path | str, cards: Iterable[Card]) -> int:
    """Writes a card file atomically; returns the number of cards."""
    return write_jsonl_atomic(path, map(_encode_card, cards))


def _encode_card(card: Card) -> Any:
    """Returns an object that encodes to the same JSON as ``card_to_json(card)``.

    Encoding the struct directly is faster, and gives the same JSON if there are no extra keys.
    """
    return card_to_json(card) if card.extra else msgspec.Raw(_encode_without_extra(card))


_EMPTY_EXTRA = b',"extra":{}}'


def _encode_without_extra(card: Card) -> bytes:
    line = to_json_bytes(card)
    # ``extra`` is the last field of Card, so an empty one is always this suffix.
    assert line.endswith(_EMPTY_EXTRA)
    return line[: -len(_EMPTY_EXTRA)] + b"}"


def hash_card_set(cards: Iterable[Card]) -> str:
    """Returns the hex SHA-256 of a card set's content, in file order.

    Reads few cards at a time, so that a generator needs no memory for all of them.
    """
    digest = CardSetHash()
    cards = iter(cards)
    while batch := list(islice(cards, _BATCH_CARDS)):
        digest.add(batch)
    return digest.hexdigest()


class CardSetHash:
    """Computes the hash of a card set's content from its cards, one or many at a time, in order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._separator = b""

    def add(self, cards: Sequence[Any]) -> None:
        """Adds the next cards: of type ``Card``, or of another one with its fields."""
        rows = [(c.id, c.facts, c.rules, c.question, c.gold, c.label) for c in cards]
        if rows:
            # Each row is followed by a line end, which separates it from the next one.
            self._digest.update(self._separator)
            self._digest.update(memoryview(_ENCODER.encode_lines(rows))[:-1])
            self._separator = b"\n"

    def hexdigest(self) -> str:
        """Returns the hex SHA-256 of the cards that were added."""
        return self._digest.hexdigest()
