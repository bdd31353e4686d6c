"""Language models as judges: several votes per verdict, each with the material in another order.

Every model votes ``repeats`` times on every criterion. If the votes on whether the answer is
right, or on whether anything in it is made up, are tied, one more vote decides; numbers are
medians of all votes. A failed vote is counted as such and never scored either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.judges.panel import DEFAULT_REPEATS, Panel, VoteRequest, run_together
from eval.model.call_counter import count_calls
from eval.skn.judges.judge_view import JudgeView
from eval.skn.judges.prompts import ACCURACY, GROUNDEDNESS, HALLUCINATION, Criterion
from eval.skn.judges.record import HallucinationVote, Verdicts
from eval.skn.judges.tally import (
    build_empty_verdicts,
    build_too_long_verdicts,
    combine_ballots,
)

if TYPE_CHECKING:
    from eval.model.options import ClientOptions

MAX_REPLY_TOKENS = 900
"""Maximum length of a vote, which may contain a list of claims."""


class ModelJudges:
    """Judges that are models.

    Args:
        panel: the models.
        seed: seed of the order in which the material is shown.
    """

    def __init__(self, panel: Panel, *, seed: int = 0) -> None:
        self._panel = panel
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
        panel = Panel.open(
            options,
            models,
            max_tokens=MAX_REPLY_TOKENS,
            repeats=repeats,
            seed=seed,
            temperature=temperature,
        )
        return cls(panel, seed=seed)

    def params(self) -> dict[str, object]:
        """Returns everything that determines verdicts, without secrets."""
        return {
            "by": "models",
            **self._panel.params(),
            "seed": self._seed,
            "prompts": [
                criterion.prompt.params() for criterion in (ACCURACY, HALLUCINATION, GROUNDEDNESS)
            ],
        }

    def observed(self) -> list[dict[str, Any]]:
        """Returns, for each model, what the server did with the requested ``params``."""
        return self._panel.observed()

    async def aclose(self) -> None:
        """Closes the clients."""
        await self._panel.aclose()

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
        planned = self._panel.planned_votes
        if not view.answer:
            return build_empty_verdicts(accuracy=ACCURACY in criteria, planned=planned)
        if view.excess_length:
            return build_too_long_verdicts(
                view.excess_length, [criterion.name for criterion in criteria], planned
            )
        with count_calls() as log:
            results = await run_together(
                self._panel.collect_ballots(self._make_request(view, criterion, seed_key))
                for criterion in criteria
            )
        names = [criterion.name for criterion in criteria]
        return combine_ballots(dict(zip(names, results, strict=True)), planned, log)

    def _make_request(
        self, view: JudgeView, criterion: Criterion[Any], seed_key: str
    ) -> VoteRequest[Any]:
        key = f"{self._seed}|{criterion.name}|{seed_key}"
        return VoteRequest(
            build_messages=lambda number: view.build_messages(criterion.prompt, key, number),
            reply_type=criterion.reply_type,
            to_vote=criterion.to_vote,
            to_choice=_get_yes_or_no,
            key=key,
        )


def _get_yes_or_no(vote: object) -> bool | None:
    """Returns the yes or no of a vote; None if it consists of numbers only."""
    if isinstance(vote, HallucinationVote):
        return vote.detected
    return vote if isinstance(vote, bool) else None
