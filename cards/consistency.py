"""Finds copies of cards under other ids, and labels that the cards' own proofs contradict.

This needs neither graph nor oracle, so metrics and reports do it whenever they have the cards. Who
exchanges the proofs along with the labels is found by proving them again: ``cards.label_check``.
"""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

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
_SEPARATOR: Final = "\x1f"
_COUNTED: Final = f"{string.ascii_letters}{string.digits}{_SEPARATOR}".encode()
_IGNORED_BYTES: Final = bytes(byte for byte in range(256) if byte not in _COUNTED)
_LOWER_CASE: Final = bytes(range(256)).lower()
_IGNORED: Final = re.compile(
    r"(?<!\d)[.,:]|[.,:](?!\d)|[\s;!?\'\"()\[\]“”‘’„«»…\u200b-\u200f\ufeff]"
)
"""White space and punctuation; not what tells 1.5 from 15, 2:1 from 21, or C++ from C."""


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

    A copy has the set of facts of an earlier card, in the same file or another, and its question or
    its claim. Case, white space and punctuation do not count. Sixteen bytes are kept of each card;
    if some are equal, the files are read again.

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
            hashes.extend(chain.from_iterable(_hash_contents(block.cards)))
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


def _hash_contents(cards: Sequence[CheckedCard]) -> Iterator[tuple[int, int]]:
    """Yields two numbers for each card, of which copies have one in common, other cards rarely.

    Only the ASCII letters and digits of the texts count, which is fast: whether cards that have a
    number in common are copies is decided by ``_digest_content``. Python's own hash is fast, too,
    and differs between processes, so that nothing else may depend on it.
    """
    texts = [text for card in cards for text in (card.question, *card.facts)]
    joined = _SEPARATOR.join(texts)
    if joined.count(_SEPARATOR) >= len(texts):  # some text contains one, which is white space
        joined = _SEPARATOR.join(text.replace(_SEPARATOR, "") for text in texts)
    # All texts are folded at once, which takes half the time of one card after the other.
    if not joined.isascii():  # the Kelvin sign is a k, and "é" may be written with an e
        joined = _fold_case(joined)
    encoded = joined.encode("utf-8", "surrogatepass").translate(_LOWER_CASE, _IGNORED_BYTES)
    folded = encoded.split(_SEPARATOR.encode())
    start = 0
    for card in cards:
        end = start + 1 + len(card.facts)
        facts = frozenset(folded[start + 1 : end])
        yield hash((folded[start], facts)), hash((card.claim, facts))
        start = end


def _digest_content(card: CheckedCard) -> dict[str, bytes]:
    """Returns what no other card may have in common with a card: name → its digest.

    Rules count only on cards without facts: others with the same facts and question hardly differ
    in them. Cards of other programs may have no facts or no claim, which then tell nothing. Where
    only case and the like differ, the labels tell whether these matter ("mW" and "MW").
    """
    facts = sorted({_fold_text(fact) for fact in card.facts})
    rules = [] if facts else sorted({_fold_text(rule) for rule in card.rules})
    question = _fold_text(card.question)
    contents: dict[str, Any] = {
        "facts and question": (question, facts, rules, card.label),
        "facts and question as written": (
            card.question,
            sorted(set(card.facts)),
            [] if facts else sorted(set(card.rules)),
        ),
    }
    if facts and all((card.claim.subj, card.claim.pred, card.claim.obj)):
        contents["facts and claim"] = (card.claim, facts)
    return {
        name: hashlib.blake2b(
            msgspec.json.encode((name, content)), digest_size=_DIGEST_BYTES
        ).digest()
        for name, content in contents.items()
    }


def _fold_text(text: str) -> str:
    """Returns a text without case, white space, and punctuation other than that of numbers."""
    return _IGNORED.sub("", _fold_case(text))


def _fold_case(text: str) -> str:
    """Returns a text without case, and with one form of each character."""
    return unicodedata.normalize("NFC", text).casefold()


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
            hashes = _hash_contents(block.cards)
            for line, card, numbers in zip(block.lines, block.cards, hashes, strict=True):
                if repeated.isdisjoint(numbers):
                    continue
                place = (card.id, path, line)
                firsts = {
                    name: first_cards.setdefault(digest, place)
                    for name, digest in _digest_content(card).items()
                }
                name = next((name for name, first in firsts.items() if first is not place), None)
                if name is None:
                    continue
                first_id, first_path, first_line = firsts[name]
                file = f" of {first_path}" if first_path != path else ""
                yield CardProblem(
                    path,
                    line,
                    card.id,
                    name,
                    "a card of its own",
                    f"a copy of card {first_id!r} in line {first_line}{file}",
                )


def find_other_clusters(path: Path) -> Iterator[CardProblem]:
    """Yields the cards made by Epoché whose cluster is not their claim's subject.

    Intervals are too narrow if the cards about one subject are in several clusters.

    Raises:
        MissingFileError, RecordError: as ``iter_card_blocks``.
    """
    for block in iter_card_blocks(path):
        for line, card in zip(block.lines, block.cards, strict=True):
            if card.cluster != card.claim.subj:
                expected = f"{card.claim.subj}, its subject"
                yield CardProblem(path, line, card.id, "cluster", expected, card.cluster)
