"""Finds copies of cards under other ids, and labels that the cards' own proofs contradict.

This needs neither graph nor oracle, so metrics and reports do it whenever they have the cards. Who
exchanges the proofs along with the labels is found by proving them again: ``cards.label_check``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from kg.base.files import iter_decoded_lines
from kg.claims import Label

LABEL_OF_PROOF: Final[dict[str, Label]] = {
    "asserted": "E",
    "derived": "E",
    "denied": "C",
    "violation": "C",
    "unproved": "U",
}
"""Kind of a proof → the only label that it can be a proof of."""
_DIGEST_BYTES: Final = 8


class CardProblem(msgspec.Struct, frozen=True):
    """One card that contradicts itself, or is a copy of another."""

    line: int
    id: str
    field: str
    expected: str
    found: str


class CheckedCard(msgspec.Struct, gc=False, frozen=True):
    """The fields of a card that are checked."""

    id: str
    facts: tuple[str, ...]
    question: str
    label: str
    rules: tuple[str, ...] = ()
    proof: _Proof | None = None
    meta: _Meta | None = None


class _Proof(msgspec.Struct, gc=False, frozen=True):
    kind: str


class _Meta(msgspec.Struct, gc=False, frozen=True):
    card_proof: Any = None


def find_card_problems(
    path: Path, on_card: Callable[[int, CheckedCard], object] = lambda _line, _card: None
) -> Iterator[CardProblem]:
    """Yields what is wrong with the cards of a file: first labels, then copies, each by line.

    A copy has the facts, in any order, the rules and the question of an earlier card. Eight bytes
    are kept of each card; if there are copies, the file is read again.

    Args:
        path: the card file.
        on_card: called with the line of every card and the card.

    Raises:
        MissingFileError, RecordError: the file does not exist, or a line is no card.
    """
    digests = array("Q")
    decode = msgspec.json.Decoder(CheckedCard).decode
    for line, card in iter_decoded_lines(path, "card", decode):
        on_card(line, card)
        yield from _check_label(line, card)
        digests.append(_hash_content(card))
    repeated = _find_repeated(digests)
    if repeated:
        yield from _describe_copies(path, repeated, decode)


def _check_label(line: int, card: CheckedCard) -> Iterator[CardProblem]:
    on_card = card.meta.card_proof if card.meta else None
    kinds = {
        "proof": card.proof.kind if card.proof else "",
        "card_proof": str(on_card.get("kind", "")) if isinstance(on_card, dict) else "",
    }
    for field, kind in kinds.items():
        proved = LABEL_OF_PROOF.get(kind, card.label)
        if proved != card.label:
            expected = f"{proved}, by the kind of its {field}: {kind}"
            yield CardProblem(line, card.id, "label", expected, card.label)
            return


def _hash_content(card: CheckedCard) -> int:
    content = (sorted(card.facts), sorted(card.rules), card.question)
    digest = hashlib.blake2b(msgspec.json.encode(content), digest_size=_DIGEST_BYTES)
    return int.from_bytes(digest.digest())


def _find_repeated(digests: array[int]) -> set[int]:
    """Returns the digests that occur more than once; sorts them, to need no more memory."""
    if not digests:
        return set()
    content = np.frombuffer(digests, dtype=np.uint64)
    content.sort()
    return set(content[1:][content[1:] == content[:-1]].tolist())


def _describe_copies(
    path: Path, repeated: set[int], decode: Callable[[bytes], CheckedCard]
) -> Iterator[CardProblem]:
    first_cards: dict[int, tuple[str, int]] = {}
    for line, card in iter_decoded_lines(path, "card", decode):
        digest = _hash_content(card)
        if digest not in repeated:
            continue
        first, first_line = first_cards.setdefault(digest, (card.id, line))
        if first_line != line:
            yield CardProblem(
                line,
                card.id,
                "facts and question",
                "a card of its own",
                f"a copy of card {first!r} in line {first_line}",
            )
