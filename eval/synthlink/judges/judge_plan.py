"""The plan of a judging run: which items have a line in the journal, and how others are judged."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from eval.harness.grid import AsyncQuestion
from eval.harness.workers import AnsweredRow
from eval.model.calls import current_calls
from eval.result import Usage, round_cost
from eval.synthlink.judges.claim_judge import ClaimJudge
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.verdicts.record import JUDGED_FILE, VerdictLine
from kg.base.errors import RecordError
from kg.base.files import to_json_bytes

HAS_VERDICT, NO_VERDICT, OTHER_SCORING = 0, 1, 2
"""Outcome codes of a line. ``HAS_VERDICT``: the votes give a verdict, or are split.
``NO_VERDICT``: too many votes were lost. ``OTHER_SCORING``: the line belongs to another scoring."""

_HINT: Final = f"Repair the line, or delete {JUDGED_FILE}: its claims are then judged again."


class JudgePlan:
    """Assigns a position in the journal to every item.

    Lines of other scorings in the same folder are kept, at positions after those of the items.

    Args:
        items: the items to be judged.
        judge: the judge.
        on_line: called with the outcome code and usage of every line on these items in the journal.
    """

    def __init__(
        self,
        items: Sequence[JudgeItem],
        judge: ClaimJudge,
        *,
        on_line: Callable[[int, Usage | None], None],
    ) -> None:
        self._items = items
        self._judge = judge
        params = judge.params()
        self._keys = [item.compute_key(params) for item in items]
        self._positions = {key: position for position, key in enumerate(self._keys)}
        self._on_line = on_line
        self._n_other_lines = 0
        self._decode = msgspec.json.Decoder(VerdictLine).decode

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Returns position and outcome code of a line.

        Raises:
            RecordError: the line is not a judged claim.
        """
        try:
            verdict_line = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a judged claim: {error}", where=where, hint=_HINT) from error
        position = self._positions.get(verdict_line.key)
        if position is None:
            self._n_other_lines += 1
            return len(self._items) + self._n_other_lines - 1, OTHER_SCORING
        code = get_outcome_code(verdict_line)
        self._on_line(code, verdict_line.usage)
        return position, code

    def describe_position(self, position: int) -> str:
        """Names the item at a position, for messages."""
        if position >= len(self._items):
            return "a claim"
        item = self._items[position]
        return f"a {item.kind} of question {item.question_id!r}"

    def build_question(self, position: int) -> AsyncQuestion:
        """Returns the work that judges the item at a position."""
        return AsyncQuestion(position, 0, self._make_task(position))

    def _make_task(self, position: int) -> Callable[[], Coroutine[Any, Any, AnsweredRow]]:
        item = self._items[position]

        async def judge_item() -> AnsweredRow:
            result = await self._judge.judge_claim(item.view)
            calls = current_calls()
            line = VerdictLine(
                key=self._keys[position],
                kind=item.kind,
                question_id=item.question_id,
                claim=item.view.claim,
                verdict=result.verdict,
                split=result.is_split,
                planned=self._judge.planned_votes,
                votes=result.votes,
                lost=result.lost_votes,
                latency_s=round(calls.latency_s, 4) if calls.calls else None,
                usage=round_cost(calls.sum_usage()),
            )
            return AnsweredRow(get_outcome_code(line), to_json_bytes(line) + b"\n", line.usage)

        return judge_item


def get_outcome_code(line: VerdictLine) -> int:
    """Returns the outcome code of a line of these items."""
    return HAS_VERDICT if line.has_outcome else NO_VERDICT
