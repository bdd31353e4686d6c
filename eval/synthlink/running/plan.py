"""Which rows a run has, in which order they are asked, and whose row a line is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from eval.result import Usage
from eval.running.grid import Awaited, Grid, Told
from eval.running.places import Places
from eval.running.workers import Answered
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
        places: Places,
        *,
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        super().__init__(
            [question.id for question in questions],
            [system],
            places,
            kind=SynthLinkRow,
            told=_told,
            words=("question", "system"),
            seen=seen,
        )
        self._questions = questions

    def question(self, place: int, asking: Asking) -> Awaited:
        """What is asked for a place; every round may wait."""
        item, _, _ = self.numbers_at(place)
        return Awaited(place, 0, self._work(asking, self._questions[item]))

    @staticmethod
    def _work(asking: Asking, question: Question) -> Callable[[], Coroutine[Any, Any, Answered]]:
        async def work() -> Answered:
            row = await asking(question)
            return Answered(OUTCOMES.index(row.outcome), to_json_bytes(row) + b"\n", row.usage)

        return work


def _told(row: SynthLinkRow) -> Told:
    return Told(row.id, row.system, 0, OUTCOMES.index(row.outcome), row.usage)
