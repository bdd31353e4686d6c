"""Language models as judges: several votes per verdict, each with the material in another order.

Every model votes ``repeats`` times on every criterion. If the votes on whether the answer is
right, or on whether anything in it is made up, are tied, one more vote decides; numbers are
medians of all votes. A failed vote is counted as such and never scored either way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.judges.panel import DEFAULT_REPEATS, check_panel, open_panel
from eval.judges.rng import rng_for
from eval.model.call_counter import count_calls
from eval.skn.judges.judge_view import JudgeView
from eval.skn.judges.prompts import ACCURACY, GROUNDEDNESS, HALLUCINATION, Criterion
from eval.skn.judges.record import HallucinationVote, JudgeName, Verdicts
from eval.skn.judges.tally import (
    Ballot,
    BallotBuilder,
    build_empty_verdicts,
    build_too_long_verdicts,
    combine_ballots,
)
from eval.skn.judges.votes import is_tied
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions

MAX_REPLY_TOKENS = 900
"""Maximum length of a vote, which may contain a list of claims."""


class ModelJudges:
    """Judges that are models.

    Args:
        clients: the models; each votes ``repeats`` times.
        repeats: votes of each model.
        seed: seed of the order in which the material is shown.

    Raises:
        SettingError: there are no models, or the number of repeats is invalid.
    """

    def __init__(
        self, clients: Sequence[ModelClient], *, repeats: int = DEFAULT_REPEATS, seed: int = 0
    ) -> None:
        check_panel(len(clients), repeats)
        self._clients = tuple(clients)
        self._repeats = repeats
        self._seed = seed

    @classmethod
    def open(
        cls,
        options: ClientOptions,
        models: Sequence[str],
        *,
        repeats: int = DEFAULT_REPEATS,
        seed: int = 0,
        temperature: float | None = 0.0,
    ) -> ModelJudges:
        """Opens a client for each model; nothing is sent yet.

        Args:
            options: options for calling models; their ``model`` is replaced by each of ``models``.
            models: ``provider/model`` of each.
            repeats: votes of each model.
            seed: seed of the order of the material, and of the sampling, for servers
                that support one.
            temperature: sampling temperature.

        Raises:
            EpocheError: see ``ModelClient.open``.
            SettingError: there are no models, or the number of repeats is invalid.
        """
        clients = open_panel(
            options, models, max_tokens=MAX_REPLY_TOKENS, seed=seed, temperature=temperature
        )
        return cls(clients, repeats=repeats, seed=seed)

    @property
    def planned_votes(self) -> int:
        """Votes on each criterion, without deciding votes."""
        return len(self._clients) * self._repeats

    def params(self) -> dict[str, object]:
        """Returns everything that determines verdicts, without secrets."""
        return {
            "by": "models",
            "models": [client.params() for client in self._clients],
            "repeats": self._repeats,
            "planned_votes": self.planned_votes,
            "seed": self._seed,
            "prompts": [
                criterion.prompt.params() for criterion in (ACCURACY, HALLUCINATION, GROUNDEDNESS)
            ],
        }

    def observed(self) -> list[dict[str, Any]]:
        """Returns, for each model, what the server did with the requested ``params``."""
        return [client.observed() for client in self._clients]

    async def aclose(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            await client.aclose()

    async def judge_answer(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,
    ) -> Verdicts:
        """Judges one answer; see ``Judges``.

        An answer without text makes no claims and is not correct; no model is called for it.
        """
        view = JudgeView.from_answer(question, answer, ground_truth, sources)
        criteria: list[Criterion[Any]] = [HALLUCINATION, GROUNDEDNESS]
        if ground_truth is not None:
            criteria.insert(0, ACCURACY)
        return await self._judge_criteria(view, criteria, seed_key)

    async def judge_correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        view = JudgeView.from_answer(question, answer, ground_truth, "")
        return await self._judge_criteria(view, [ACCURACY], seed_key)

    async def _judge_criteria(
        self, view: JudgeView, criteria: Sequence[Criterion[Any]], seed_key: str
    ) -> Verdicts:
        planned = self.planned_votes
        if not view.answer:
            return build_empty_verdicts(accuracy=ACCURACY in criteria, planned=planned)
        if view.excess_length:
            return build_too_long_verdicts(
                view.excess_length, [criterion.name for criterion in criteria], planned
            )
        with count_calls() as log:
            ballots = await self._collect_ballots(view, criteria, seed_key)
        return combine_ballots(ballots, planned, log)

    async def _collect_ballots(
        self, view: JudgeView, criteria: Sequence[Criterion[Any]], seed_key: str
    ) -> dict[JudgeName, list[Ballot]]:
        """Collects all votes on each criterion, with a deciding vote last."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    criterion.name: [
                        group.create_task(self._cast_vote(view, criterion, seed_key, number))
                        for number in range(self.planned_votes)
                    ]
                    for criterion in criteria
                }
        except BaseExceptionGroup as error_group:
            # Such an error (bad key, unknown model) affects every call, so one of them is enough.
            raise error_group.exceptions[0] from None
        ballots = {
            name: [task.result() for task in vote_tasks] for name, vote_tasks in tasks.items()
        }
        for criterion in criteria:
            if is_tied([_get_yes_or_no(ballot.vote) for ballot in ballots[criterion.name]]):
                deciding_ballot = await self._cast_vote(
                    view, criterion, seed_key, self.planned_votes
                )
                ballots[criterion.name].append(deciding_ballot)
        return ballots

    async def _cast_vote(
        self, view: JudgeView, criterion: Criterion[Any], seed_key: str, number: int
    ) -> Ballot:
        """Requests one vote.

        The planned votes are numbered model by model; the next number is the deciding vote.
        """
        key = f"{self._seed}|{criterion.name}|{seed_key}"
        if number < self.planned_votes:
            index, sample = divmod(number, self._repeats)
        else:
            # Choose at random, so that it is not always the same model that decides ties.
            index = rng_for(f"{key}|decides").randrange(len(self._clients))
            sample = self._repeats
        client = self._clients[index]
        builder = BallotBuilder(criterion.name, number, client.model)
        messages = view.build_messages(criterion.prompt, key, number)
        try:
            reply = await client.ask(messages, criterion.reply_type, sample=sample)
        except ModelCallError as error:
            return builder.build_failed_ballot(error)
        return builder.build_ballot(reply.completion, reply.value, reply.problem, criterion.to_vote)


def _get_yes_or_no(vote: object) -> bool | None:
    """Returns the yes or no of a vote; None if the vote failed or consists of numbers only."""
    if isinstance(vote, HallucinationVote):
        return vote.detected
    return vote if isinstance(vote, bool) else None
