"""A card file that is read card by card, so that a million cards need no more memory than ten.

Opening it reads it once, as ``cards.card.read_cards`` does and with the same refusals, but keeps
only where each card stands and how to find it by its id: about twenty bytes a card.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cards.card import Card, card_from_json, card_set_hash
from eval.running.id_index import IdIndex
from kg.base.closing import Closing
from kg.base.errors import CardSetMismatchError, DuplicateIdError, RecordError
from kg.base.files import MAX_LINE_BYTES, iter_records, require_file, sha256_file


class CardFile(Closing):
    """An open card file.

    Args:
        path: the file.

    Attributes:
        path: the file.
        sha256: ``cards.card.card_set_hash`` of the cards.
        file_sha256: of the file's bytes.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as ``cards.card.read_cards``.
    """

    def __init__(self, path: Path) -> None:
        self.path = require_file(path, "card file")
        self._handle = self.path.open("rb")
        self._offsets = array("q")
        self._index = IdIndex(lambda item: self._read(item).id)
        try:
            self._state = self._stat()
            self.sha256 = card_set_hash(self._indexed())
            self.file_sha256 = sha256_file(path)
        except BaseException:
            self.close()
            raise
        if not self._offsets:
            self.close()
            raise RecordError("no cards", where=str(path), hint="Make some with `epoche cards`.")

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, item: int) -> Card:
        """The card at a place in the file, from 0.

        Raises:
            CardSetMismatchError: the file was changed after it was opened.
        """
        if self._stat() != self._state:
            raise CardSetMismatchError(
                "the cards were changed while they were being asked",
                where=str(self.path),
                hint="What was answered before is kept; ask the new cards with another --out.",
            )
        return self._read(item)

    def find(self, card_id: str) -> int | None:
        """The place of the card with an id; null when there is none."""
        return self._index.find(card_id)

    def close(self) -> None:
        """Closes the file."""
        self._handle.close()

    def _indexed(self) -> Iterator[Card]:
        """Every card once, entered into the index as it passes."""
        cards = iter_records(self.path, "card", card_from_json)
        for card, offset in zip(cards, _line_offsets(self.path), strict=True):
            self._offsets.append(offset)
            if self._index.add(card.id) is not None:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=str(self.path),
                    hint="Ids must be unique; make the cards again or rename one.",
                )
            yield card

    def _read(self, item: int) -> Card:
        self._handle.seek(self._offsets[item])
        return card_from_json(msgspec.json.decode(self._handle.readline()))

    def _stat(self) -> tuple[int, int]:
        """What changes when somebody writes into the open file."""
        status = os.fstat(self._handle.fileno())
        return status.st_size, status.st_mtime_ns


def _line_offsets(path: Path) -> Iterator[int]:
    """Where each line begins that is not blank; the lines themselves are checked by the reader."""
    offset = 0
    with path.open("rb") as handle:
        while line := handle.readline(MAX_LINE_BYTES + 1):
            if line.strip():
                yield offset
            offset += len(line)
