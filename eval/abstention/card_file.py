"""Reads a card file card by card, so that a million cards fit into little memory.

Opening the file reads it once, with the same checks as ``cards.card.read_cards``. Only the offset
of each card and an index of the ids are stored, about twenty bytes per card.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from cards.card import Card, card_from_json, hash_card_set
from eval.harness.journals.id_index import IdIndex
from kg.base.closable import Closable
from kg.base.errors import CardSetMismatchError, DuplicateIdError, RecordError
from kg.base.files import MAX_LINE_BYTES, iter_records, require_file, sha256_file


class CardFile(Closable):
    """An open card file.

    Args:
        path: the file.

    Attributes:
        path: the file.
        sha256: ``cards.card.hash_card_set`` of the cards.
        file_sha256: SHA-256 of the file's bytes.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: as ``cards.card.read_cards``.
    """

    def __init__(self, path: Path) -> None:
        self.path = require_file(path, "card file")
        self._handle = self.path.open("rb")
        self._offsets = array("q")
        self._index = IdIndex(lambda item: self._read_card(item).id)
        try:
            self._state = self._get_file_state()
            self.sha256 = hash_card_set(self._iter_indexed_cards())
            self.file_sha256 = sha256_file(path)
        except BaseException:
            self.close()
            raise
        if not self._offsets:
            self.close()
            raise RecordError("no cards", where=str(path), hint="Make some with `epoche cards`.")

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Card:
        """Reads the card at an index, from 0.

        Raises:
            CardSetMismatchError: the file was changed after it was opened.
        """
        if self._get_file_state() != self._state:
            raise CardSetMismatchError(
                "the card file was changed during the run",
                where=str(self.path),
                hint="The answers written so far are kept. Run the new cards with another --out.",
            )
        return self._read_card(index)

    def find_item(self, card_id: str) -> int | None:
        """Returns the index of the card with this id, or None."""
        return self._index.find_item(card_id)

    def find_lines(self, indices: Iterable[int]) -> list[int]:
        """Returns the numbers of the lines of cards, from 1, given their indices in rising order.

        The file is read once.
        """
        lines, line = [], 1
        with self.path.open("rb") as handle:
            for index in indices:
                line += handle.read(self._offsets[index] - handle.tell()).count(b"\n")
                lines.append(line)
        return lines

    def close(self) -> None:
        """Closes the file."""
        self._handle.close()

    def _iter_indexed_cards(self) -> Iterator[Card]:
        """Yields every card once, after adding it to the index."""
        cards = iter_records(self.path, "card", card_from_json)
        for card, offset in zip(cards, _iter_line_offsets(self.path), strict=True):
            self._offsets.append(offset)
            if self._index.add_id(card.id) is not None:
                raise DuplicateIdError(
                    f"card id {card.id!r} occurs twice",
                    where=str(self.path),
                    hint="Ids must be unique; make the cards again or rename one of the two.",
                )
            yield card

    def _read_card(self, index: int) -> Card:
        self._handle.seek(self._offsets[index])
        return card_from_json(msgspec.json.decode(self._handle.readline()))

    def _get_file_state(self) -> tuple[int, int]:
        """Returns size and modification time, which change if the file is written to."""
        status = os.fstat(self._handle.fileno())
        return status.st_size, status.st_mtime_ns


def _iter_line_offsets(path: Path) -> Iterator[int]:
    """Yields the offset of each line that is not blank; ``iter_records`` checks the lines."""
    offset = 0
    with path.open("rb") as handle:
        while line := handle.readline(MAX_LINE_BYTES + 1):
            if line.strip():
                yield offset
            offset += len(line)
