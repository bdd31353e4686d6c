"""Cards as questions of a run: which are asked of whom, and whose answer a row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from cards.card import Card
from eval.answers import ask, ask_async, is_async
from eval.card_file import CardFile
from eval.registry import AnySystem
from eval.result import PREDS, Result, Usage, result_from_json, result_to_json
from eval.running.places import Places
from eval.running.workers import Answered
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import to_json_bytes

OUTCOME = {pred: code for code, pred in enumerate(PREDS)}
"""Outcome code of a row by its prediction."""

ERROR = OUTCOME["ERROR"]


@dataclass(frozen=True, slots=True)
class CardQuestion:
    """One card for one system, once."""

    place: int
    repeat: int
    waits: bool
    card: Card
    system: AnySystem
    name: str
    card_set: str

    def ask(self) -> Answered:
        """Asks a system that answers at once."""
        return _answered(ask(self.system, self.card, name=self.name, card_set=self.card_set))

    async def ask_async(self) -> Answered:
        """Asks a system that has to be awaited."""
        return _answered(
            await ask_async(self.system, self.card, name=self.name, card_set=self.card_set)
        )


def _answered(result: Result) -> Answered:
    line = to_json_bytes(result_to_json(result)) + b"\n"
    return Answered(OUTCOME[result.pred], line, result.usage)


class CardPlan:
    """Every card of a file × every system × every repeat.

    Args:
        cards: the open card file.
        names: their names when the run started.
        places: where the answers belong.
        seen: is given outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        cards: CardFile,
        names: Sequence[str],
        places: Places,
        *,
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        self.places = places
        self._cards = cards
        self._names = names
        self._columns = {name: column for column, name in enumerate(names)}
        self._seen = seen

    def questions(
        self, systems: Sequence[AnySystem], has: Callable[[int], bool]
    ) -> Iterator[CardQuestion]:
        """What has no row yet, in the order of places; a card is read when it is its turn."""
        waits = [is_async(system) for system in systems]
        for item in self.places.asked:
            missing = [row for row in self.places.of_item(item) if not has(row[0])]
            if not missing:
                continue
            card = self._cards[item]
            for place, repeat, column in missing:
                yield CardQuestion(
                    place=place,
                    repeat=repeat,
                    waits=waits[column],
                    card=card,
                    system=systems[column],
                    name=self._names[column],
                    card_set=self._cards.sha256,
                )

    def read(self, line: bytes, where: str) -> tuple[int, int]:
        """Place and outcome code of a row of this run.

        Raises:
            RecordError: it is no result, or answers none of these questions.
            CardSetMismatchError: it answers more than is asked now.
        """
        hint = "Nothing was changed. Repair the line, name another --out, or use --overwrite."
        try:
            row = result_from_json(msgspec.json.decode(line, type=dict))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a result: {error}", where=where, hint=hint) from error
        item, column = self._cards.find(row.id), self._columns.get(row.system)
        strange = item is None or column is None or row.repeat < 0
        if item is None or column is None or strange or row.cards != self._cards.sha256[:12]:
            raise RecordError(
                f"card {row.id!r}, system {row.system!r} is not of this run",
                where=where,
                hint=hint,
            )
        self._refuse_more(item, row.repeat, where)
        outcome = OUTCOME[row.pred]
        self._seen(outcome, row.usage)
        return self.places.place(item, row.repeat, column), outcome

    def describe(self, place: int) -> str:
        """Which card, by whom, and which time: what a place answers."""
        item, rest = divmod(place, self.places.per_item)
        repeat, column = divmod(rest, self.places.systems)
        again = f", repeat {repeat}," if self.places.repeats > 1 else ""
        return f"card {self._cards[item].id!r} of {self._names[column]}{again}"

    def _refuse_more(self, item: int, repeat: int, where: str) -> None:
        beyond = ""
        if repeat >= self.places.repeats:
            beyond = f"repeat {repeat + 1}, beyond --repeat {self.places.repeats}"
        elif self.places.limit is not None and item >= self.places.limit:
            beyond = f"card {item + 1}, beyond --limit {self.places.limit}"
        elif item not in self.places.asked:
            beyond = f"card {item + 1}, which is not of shard {self.places.shard}"
        if beyond:
            raise CardSetMismatchError(
                f"the results already hold answers to {beyond}",
                where=where,
                hint="Give the flags it was made with, choose another --out, or use --overwrite.",
            )
