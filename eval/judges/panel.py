"""The panel of judges: several models that vote several times each.

If the planned votes have no majority, one more vote decides. A vote that fails is lost: it is
reported with its reason and never counts either way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from eval.judges.rng import rng_for
from eval.judges.votes import (
    LostVote,
    VoidVote,
    explain_failed_call,
    explain_void_reply,
    is_undecided,
)
from kg.base.errors import ModelCallError, SettingError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.completion import Completion, Message
    from eval.model.options import ClientOptions

MAX_REPEATS = 25
"""Maximum number of votes per model and item."""
DEFAULT_REPEATS = 2
"""Default number of votes per model and item: the smallest number that can show disagreement."""

T = TypeVar("T")
V = TypeVar("V")


class Ballot(NamedTuple, Generic[V]):
    """One vote; exactly one of the fields is None."""

    vote: V | None
    lost: LostVote | None
    """Why there is no vote."""


@dataclass(frozen=True, kw_only=True)
class VoteRequest(Generic[V]):
    """What a panel is asked to vote on.

    Attributes:
        build_messages: returns the messages for a vote, given its number from 0.
        reply_type: type of a model's reply.
        to_vote: converts a reply to the vote that is recorded.
        to_choice: returns the part of a vote that a majority must share; None for a vote that
            only consists of numbers, whose ties need no deciding vote.
        key: determines which model gives the deciding vote.
    """

    build_messages: Callable[[int], list[Message]]
    reply_type: type[Any]
    to_vote: Callable[[Any], V]
    to_choice: Callable[[V], Hashable | None]
    key: str


class Panel:
    """The models that vote.

    Args:
        clients: clients of the models.
        repeats: votes of each model.

    Raises:
        SettingError: there are no models, or the number of repeats is out of range.
    """

    def __init__(self, clients: Sequence[ModelClient], *, repeats: int = DEFAULT_REPEATS) -> None:
        check_panel(len(clients), repeats)
        self._clients = tuple(clients)
        self._repeats = repeats

    @classmethod
    def open(
        cls,
        options: ClientOptions,
        models: Sequence[str],
        *,
        max_tokens: int,
        repeats: int = DEFAULT_REPEATS,
        seed: int = 0,
        temperature: float | None = 0.0,
    ) -> Panel:
        """Opens a client for each model; nothing is sent yet.

        Args:
            options: the options for calling models; their ``model`` is replaced.
            models: ``provider/model`` of each judge.
            max_tokens: maximum number of tokens of a vote.
            repeats: votes of each model.
            seed: sampling seed, for servers that support one.
            temperature: sampling temperature.

        Raises:
            EpocheError: as ``ModelClient.open``.
            SettingError: there are no models, or the number of repeats is out of range.
        """
        from eval.model.client import ModelClient

        check_panel(len(models), repeats)
        clients = [
            ModelClient.open(
                msgspec.structs.replace(options, model=model),
                temperature=temperature,
                max_tokens=max_tokens,
                seed=seed,
                logprobs=False,
            )
            for model in models
        ]
        return cls(clients, repeats=repeats)

    @property
    def models(self) -> tuple[str, ...]:
        """``provider/model`` of each model."""
        return tuple(client.model for client in self._clients)

    @property
    def planned_votes(self) -> int:
        """Number of votes on each question, without a deciding vote."""
        return len(self._clients) * self._repeats

    def params(self) -> dict[str, Any]:
        """Returns models and numbers of votes, without secrets."""
        return {
            "models": [client.params() for client in self._clients],
            "repeats": self._repeats,
            "planned_votes": self.planned_votes,
        }

    def observed(self) -> list[dict[str, Any]]:
        """Returns, for each model, what the server did with the requested ``params``."""
        return [client.observed() for client in self._clients]

    async def aclose(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            await client.aclose()

    async def collect_ballots(self, request: VoteRequest[V]) -> list[Ballot[V]]:
        """Collects the planned votes and, if they have no majority, a deciding vote.

        Raises:
            ModelAccessError: every call would fail. Any other failure is recorded as a lost vote.
        """
        planned = self.planned_votes
        ballots = await run_together(self._cast_vote(request, number) for number in range(planned))
        votes = (ballot.vote for ballot in ballots)
        choices = [None if vote is None else request.to_choice(vote) for vote in votes]
        if is_undecided(choices, planned):
            ballots.append(await self._cast_vote(request, planned))
        return ballots

    async def _cast_vote(self, request: VoteRequest[V], number: int) -> Ballot[V]:
        """Requests one vote; they are numbered model by model, and a deciding vote is the next."""
        if number < self.planned_votes:
            index, sample = divmod(number, self._repeats)
        else:
            # Choose at random, so that it is not always the same model that decides ties.
            index = rng_for(f"{request.key}|decides").randrange(len(self._clients))
            sample = self._repeats
        client = self._clients[index]
        try:
            reply = await client.ask(
                request.build_messages(number), request.reply_type, sample=sample
            )
        except ModelCallError as error:
            return lose_ballot(number, client.model, explain_failed_call(error))
        return read_ballot(
            number, client.model, reply.completion, reply.value, reply.problem, request.to_vote
        )


def check_panel(models: int, repeats: int) -> None:
    """Checks the size of a panel.

    Raises:
        SettingError: there are no models, or the number of repeats is out of range.
    """
    if not models:
        raise SettingError("no judge is named", where="--judge-model")
    if not 1 <= repeats <= MAX_REPEATS:
        raise SettingError(
            f"a judge can vote 1 to {MAX_REPEATS} times, not {repeats}",
            where="--judge-repeats",
        )


def read_ballot(
    number: int,
    model: str,
    completion: Completion,
    value: object,
    problem: str | None,
    to_vote: Callable[[Any], V],
) -> Ballot[V]:
    """Returns the ballot of a reply.

    Args:
        number: number of the vote.
        model: the model that was asked.
        completion: the reply.
        value: the parsed reply, or None.
        problem: why the reply could not be parsed.
        to_vote: converts the parsed reply to a vote.
    """
    void = explain_void_reply(completion, value, problem)
    return Ballot(to_vote(value), None) if void is None else lose_ballot(number, model, void)


def lose_ballot(number: int, model: str, void: VoidVote) -> Ballot[Any]:
    """Returns the ballot of a vote that gave no verdict."""
    return Ballot(None, LostVote(number, void.kind, void.problem, model))


async def run_together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Awaits coroutines at the same time, and returns their results in order.

    Raises:
        BaseException: the error of the first coroutine that raised one; the others are cancelled.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as errors:
        # Votes only raise errors that affect every call, so one of them is enough.
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
