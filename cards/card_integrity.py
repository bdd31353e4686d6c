"""Finds card files that are not as their manifests describe them.

Whoever reads cards and writes cards or rows checks this before anything else: the file that it
writes has hashes of its own, and would look unchanged to all commands that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cards.card import CardSetHash
from cards.card_blocks import iter_card_blocks
from cards.card_origin import read_card_origin
from kg.base.console import print_warning_once
from kg.base.errors import ChangedRunError
from kg.base.files import require_file, sha256_file
from kg.base.provenance import manifest_path

UNVERIFIED_CARDS: Final = "cards:unverified"
"""What signatures say of cards without a recorded hash: a lost manifest, or another program's."""
_SHOWN_DIGITS: Final = 12


def find_changed_cards(
    path: Path, card_set: str | None = None, file_sha256: str | None = None
) -> ChangedRunError | None:
    """Finds out that a card file changed after it was made, by the hashes in its manifest.

    Args:
        path: the card file.
        card_set: hash of the card set, if it is known.
        file_sha256: hash of the file, if it is known.

    Returns:
        What changed; None if nothing did, or if there is no manifest with hashes.

    Raises:
        MissingFileError, RecordError: the file does not exist, or it or its manifest is damaged.
        ChangedRunError: the manifest itself was edited.
    """
    origin = read_card_origin(path)
    if origin.cards_sha256 is not None:
        card_set = card_set or _hash_card_file(path)
        if card_set != origin.cards_sha256:
            return _make_error(
                path,
                f"its manifest is of card set {origin.cards_sha256[:_SHOWN_DIGITS]}, and its cards "
                f"are of {card_set[:_SHOWN_DIGITS]}",
            )
    if origin.cards_file_sha256 not in (None, file_sha256 or sha256_file(path)):
        return _make_error(
            path,
            "its manifest is of the same facts, questions and labels, but kinds, claims, clusters, "
            "proofs, or only line ends and spaces differ",
        )
    return None


def lacks_card_hashes(path: Path) -> bool:
    """Returns whether nothing shows if the cards of a file, or those they were made of, changed.

    Raises:
        RecordError, ChangedRunError: as in ``find_changed_cards``.
    """
    origin = read_card_origin(path)
    return bool(origin.unverified) or not (origin.cards_sha256 and origin.content_sha256)


def are_as_made(path: Path) -> bool:
    """Returns whether hashes show that the cards of a file are as Epoché made them.

    Raises:
        MissingFileError, RecordError, ChangedRunError: as in ``find_changed_cards``.
    """
    if lacks_card_hashes(path) or read_card_origin(path).accepted_changes:
        return False
    return find_changed_cards(path) is None


def accept_changed_cards(
    paths: Sequence[Path], *, allow_changed: bool, card_set: str | None = None
) -> tuple[str, ...]:
    """Refuses card files that are not as their manifests describe them, or warns of them.

    Args:
        paths: the card files.
        allow_changed: accept them.
        card_set: hash of the card set, if there is one file and its hash is known.

    Returns:
        What was accepted, now or when the files were made, for the manifest of what is written.

    Raises:
        ChangedRunError: a file changed after it was made, and this is not accepted.
        MissingFileError, RecordError: as in ``find_changed_cards``.
    """
    accepted: dict[str, None] = {}
    for path in paths:
        require_file(path, "card file")
        accepted |= dict.fromkeys(read_card_origin(path).accepted_changes)
        problem = find_changed_cards(path, card_set)
        if problem is None:
            continue
        if not allow_changed:
            raise problem
        print_warning_once(f"Accepted with --allow-changed: {problem.what} ({problem.where}).")
        accepted[problem.what] = None
    return tuple(accepted)


def _hash_card_file(path: Path) -> str:
    digest = CardSetHash()
    for block in iter_card_blocks(path):
        digest.add(block.cards)
    return digest.hexdigest()


def _make_error(path: Path, difference: str) -> ChangedRunError:
    return ChangedRunError(
        f"{path.name} changed after it was made: {difference}",
        where=str(manifest_path(path)),
        hint="Restore the cards, or make them again; --allow-changed accepts them, and every "
        "signature then says so.",
    )
