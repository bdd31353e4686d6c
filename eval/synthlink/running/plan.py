"""Which rows a run has, in which order they are asked, and whose row a line is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from eval.result import Usage
from eval.running.grid import AsyncQuestion, Grid, RowKey
from eval.running.row_layout import RowLayout
from eval.running.workers import AnsweredRow
from eval.synthlink.question import Question
from eval.synthlink.running.row import OUTCOMES, SynthLinkRow
from kg.base.files import to_json_bytes

ERROR = OUTCOMES.index("ERROR")


Asking = Callable[[Question], Coroutine[Any, Any, SynthLinkRow]]
"""Puts a question to the system."""


class RunPlan(Grid[SynthLinkRow]):
    """Every question, once, to one system.

    Args:
        questions: all of the catalogue.
        system: as rows name it.
        places: where the rows belong.
        seen: is given outcome code and usage of every row that is read.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        system: str,
        layout: RowLayout,
        *,
        on_row: Callable[[int, Usage | None], None],
    ) -> None:
        super().__init__(
            [question.id for question in questions],
            [system],
            layout,
            row_type=SynthLinkRow,
            row_key=_told,
            nouns=("question", "system"),
            on_row=on_row,
        )
        self._questions = questions

    def question(self, place: int, asking: Asking) -> AsyncQuestion:
        """What is asked for a place; every round may wait."""
        item, _, _ = self.split_position(place)
        return AsyncQuestion(place, 0, self._work(asking, self._questions[item]))

    @staticmethod
    def _work(asking: Asking, question: Question) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        async def work() -> AnsweredRow:
            row = await asking(question)
            return AnsweredRow(OUTCOMES.index(row.outcome), to_json_bytes(row) + b"\n", row.usage)

        return work


def _told(row: SynthLinkRow) -> RowKey:
    return RowKey(row.id, row.system, 0, OUTCOMES.index(row.outcome), row.usage)
