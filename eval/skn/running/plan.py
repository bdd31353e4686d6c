"""Which rows a run has, in which order they are asked, and whose row a line is."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eval.result import Usage
from eval.running.places import Places
from eval.running.workers import Answered
from eval.skn.running.row import OUTCOMES, SknRow
from eval.skn.running.samples import Sample
from kg.base.errors import CardSetMismatchError, RecordError
from kg.base.files import to_json_bytes

UNJUDGED = len(OUTCOMES)
"""Outcome code of a row whose judge could not be called: whatever it says, it is worth asking
again."""

ERROR = OUTCOMES.index("ERROR")


def outcome_code(row: SknRow) -> int:
    """The code a journal keeps for a row."""
    return UNJUDGED if row.judging_failed else OUTCOMES.index(row.outcome)


def counts_of(outcomes: bytearray) -> dict[str, int]:
    """Rows by outcome, those apart whose judge could not be called."""
    counts: dict[str, int] = {name: outcomes.count(code) for code, name in enumerate(OUTCOMES)}
    return {**counts, "unjudged": outcomes.count(UNJUDGED)}


@dataclass(frozen=True, slots=True)
class SknQuestion:
    """One sample for one pipeline, once."""

    place: int
    repeat: int
    work: Callable[[], Coroutine[Any, Any, Answered]]
    waits: bool = True

    def ask(self) -> Answered:
        """Never called: every stage may wait."""
        raise RuntimeError("it waits")

    async def ask_async(self) -> Answered:
        """Asks it."""
        return await self.work()


def shuffled(places: Iterable[int], seed: int) -> list[int]:
    """Places in the order they are asked, the same for every session of a run.

    So no pipeline is always asked first, while the server is cold, or last.
    """
    order = sorted(places)
    random.Random(f"skn/{seed}").shuffle(order)  # noqa: S311 - an order, no secret
    return order


Asking = Callable[[Sample, str, int], Coroutine[Any, Any, SknRow]]
"""Takes a sample through a pipeline, for the n-th time."""


class SknPlan:
    """Every sample × every repeat × every pipeline.

    Args:
        samples: all of the file.
        pipelines: by name.
        places: where the rows belong.
        seen: is given outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        pipelines: Sequence[str],
        places: Places,
        *,
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        self.places = places
        self._samples = samples
        self._pipelines = pipelines
        self._numbers = {sample.id: number for number, sample in enumerate(samples)}
        self._columns = {name: column for column, name in enumerate(pipelines)}
        self._seen = seen
        self._decode = msgspec.json.Decoder(SknRow).decode

    @property
    def asked(self) -> list[int]:
        """All places that are asked, in the order of the finished file."""
        return [place for item in self.places.asked for place, _, _ in self.places.of_item(item)]

    def question(self, place: int, asking: Asking) -> SknQuestion:
        """What is asked for a place."""
        sample, pipeline, repeat = self.at(place)
        return SknQuestion(place, repeat, self._work(asking, sample, pipeline, repeat))

    def at(self, place: int) -> tuple[Sample, str, int]:
        """What a place answers: sample, pipeline and repeat."""
        item, rest = divmod(place, self.places.per_item)
        repeat, column = divmod(rest, self.places.systems)
        return self._samples[item], self._pipelines[column], repeat

    @staticmethod
    def _work(
        asking: Asking, sample: Sample, pipeline: str, repeat: int
    ) -> Callable[[], Coroutine[Any, Any, Answered]]:
        async def work() -> Answered:
            row = await asking(sample, pipeline, repeat)
            return Answered(outcome_code(row), to_json_bytes(row) + b"\n", row.spent)

        return work

    def read(self, line: bytes, where: str) -> tuple[int, int]:
        """Place and outcome code of a row of this run.

        Raises:
            RecordError: it is no row, or answers none of these questions.
            CardSetMismatchError: it answers more than is asked now.
        """
        hint = "Nothing was changed. Repair the line, name another --out, or use --overwrite."
        try:
            row = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a row: {error}", where=where, hint=hint) from error
        item, column = self._numbers.get(row.id), self._columns.get(row.pipeline)
        if item is None or column is None or row.repeat < 0:
            raise RecordError(
                f"sample {row.id!r}, pipeline {row.pipeline!r} is not of this run",
                where=where,
                hint=hint,
            )
        self._refuse_more(item, row.repeat, where)
        outcome = outcome_code(row)
        self._seen(outcome, row.spent)
        return self.places.place(item, row.repeat, column), outcome

    def describe(self, place: int) -> str:
        """Which sample, by which pipeline, and which time: what a place answers."""
        sample, pipeline, repeat = self.at(place)
        again = f", repeat {repeat}," if self.places.repeats > 1 else ""
        return f"sample {sample.id!r} of {pipeline}{again}"

    def _refuse_more(self, item: int, repeat: int, where: str) -> None:
        beyond = ""
        if repeat >= self.places.repeats:
            beyond = f"repeat {repeat + 1}, beyond --repeat {self.places.repeats}"
        elif item not in self.places.asked:
            beyond = f"sample {item + 1}, beyond --limit {self.places.limit}"
        if beyond:
            raise CardSetMismatchError(
                f"the rows already hold answers to {beyond}",
                where=where,
                hint="Give the flags it was made with, choose another --out, or use --overwrite.",
            )
