"""Plans a run over cards: lists the questions to ask, and finds the question of each row.

A result row contains the system's whole reply (``pred``, ``raw``, ``confidence``, ``usage``,
``error``) beside gold, label and metadata of its card. The result file is therefore the journal of
the replies, and each row is computed from card and reply when the reply arrives; see
``eval.harness.file_run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from cards.card import Card
from eval.abstention.answers import ask_system, ask_system_async, is_async
from eval.abstention.card_file import CardFile
from eval.abstention.result import PREDS, Result, result_from_json, result_to_json
from eval.abstention.system import AnySystem
from eval.harness.journals.row_layout import RowLayout
from eval.harness.workers import AnsweredRow
from eval.model.usage import Usage
from kg.base.errors import RecordError
from kg.base.files import to_json_bytes

OUTCOME_CODES = {pred: code for code, pred in enumerate(PREDS)}
"""Outcome code of a row by its prediction."""

ERROR_OUTCOME = OUTCOME_CODES["ERROR"]


@dataclass(frozen=True, slots=True)
class CardQuestion:
    """One card to ask one system, in one repeat.

    Attributes:
        position: position of the row in the results, see ``RowLayout``.
        repeat: number of the repeat, from 0.
        is_async: whether the system's answer must be awaited.
        card: the card.
        system: the system.
        name: the system's name when the run started.
        card_set: hash of the card set.
    """

    position: int
    repeat: int
    is_async: bool
    card: Card
    system: AnySystem
    name: str
    card_set: str

    def ask_sync(self) -> AnsweredRow:
        """Asks a system whose ``answer`` is a plain function."""
        return _build_row(
            ask_system(self.system, self.card, name=self.name, card_set=self.card_set)
        )

    async def ask_async(self) -> AnsweredRow:
        """Asks a system whose ``answer`` is a coroutine function."""
        return _build_row(
            await ask_system_async(self.system, self.card, name=self.name, card_set=self.card_set)
        )


def _build_row(result: Result) -> AnsweredRow:
    line = to_json_bytes(result_to_json(result)) + b"\n"
    return AnsweredRow(OUTCOME_CODES[result.pred], line, result.usage)


class CardPlan:
    """The questions of a run: every card of a file × every repeat × every system.

    Args:
        cards: the open card file.
        names: the systems' names when the run started.
        layout: the positions of the rows.
        systems: the systems in the order of their names; empty if none is asked.
        on_row: called with outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        cards: CardFile,
        names: Sequence[str],
        layout: RowLayout,
        systems: Sequence[AnySystem] = (),
        *,
        on_row: Callable[[int, Usage | None], None],
    ) -> None:
        self.layout = layout
        self._cards = cards
        self._names = names
        self._systems = systems
        self._columns = {name: column for column, name in enumerate(names)}
        self._on_row = on_row

    def iter_questions(self, has_row: Callable[[int], bool]) -> Iterator[CardQuestion]:
        """Yields the questions that have no row yet, by position.

        A card is read from the file only when its question is yielded.

        Args:
            has_row: whether there is a row at a position.
        """
        async_flags = [is_async(system) for system in self._systems]
        for item in self.layout.asked_items:
            missing_rows = [row for row in self.layout.iter_item_rows(item) if not has_row(row[0])]
            if not missing_rows:
                continue
            card = self._cards[item]
            for position, repeat, column in missing_rows:
                yield CardQuestion(
                    position=position,
                    repeat=repeat,
                    is_async=async_flags[column],
                    card=card,
                    system=self._systems[column],
                    name=self._names[column],
                    card_set=self._cards.sha256,
                )

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Parses a row of this run and returns its position and outcome code.

        Raises:
            RecordError: the line is not a result, or its card or system is not in this run.
            CardSetMismatchError: the row's card or repeat is excluded by ``--limit``, ``--repeat``
                or the shard.
        """
        hint = "Nothing was changed. Repair the line, choose another --out, or use --overwrite."
        try:
            row = result_from_json(msgspec.json.decode(line, type=dict))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a result: {error}", where=where, hint=hint) from error
        item, column = self._cards.find_item(row.id), self._columns.get(row.system)
        is_same_set = row.cards == self._cards.sha256[:12]
        if item is None or column is None or row.repeat < 0 or not is_same_set:
            raise RecordError(
                f"card {row.id!r}, system {row.system!r} does not belong to this run",
                where=where,
                hint=hint,
            )
        self.layout.require_asked(item, row.repeat, noun="card", where=where)
        outcome = OUTCOME_CODES[row.pred]
        self._on_row(outcome, row.usage)
        return self.layout.position_of(item, row.repeat, column), outcome

    def describe_position(self, position: int) -> str:
        """Returns card, system and repeat of a position, in words."""
        item, repeat, column = self.layout.split_position(position)
        repeat_text = f", repeat {repeat}," if self.layout.repeats > 1 else ""
        return f"card {self._cards[item].id!r} of {self._names[column]}{repeat_text}"
