"""Language models as judges: several votes a verdict, each shown in another order.

Every named model votes ``repeats`` times on every matter. Where the votes on whether the answer is
right, or on whether anything in it is made up, are evenly split, one more decides; numbers are
medians of all votes. A vote that cannot be had is counted and never scored either way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.judges.drawing import drawn_by
from eval.judges.panel import USUAL_REPEATS, check_panel, open_panel
from eval.model.counting import counted
from eval.skn.judges.prompts import ACCURACY, GROUNDEDNESS, HALLUCINATION, Judging
from eval.skn.judges.record import HallucinationVote, JudgeName, Verdicts
from eval.skn.judges.showing import Shown
from eval.skn.judges.tallying import Ballot, Booth, of_nothing, too_long, verdicts
from eval.skn.judges.voting import tied
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions

MAX_TOKENS = 900
"""Of a verdict: room for a list of claims."""


class ModelJudges:
    """Judges that are models.

    Args:
        clients: the models; each votes ``repeats`` times.
        repeats: votes of each.
        seed: orders what is shown.

    Raises:
        SettingError: there are no models, or the number of repeats makes no sense.
    """

    def __init__(
        self, clients: Sequence[ModelClient], *, repeats: int = USUAL_REPEATS, seed: int = 0
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
        repeats: int = USUAL_REPEATS,
        seed: int = 0,
        temperature: float | None = 0.0,
    ) -> ModelJudges:
        """Opens a client for each model; nothing is sent yet.

        Args:
            options: how models are called; which one is said by ``models``.
            models: ``provider/model`` of each.
            repeats: votes of each.
            seed: orders what is shown, and is the seed of the sampling where a server has one.
            temperature: of the sampling.

        Raises:
            EpocheError: as ``ModelClient.open``.
            SettingError: as the class.
        """
        clients = open_panel(
            options, models, max_tokens=MAX_TOKENS, seed=seed, temperature=temperature
        )
        return cls(clients, repeats=repeats, seed=seed)

    @property
    def planned_votes(self) -> int:
        """Votes on every matter, deciding ones not counted."""
        return len(self._clients) * self._repeats

    def params(self) -> dict[str, object]:
        """Everything that decides verdicts, without secrets."""
        return {
            "by": "models",
            "models": [client.params() for client in self._clients],
            "repeats": self._repeats,
            "planned_votes": self.planned_votes,
            "seed": self._seed,
            "prompts": [kind.prompt.params() for kind in (ACCURACY, HALLUCINATION, GROUNDEDNESS)],
        }

    def observed(self) -> list[dict[str, Any]]:
        """What became of the wishes in ``params``, model by model, when a run ends."""
        return [client.observed() for client in self._clients]

    async def aclose(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            await client.aclose()

    async def judge(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,
    ) -> Verdicts:
        """Judges one answer; see ``Judges``.

        An answer without any text claims nothing and is not correct; no model is asked.
        """
        shown = Shown.of(question, answer, ground_truth, sources)
        kinds: list[Judging[Any]] = [HALLUCINATION, GROUNDEDNESS]
        if ground_truth is not None:
            kinds.insert(0, ACCURACY)
        return await self._judged(shown, kinds, seed_key)

    async def correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        shown = Shown.of(question, answer, ground_truth, "")
        return await self._judged(shown, [ACCURACY], seed_key)

    async def _judged(self, shown: Shown, kinds: Sequence[Judging[Any]], seed_key: str) -> Verdicts:
        planned = self.planned_votes
        if not shown.answer:
            return of_nothing(accuracy=ACCURACY in kinds, planned=planned)
        if shown.excess:
            return too_long(shown.excess, [kind.name for kind in kinds], planned)
        with counted() as log:
            ballots = await self._ballots(shown, kinds, seed_key)
        return verdicts(ballots, planned, log)

    async def _ballots(
        self, shown: Shown, kinds: Sequence[Judging[Any]], seed_key: str
    ) -> dict[JudgeName, list[Ballot]]:
        """All votes of each judge, the deciding one last."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    kind.name: [
                        group.create_task(self._vote(shown, kind, seed_key, vote))
                        for vote in range(self.planned_votes)
                    ]
                    for kind in kinds
                }
        except BaseExceptionGroup as errors:
            # One is as good as another: each concerns every call.
            raise errors.exceptions[0] from None
        ballots = {name: [task.result() for task in asked] for name, asked in tasks.items()}
        for kind in kinds:
            if tied([_yes_or_no(ballot.vote) for ballot in ballots[kind.name]]):
                further = await self._vote(shown, kind, seed_key, self.planned_votes)
                ballots[kind.name].append(further)
        return ballots

    async def _vote(self, shown: Shown, kind: Judging[Any], seed_key: str, vote: int) -> Ballot:
        key = f"{self._seed}|{kind.name}|{seed_key}"
        if vote < self.planned_votes:
            place, sample = divmod(vote, self._repeats)
        else:
            # No model of several is always the one that decides.
            place = drawn_by(f"{key}|decides").randrange(len(self._clients))
            sample = self._repeats
        client = self._clients[place]
        booth = Booth(kind.name, vote, client.model)
        messages = shown.messages(kind.prompt, key, vote)
        try:
            reply = await client.ask(messages, kind.reply, sample=sample)
        except ModelCallError as error:
            return booth.spoilt(error)
        return booth.cast(reply.completion, reply.value, reply.problem, kind.vote)


def _yes_or_no(vote: object) -> bool | None:
    """What a vote says yes or no to; null for one that was lost, and one that is numbers alone."""
    if isinstance(vote, HallucinationVote):
        return vote.detected
    return vote if isinstance(vote, bool) else None
