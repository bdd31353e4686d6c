"""Compares rows with the cards that they are about, and cards with themselves and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from cards.card_blocks import CardBlock, CheckedCard
from cards.consistency import find_card_problems
from eval.harness.verification.changed_files import ACCEPT_HINT
from kg.base.errors import ChangedRunError
from kg.base.files import iter_decoded_lines
from kg.base.packed_strings import StringNumbers

COPIED_FIELDS: Final = (
    *("label", "gold", "kind", "difficulty", "full_label", "mined_rules", "triplet", "cluster"),
)
"""The fields of cards that rows copy and metrics read."""


@dataclass(frozen=True)
class ReadCards:
    """The cards that rows are about.

    Attributes:
        index: card id → its number.
        get_fields: returns the ``COPIED_FIELDS`` of the card with a number.
    """

    index: StringNumbers
    get_fields: Callable[[int], tuple[object, ...]]


class RowComparison:
    """Compares the cards in rows with those in card files, which are checked, too.

    Args:
        rows: the cards in the rows; None to leave the rows out.

    Attributes:
        n_cards: number of cards in the card files that were compared.
    """

    def __init__(self, rows: ReadCards | None) -> None:
        self.n_cards = 0
        self._rows = rows
        self._is_found = np.zeros(len(rows.index) if rows is not None else 0, dtype=np.bool_)

    def find_problems(self, card_file: Path) -> Iterator[ChangedRunError]:
        """Yields what is wrong with the cards, and fields in rows that are not those of cards."""
        different: list[ChangedRunError] = []
        yield from list_card_problems(
            [card_file], lambda block: different.extend(self.compare([block]))
        )
        yield from different

    def compare(self, blocks: Iterable[CardBlock]) -> Iterator[ChangedRunError]:
        """Yields the cards of which the rows have another field."""
        for block in blocks:
            self.n_cards += len(block.cards)
            if self._rows is not None:
                yield from self._compare_block(block, self._rows)

    def _compare_block(self, block: CardBlock, rows: ReadCards) -> Iterator[ChangedRunError]:
        numbers = rows.index.find_all([card.id for card in block.cards])
        self._is_found[numbers[numbers >= 0]] = True
        for line, card, number in zip(block.lines, block.cards, numbers.tolist(), strict=True):
            if number < 0:
                continue
            fields = _list_card_fields(card), rows.get_fields(number)
            if fields[0] == fields[1]:
                continue
            name, expected, found = next(
                one for one in zip(COPIED_FIELDS, *fields, strict=True) if one[1] != one[2]
            )
            yield ChangedRunError(
                f"card {card.id!r} has {name} {expected!r}, and {found!r} in the rows",
                where=f"{block.path}:{line}",
                hint=ACCEPT_HINT,
            )

    def find_foreign_cards(self, files: Sequence[Path]) -> Iterator[ChangedRunError]:
        """Yields the first row of a card that is in none of the card files."""
        if self._rows is None or self._is_found.all():
            return
        number = int(np.argmin(self._is_found))
        foreign = self._rows.index.strings[number]
        decode = msgspec.json.Decoder(_RowId).decode
        lines = (
            f"{path}:{line}"
            for path in files
            for line, row in iter_decoded_lines(path, "result", decode)
            if row.id == foreign
        )
        yield ChangedRunError(
            f"a row of card {foreign!r}, which is not in the card file of the run",
            where=next(lines, ", ".join(map(str, files))),
            hint=ACCEPT_HINT,
        )


def list_card_problems(
    paths: Sequence[Path], on_block: Callable[[CardBlock], object]
) -> Iterator[ChangedRunError]:
    """Yields cards that are copies of others, or have a label that their proof contradicts."""
    for problem in find_card_problems(paths, on_block):
        yield ChangedRunError(
            f"card {problem.id!r}: {problem.field} is {problem.found}, should be "
            f"{problem.expected}",
            where=f"{problem.path}:{problem.line}",
            hint="Make the cards again, and run again (`epoche verify` lists all such cards); "
            "--allow-changed accepts them, and every signature then says so.",
        )


def _list_card_fields(card: CheckedCard) -> tuple[object, ...]:
    return (
        *(card.label, card.gold, card.kind, card.difficulty or "", card.full_label),
        *(card.rests_on_mined_rules, card.triplet, card.cluster),
    )


class _RowId(msgspec.Struct):
    id: str
