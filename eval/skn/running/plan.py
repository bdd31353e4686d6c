"""Which rows a run has, in which order they are asked, and whose row a line is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from eval.harness.grid import AsyncQuestion, Grid, RowKey
from eval.harness.row_layout import RowLayout
from eval.harness.workers import AnsweredRow
from eval.result import Usage
from eval.skn.running.row import OUTCOMES, SknRow
from eval.skn.running.samples import Sample
from kg.base.files import to_json_bytes

COUNTED = (*OUTCOMES, "unjudged")
"""What rows are counted by; a code is a place here."""

UNJUDGED = COUNTED.index("unjudged")
"""Outcome code of a row whose judge could not be called: whatever it says, it is worth asking
again."""

ERROR = OUTCOMES.index("ERROR")


def outcome_code(row: SknRow) -> int:
    """The code a journal keeps for a row."""
    return UNJUDGED if row.judging_failed else OUTCOMES.index(row.outcome)


Asking = Callable[[Sample, str, int], Coroutine[Any, Any, SknRow]]
"""Takes a sample through a pipeline, for the n-th time."""


class SknPlan(Grid[SknRow]):
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
        layout: RowLayout,
        *,
        on_row: Callable[[int, Usage | None], None],
    ) -> None:
        super().__init__(
            [sample.id for sample in samples],
            pipelines,
            layout,
            row_type=SknRow,
            row_key=_told,
            nouns=("sample", "pipeline"),
            on_row=on_row,
        )
        self._samples = samples
        self._pipelines = pipelines

    def question(self, place: int, asking: Asking) -> AsyncQuestion:
        """What is asked for a place; every stage may wait."""
        sample, pipeline, repeat = self.at(place)
        return AsyncQuestion(place, repeat, self._work(asking, sample, pipeline, repeat))

    def at(self, place: int) -> tuple[Sample, str, int]:
        """What a place answers: sample, pipeline and repeat."""
        item, repeat, column = self.layout.split_position(place)
        return self._samples[item], self._pipelines[column], repeat

    @staticmethod
    def _work(
        asking: Asking, sample: Sample, pipeline: str, repeat: int
    ) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def work() -> AnsweredRow:
            row = await asking(sample, pipeline, repeat)
            return AnsweredRow(outcome_code(row), to_json_bytes(row) + b"\n", row.spent)

        return work


def _told(row: SknRow) -> RowKey:
    return RowKey(row.id, row.pipeline, row.repeat, outcome_code(row), row.spent)
