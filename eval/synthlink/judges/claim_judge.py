"""Asks language models for votes on claims: several votes each, with the data in varying order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.judges.panel import DEFAULT_REPEATS, check_panel, open_panel
from eval.judges.rng import rng_for
from eval.judges.votes import VoidVote, explain_failed_call, explain_void_reply
from eval.synthlink.judges.prompts import CLAIM_PROMPT, MAX_TOKENS, ClaimReply
from eval.synthlink.judges.votes import combine_votes, is_undecided
from eval.synthlink.verdicts.record import Finding, LostVote
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions
    from eval.synthlink.judges.judge_view import JudgeView


class ClaimVotes(NamedTuple):
    """All votes on one claim, and the verdict they give."""

    verdict: Finding | None
    """The verdict of more than half of the votes; None for none."""
    is_split: bool
    """Whether there are enough valid votes, but no verdict has a majority."""
    votes: tuple[Finding | None, ...]
    """The votes in order; None for a lost vote."""
    lost_votes: tuple[LostVote, ...]


class _Ballot(NamedTuple):
    """One vote; exactly one of the fields is None."""

    vote: Finding | None
    lost_vote: LostVote | None
    """Why there is no vote."""


class ClaimJudge:
    """A panel of models that votes on claims.

    Args:
        clients: clients of the models.
        repeats: votes per model on each claim.

    Raises:
        SettingError: there are no models, or the number of repeats is out of range.
    """

    def __init__(self, clients: Sequence[ModelClient], *, repeats: int = DEFAULT_REPEATS) -> None:
        check_panel(len(clients), repeats)
        self._clients = tuple(clients)
        self._repeats = repeats

    @classmethod
    def open(
        cls, options: ClientOptions, models: Sequence[str], *, repeats: int = DEFAULT_REPEATS
    ) -> ClaimJudge:
        """Opens a client for each model, at temperature 0; nothing is sent yet.

        Args:
            options: how models are called; its ``model`` is replaced by each of ``models``.
            models: ``provider/model`` of each judge.
            repeats: votes per model on each claim.

        Raises:
            EpocheError: as ``ModelClient.open``.
            SettingError: there are no models, or the number of repeats is out of range.
        """
        check_panel(len(models), repeats)
        return cls(open_panel(options, models, max_tokens=MAX_TOKENS, seed=0), repeats=repeats)

    @property
    def models(self) -> tuple[str, ...]:
        """``provider/model`` of each model."""
        return tuple(client.model for client in self._clients)

    @property
    def planned_votes(self) -> int:
        """Number of votes on every claim, without an additional deciding vote."""
        return len(self._clients) * self._repeats

    def params(self) -> dict[str, Any]:
        """Returns all settings that influence verdicts, without secrets."""
        return {
            "models": [client.params() for client in self._clients],
            "repeats": self._repeats,
            "planned_votes": self.planned_votes,
            "prompt": CLAIM_PROMPT.params(),
        }

    async def aclose(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            await client.aclose()

    async def judge_claim(self, view: JudgeView) -> ClaimVotes:
        """Judges one claim; if the planned votes have no majority, asks for one deciding vote.

        Raises:
            ModelAccessError: every call would fail. Any other failure is recorded as a lost vote.
        """
        ballots = await self._collect_ballots(view)
        if is_undecided([ballot.vote for ballot in ballots], self.planned_votes):
            ballots.append(await self._cast_vote(view, self.planned_votes))
        votes = tuple(ballot.vote for ballot in ballots)
        verdict, is_split = combine_votes(votes, self.planned_votes)
        lost_votes = tuple(ballot.lost_vote for ballot in ballots if ballot.lost_vote is not None)
        return ClaimVotes(verdict, is_split, votes, lost_votes)

    async def _collect_ballots(self, view: JudgeView) -> list[_Ballot]:
        try:
            async with asyncio.TaskGroup() as task_group:
                tasks = [
                    task_group.create_task(self._cast_vote(view, vote_number))
                    for vote_number in range(self.planned_votes)
                ]
        except BaseExceptionGroup as errors:
            # Only errors that affect every call are raised here, so the first one is enough.
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _cast_vote(self, view: JudgeView, vote_number: int) -> _Ballot:
        if vote_number < self.planned_votes:
            client_index, sample = divmod(vote_number, self._repeats)
        else:
            # The model with the deciding vote is chosen per claim, so that no model always decides.
            rng = rng_for(f"synthlink|{view.question}|{view.claim}|decides")
            client_index, sample = rng.randrange(len(self._clients)), self._repeats
        client = self._clients[client_index]
        try:
            reply = await client.ask(view.build_messages(vote_number), ClaimReply, sample=sample)
        except ModelCallError as error:
            return _make_lost_ballot(vote_number, explain_failed_call(error), client.model)
        void_vote = explain_void_reply(reply.completion, reply.value, reply.problem)
        if void_vote is not None or reply.value is None:
            return _make_lost_ballot(
                vote_number, void_vote or VoidVote("unreadable", "no verdict"), client.model
            )
        return _Ballot(reply.value.verdict, None)


def _make_lost_ballot(vote_number: int, void_vote: VoidVote, model: str) -> _Ballot:
    return _Ballot(None, LostVote(vote_number, void_vote.kind, void_vote.problem, model))
