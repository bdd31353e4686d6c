"""Items × repeats × systems: what is asked, in which order, and whose row a line is.

For benchmarks whose rows name their item and their system, each in words of its own. Cards have
``eval.card_plan``, which holds a million of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from eval.result import Usage
from eval.running.places import Places
from eval.running.workers import Answered
from kg.base.errors import CardSetMismatchError, RecordError

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Awaited:
    """A question whose answer may have to be waited for."""

    place: int
    repeat: int
    work: Callable[[], Coroutine[Any, Any, Answered]]
    waits: bool = True

    def ask(self) -> Answered:
        """Never called: it waits."""
        raise RuntimeError("it waits")

    async def ask_async(self) -> Answered:
        """Asks it."""
        return await self.work()


@dataclass(frozen=True, slots=True)
class Immediate:
    """A question that is answered on the spot."""

    place: int
    repeat: int
    work: Callable[[], Answered]
    waits: bool = False

    def ask(self) -> Answered:
        """Asks it."""
        return self.work()

    async def ask_async(self) -> Answered:
        """Asks it."""
        return self.work()


def shuffled(places: Iterable[int], seed: int, what: str) -> list[int]:
    """Places in the order they are asked, the same for every session of a run.

    So no system is always asked first, while the server is cold, or last.

    Args:
        places: in any order.
        seed: of the run.
        what: which benchmark it is; two do not share an order.
    """
    order = sorted(places)
    random.Random(f"{what}/{seed}").shuffle(order)  # noqa: S311 - an order, no secret
    return order


class Told(NamedTuple):
    """What a row says of itself."""

    item: str
    """Id of what it is about."""
    system: str
    repeat: int
    outcome: int
    """Its code, as a journal keeps it."""
    usage: Usage | None


class Grid(Generic[Row]):
    """Every item × every repeat × every system.

    Args:
        items: ids of all items, asked or not.
        systems: names of all systems.
        places: where the rows belong.
        kind: the type of the rows.
        told: reads a row.
        words: what an item and a system are called, for messages.
        seen: is given outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        items: Sequence[str],
        systems: Sequence[str],
        places: Places,
        *,
        kind: type[Row],
        told: Callable[[Row], Told],
        words: tuple[str, str],
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        self.places = places
        self._items = items
        self._systems = systems
        self._item_numbers = {name: number for number, name in enumerate(items)}
        self._system_numbers = {name: number for number, name in enumerate(systems)}
        self._decode = msgspec.json.Decoder(kind).decode
        self._told = told
        self._words = words
        self._seen = seen

    @property
    def asked(self) -> list[int]:
        """All places that are asked, in the order of the finished file."""
        return [place for item in self.places.asked for place, _, _ in self.places.of_item(item)]

    def numbers_at(self, place: int) -> tuple[int, int, int]:
        """What a place answers: numbers of item, repeat and system."""
        item, rest = divmod(place, self.places.per_item)
        return (item, *divmod(rest, self.places.systems))

    def read(self, line: bytes, where: str) -> tuple[int, int]:
        """Place and outcome code of a row of this run.

        Raises:
            RecordError: it is no row, or answers none of these questions.
            CardSetMismatchError: it answers more than is asked now.
        """
        hint = "Nothing was changed. Repair the line, name another --out, or use --overwrite."
        try:
            told = self._told(self._decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a row: {error}", where=where, hint=hint) from error
        item = self._item_numbers.get(told.item)
        system = self._system_numbers.get(told.system)
        if item is None or system is None or told.repeat < 0:
            item_word, system_word = self._words
            raise RecordError(
                f"{item_word} {told.item!r}, {system_word} {told.system!r} is not of this run",
                where=where,
                hint=hint,
            )
        self._refuse_more(item, told.repeat, where)
        self._seen(told.outcome, told.usage)
        return self.places.place(item, told.repeat, system), told.outcome

    def describe(self, place: int) -> str:
        """Which item, by which system, and which time: what a place answers."""
        item, repeat, system = self.numbers_at(place)
        again = f", repeat {repeat}," if self.places.repeats > 1 else ""
        return f"{self._words[0]} {self._items[item]!r} of {self._systems[system]}{again}"

    def _refuse_more(self, item: int, repeat: int, where: str) -> None:
        beyond = ""
        if repeat >= self.places.repeats:
            beyond = f"repeat {repeat + 1}, beyond --repeat {self.places.repeats}"
        elif item not in self.places.asked:
            beyond = f"{self._words[0]} {item + 1}, beyond --limit {self.places.limit}"
        if beyond:
            raise CardSetMismatchError(
                f"the rows already hold answers to {beyond}",
                where=where,
                hint="Give the flags it was made with, choose another --out, or use --overwrite.",
            )
