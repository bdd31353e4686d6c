"""Finds copies of cards under other ids, and labels that the cards' own proofs contradict.

This needs neither graph nor oracle, so metrics and reports do it whenever they have the cards. Who
exchanges the proofs along with the labels is found by proving them again: ``cards.label_check``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from cards.card_blocks import CardBlock, CheckedCard, CheckedProof, iter_card_blocks
from kg.claims import Label, Proof

LABEL_OF_PROOF: Final[dict[str, Label]] = {
    "asserted": "E",
    "derived": "E",
    "denied": "C",
    "violation": "C",
    "unproved": "U",
}
"""Kind of a proof → the only label that it can be a proof of."""
_DIGEST_BYTES: Final = 16


class CardProblem(msgspec.Struct, frozen=True):
    """One card that contradicts itself, or is a copy of another."""

    path: Path
    line: int
    id: str
    field: str
    expected: str
    found: str


def find_card_problems(
    paths: Sequence[Path], on_block: Callable[[CardBlock], object] = lambda _block: None
) -> Iterator[CardProblem]:
    """Yields what is wrong with the cards of some files: first labels, then copies, each by line.

    A copy has the facts, in any order, the rules and the question of an earlier card, in the same
    file or another. Eight bytes are kept of each card; if some are equal, the files are read again.

    Args:
        paths: the card files.
        on_block: called with all cards, many at a time.

    Raises:
        MissingFileError, RecordError: as ``iter_card_blocks``.
    """
    hashes = array("q")
    for path in paths:
        for block in iter_card_blocks(path):
            on_block(block)
            yield from _check_labels(block)
            hashes.extend(map(_hash_content, block.cards))
    if repeated := _find_repeated_hashes(hashes):
        yield from _find_copies(paths, repeated)


def _check_labels(block: CardBlock) -> Iterator[CardProblem]:
    for line, card in zip(block.lines, block.cards, strict=True):
        card_proof = card.meta.card_proof
        if card.proof is None and card_proof is None:
            continue
        for field, proof in (("proof", card.proof), ("card_proof", card_proof)):
            kind = proof.kind if isinstance(proof, Proof | CheckedProof) else None
            proved = LABEL_OF_PROOF.get(str(kind), card.label)
            if proved != card.label:
                expected = f"{proved}, by the kind of its {field}: {kind}"
                yield CardProblem(block.path, line, card.id, "label", expected, card.label)
                break


def _hash_content(card: CheckedCard) -> int:
    """Returns a number that is equal for copies, and rarely for other cards.

    Python's own hash is fast, and differs between processes, so that nothing else may depend on it.
    The rules are left out, since cards with the same facts and question hardly differ in them.
    """
    return hash((card.question, *sorted(card.facts)))


def _digest_content(card: CheckedCard) -> bytes:
    content = (sorted(card.facts), sorted(card.rules), card.question)
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=_DIGEST_BYTES).digest()


def _find_repeated_hashes(hashes: array[int]) -> set[int]:
    """Returns the hashes that occur more than once; sorts them, to need no more memory."""
    if not hashes:
        return set()
    content = np.frombuffer(hashes, dtype=np.int64)
    content.sort()
    return set(content[1:][content[1:] == content[:-1]].tolist())


def _find_copies(paths: Sequence[Path], repeated: set[int]) -> Iterator[CardProblem]:
    first_cards: dict[bytes, tuple[str, Path, int]] = {}
    for path in paths:
        for block in iter_card_blocks(path):
            for line, card in zip(block.lines, block.cards, strict=True):
                if _hash_content(card) not in repeated:
                    continue
                place = (card.id, path, line)
                first_id, first_path, first_line = first = first_cards.setdefault(
                    _digest_content(card), place
                )
                if first is place:
                    continue
                file = f" of {first_path}" if first_path != path else ""
                yield CardProblem(
                    path,
                    line,
                    card.id,
                    "facts and question",
                    "a card of its own",
                    f"a copy of card {first_id!r} in line {first_line}{file}",
                )
