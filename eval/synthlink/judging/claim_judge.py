"""Language models as judges of claims: several votes each, shown in other orders."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.judges.drawing import drawn_by
from eval.judges.panel import USUAL_REPEATS, check_panel, open_panel
from eval.judges.votes import Void, void_call, void_reply
from eval.synthlink.judging.prompts import CLAIM, MAX_TOKENS, ClaimReply
from eval.synthlink.judging.voting import outcome, undecided
from eval.synthlink.verdicts.record import Finding, LostVote
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions
    from eval.synthlink.judging.showing import Shown


class Said(NamedTuple):
    """What all votes on one claim came to."""

    verdict: Finding | None
    split: bool
    votes: tuple[Finding | None, ...]
    lost: tuple[LostVote, ...]


class _Ballot(NamedTuple):
    vote: Finding | None
    lost: LostVote | None


class ClaimJudge:
    """A panel of models.

    Args:
        clients: the models; each votes ``repeats`` times.
        repeats: votes of each.

    Raises:
        SettingError: there are no models, or the number of repeats makes no sense.
    """

    def __init__(self, clients: Sequence[ModelClient], *, repeats: int = USUAL_REPEATS) -> None:
        check_panel(len(clients), repeats)
        self._clients = tuple(clients)
        self._repeats = repeats

    @classmethod
    def open(
        cls, options: ClientOptions, models: Sequence[str], *, repeats: int = USUAL_REPEATS
    ) -> ClaimJudge:
        """Opens a client for each model, at temperature 0; nothing is sent yet.

        Args:
            options: how models are called; which one is said by ``models``.
            models: ``provider/model`` of each.
            repeats: votes of each.

        Raises:
            EpocheError: as ``ModelClient.open``.
            SettingError: as the class.
        """
        check_panel(len(models), repeats)
        return cls(open_panel(options, models, max_tokens=MAX_TOKENS, seed=0), repeats=repeats)

    @property
    def models(self) -> tuple[str, ...]:
        """``provider/model`` of each."""
        return tuple(client.model for client in self._clients)

    @property
    def planned(self) -> int:
        """Votes on every claim, a deciding one not counted."""
        return len(self._clients) * self._repeats

    def params(self) -> dict[str, Any]:
        """Everything that decides verdicts, without secrets."""
        return {
            "models": [client.params() for client in self._clients],
            "repeats": self._repeats,
            "planned_votes": self.planned,
            "prompt": CLAIM.params(),
        }

    async def aclose(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            await client.aclose()

    async def judge(self, shown: Shown) -> Said:
        """Judges one claim; where the planned votes have no majority, one more decides.

        Raises:
            ModelAccessError: every call would fail. All other failures are lost votes.
        """
        ballots = await self._planned(shown)
        if undecided([one.vote for one in ballots], self.planned):
            ballots.append(await self._vote(shown, self.planned))
        votes = tuple(one.vote for one in ballots)
        verdict, split = outcome(votes, self.planned)
        lost = tuple(one.lost for one in ballots if one.lost is not None)
        return Said(verdict, split, votes, lost)

    async def _planned(self, shown: Shown) -> list[_Ballot]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._vote(shown, vote)) for vote in range(self.planned)]
        except BaseExceptionGroup as errors:
            # One is as good as another: each concerns every call.
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _vote(self, shown: Shown, vote: int) -> _Ballot:
        if vote < self.planned:
            place, sample = divmod(vote, self._repeats)
        else:
            # No model of several is always the one that decides.
            drawn = drawn_by(f"synthlink|{shown.question}|{shown.claim}|decides")
            place, sample = drawn.randrange(len(self._clients)), self._repeats
        client = self._clients[place]
        try:
            reply = await client.ask(shown.messages(vote), ClaimReply, sample=sample)
        except ModelCallError as error:
            return _spoilt(vote, void_call(error), client.model)
        void = void_reply(reply.completion, reply.value, reply.problem)
        if void is not None or reply.value is None:
            return _spoilt(vote, void or Void("unreadable", "no verdict"), client.model)
        return _Ballot(reply.value.verdict, None)


def _spoilt(vote: int, void: Void, model: str) -> _Ballot:
    return _Ballot(None, LostVote(vote, void.kind, void.problem, model))
