"""Asks language models for votes on claims: several votes each, with the data in varying order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.judges.panel import DEFAULT_REPEATS, Panel, VoteRequest
from eval.judges.votes import LostVote, find_majority, is_undecided
from eval.synthlink.judges.prompts import CLAIM_PROMPT, MAX_TOKENS, ClaimReply
from eval.synthlink.verdicts.record import Finding

if TYPE_CHECKING:
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


class ClaimJudge:
    """A panel of models that votes on claims.

    Args:
        panel: the models.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

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
            EpocheError: as ``Panel.open``.
        """
        return cls(Panel.open(options, models, max_tokens=MAX_TOKENS, repeats=repeats))

    @property
    def models(self) -> tuple[str, ...]:
        """``provider/model`` of each model."""
        return self._panel.models

    @property
    def planned_votes(self) -> int:
        """Number of votes on every claim, without an additional deciding vote."""
        return self._panel.planned_votes

    def params(self) -> dict[str, Any]:
        """Returns all settings that influence verdicts, without secrets."""
        return {**self._panel.params(), "prompt": CLAIM_PROMPT.params()}

    async def aclose(self) -> None:
        """Closes the clients."""
        await self._panel.aclose()

    async def judge_claim(self, view: JudgeView) -> ClaimVotes:
        """Judges one claim.

        Raises:
            ModelAccessError: every call would fail. Any other failure is recorded as a lost vote.
        """
        ballots = await self._panel.collect_ballots(
            VoteRequest(
                build_messages=view.build_messages,
                reply_type=ClaimReply,
                to_vote=_get_verdict,
                to_choice=_get_choice,
                key=view.key,
            )
        )
        votes = tuple(ballot.vote for ballot in ballots)
        return ClaimVotes(
            verdict=find_majority(votes, self.planned_votes),
            is_split=is_split(votes, self.planned_votes),
            votes=votes,
            lost_votes=tuple(ballot.lost for ballot in ballots if ballot.lost is not None),
        )


def is_split(votes: Sequence[Finding | None], planned: int) -> bool:
    """Returns whether the votes on a claim, the deciding one included, have no majority.

    If the deciding vote was lost, the votes are not split: that vote can still be obtained by
    running again.

    Args:
        votes: the planned votes, then the deciding one if it was needed; None for a lost vote.
        planned: number of planned votes.
    """
    return is_undecided(votes, planned) and None not in votes[planned:]


def _get_verdict(reply: ClaimReply) -> Finding:
    return reply.verdict


def _get_choice(vote: Finding) -> Finding:
    return vote
