"""Plans the tasks of a run's judges: one for each reply to be judged, and one for each anchor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from eval.harness.benchmark import HasId
from eval.harness.grid import AsyncQuestion, Grid
from eval.harness.journals.journal import Journal
from eval.harness.reply import Reply, Vote
from eval.harness.workers import AnsweredRow
from eval.model.usage import Usage
from kg.base.errors import RecordError
from kg.base.files import to_json_bytes

VOTED, VOTE_FAILED = 100, 101
"""Outcome codes of votes; they differ from the codes of replies."""

JudgedItem = TypeVar("JudgedItem", bound=HasId, contravariant=True)


class Judge(Protocol[JudgedItem]):
    """Judges replies; it is never told which system gave a reply."""

    name: str

    def needs_vote(self, item: JudgedItem, reply: Reply) -> bool:
        """Returns whether a reply is to be judged."""
        ...

    def has_anchor(self, item: JudgedItem) -> bool:
        """Returns whether an item has an anchor."""
        ...

    async def judge_reply(self, item: JudgedItem, reply: Reply) -> Vote:
        """Judges a reply.

        Raises:
            ModelAccessError: the judge cannot be used. All other failures are in the vote.
        """
        ...

    async def judge_anchor(self, item: JudgedItem) -> Vote:
        """Judges the anchor of an item; raises the same as ``judge_reply``."""
        ...

    async def aclose(self) -> None:
        """Closes the connections to models; may be called twice."""
        ...


class VotePlan:
    """The tasks of the judges of one run.

    The position of a vote on a reply is that of the reply; anchors follow, by item.

    Args:
        items: all items of the run.
        grid: the replies of the run.
        replies: the journal of the replies.
        judge: the judge.
        on_row: called with outcome code and usage of every vote that is read.
    """

    def __init__(
        self,
        items: Sequence[Any],
        grid: Grid[Reply],
        replies: Journal,
        judge: Judge[Any],
        *,
        on_row: Callable[[int, Usage | None], None],
    ) -> None:
        self._items = items
        self._grid = grid
        self._replies = replies
        self._judge = judge
        self._on_row = on_row
        self._decode_vote = msgspec.json.Decoder(Vote).decode
        self._decode_reply = msgspec.json.Decoder(Reply).decode

    def list_positions(self) -> list[int]:
        """Returns the positions of all tasks, given the replies so far."""
        layout = self._grid.layout
        anchors = [
            layout.size + number
            for number in layout.asked_items
            if self._judge.has_anchor(self._items[number])
        ]
        return [*self._iter_reply_positions(), *anchors]

    def _iter_reply_positions(self) -> Iterator[int]:
        asked = self._replies.iter_positions()
        for position, line in zip(asked, self._replies.iter_lines(), strict=True):
            item = self._items[self._grid.layout.item_at(position)]
            if self._judge.needs_vote(item, self._decode_reply(line)):
                yield position

    def build_question(
        self, position: int, before: Callable[[], Coroutine[Any, Any, None]]
    ) -> AsyncQuestion:
        """Builds the question for a task; ``before`` is awaited first."""
        size = self._grid.layout.size

        async def ask() -> AnsweredRow:
            await before()
            if position >= size:
                item = self._items[position - size]
                vote = await self._judge.judge_anchor(item)
                vote = msgspec.structs.replace(vote, id=item.id, anchor=True)
            else:
                number, repeat, _ = self._grid.layout.split_position(position)
                item = self._items[number]
                reply = self._decode_reply(self._replies.read_line(position))
                vote = await self._judge.judge_reply(item, reply)
                vote = msgspec.structs.replace(vote, id=item.id, system=reply.system, repeat=repeat)
            return AnsweredRow(_get_outcome(vote), to_json_bytes(vote) + b"\n", vote.usage)

        repeat = 0 if position >= size else self._grid.layout.split_position(position)[1]
        return AsyncQuestion(position, repeat, ask)

    def parse_row(self, line: bytes, where: str) -> tuple[int, int]:
        """Returns position and outcome code of a vote of this run.

        Raises:
            RecordError: the line is not a vote, or not on a reply or item of this run.
        """
        hint = "Nothing was changed. Repair the line, choose another --out, or use --overwrite."
        try:
            vote = self._decode_vote(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"not a vote: {error}", where=where, hint=hint) from error
        position = self._grid.find_position(
            vote.id, None if vote.anchor else vote.system, vote.repeat
        )
        if position is None or not (vote.anchor or self._replies.has_row(position)):
            raise RecordError(
                f"the vote on {vote.id!r} of {vote.system!r} has no reply in this run",
                where=where,
                hint=hint,
            )
        outcome = _get_outcome(vote)
        self._on_row(outcome, vote.usage)
        return position, outcome

    def describe_position(self, position: int) -> str:
        """Returns the task at a position, in words."""
        size = self._grid.layout.size
        if position >= size:
            return f"the anchor of {self._items[position - size].id!r}"
        return self._grid.describe_position(position)


def _get_outcome(vote: Vote) -> int:
    return VOTE_FAILED if vote.failed else VOTED
