"""Which matters have their line in the journal, and what is asked for the others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from eval.model.calls import current_calls
from eval.result import Usage, rounded
from eval.running.grid import Awaited
from eval.running.workers import Answered
from eval.synthlink.judging.claim_judge import ClaimJudge
from eval.synthlink.judging.matters import Matter
from eval.synthlink.verdicts.record import JUDGED, JudgedLine
from kg.base.errors import RecordError
from kg.base.files import to_json_bytes

HELD, LOST, OTHER = 0, 1, 2
"""Outcome codes: the judge said something; no verdict could be had; of another scoring."""

_HINT: Final = f"Repair the line, or remove {JUDGED}: what it holds is then asked again."


class JudgingPlan:
    """Every matter once; lines of other scorings in the same folder are kept behind them.

    Args:
        matters: what is to be judged.
        judge: by whom.
        seen: is given outcome code and usage of every line of these matters that is read.
    """

    def __init__(
        self,
        matters: Sequence[Matter],
        judge: ClaimJudge,
        *,
        seen: Callable[[int, Usage | None], None],
    ) -> None:
        self._matters = matters
        self._judge = judge
        params = judge.params()
        self._keys = [matter.key(params) for matter in matters]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._seen = seen
        self._others = 0
        self._decode = msgspec.json.Decoder(JudgedLine).decode

    def read(self, line: bytes, where: str) -> tuple[int, int]:
        """Place and outcome code of a line.

        Raises:
            RecordError: it is none.
        """
        try:
            held = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a judged claim: {error}", where=where, hint=_HINT) from error
        place = self._places.get(held.key)
        if place is None:
            self._others += 1
            return len(self._matters) + self._others - 1, OTHER
        code = code_of(held)
        self._seen(code, held.usage)
        return place, code

    def describe(self, place: int) -> str:
        """Which claim stands at a place, for messages."""
        if place >= len(self._matters):
            return "a claim"
        matter = self._matters[place]
        return f"a {matter.kind} of question {matter.question_id!r}"

    def question(self, place: int) -> Awaited:
        """What is asked for a place."""
        return Awaited(place, 0, self._work(place))

    def _work(self, place: int) -> Callable[[], Coroutine[Any, Any, Answered]]:
        matter = self._matters[place]

        async def work() -> Answered:
            said = await self._judge.judge(matter.shown)
            log = current_calls()
            line = JudgedLine(
                key=self._keys[place],
                kind=matter.kind,
                question_id=matter.question_id,
                claim=matter.shown.claim,
                verdict=said.verdict,
                split=said.split,
                planned=self._judge.planned,
                votes=said.votes,
                lost=said.lost,
                latency_s=round(log.latency_s, 4) if log.calls else None,
                usage=rounded(log.usage()),
            )
            return Answered(code_of(line), to_json_bytes(line) + b"\n", line.usage)

        return work


def code_of(line: JudgedLine) -> int:
    """Outcome code of a line."""
    return HELD if line.came_about else LOST
