"""From ballots to verdicts: what all judges that are models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from eval.judges.votes import Void, void_call, void_reply
from eval.model.calls import CallLog
from eval.model.completion import Completion
from eval.skn.judges.record import (
    JUDGES,
    Failure,
    Hallucination,
    JudgeName,
    Verdicts,
)
from eval.skn.judges.voting import groundedness_of, hallucination_of, majority
from kg.base.errors import ModelCallError


class Ballot(NamedTuple):
    """One vote: a bool, a ``HallucinationVote`` or a ``GroundednessVote``; or why there is none."""

    vote: Any
    failure: Failure | None


class Booth(NamedTuple):
    """Who casts which vote; makes its ballot, whatever came of it."""

    judge: JudgeName
    number: int
    model: str

    def cast(
        self, completion: Completion, read: object, problem: str | None, vote: Callable[[Any], Any]
    ) -> Ballot:
        """The ballot of a reply that came.

        Args:
            completion: the reply.
            read: what was read of it, or None.
            problem: why nothing was.
            vote: makes the vote from what was read.
        """
        void = void_reply(completion, read, problem)
        return Ballot(vote(read), None) if void is None else self._spoilt(void)

    def spoilt(self, error: ModelCallError) -> Ballot:
        """The ballot of a call that failed for good."""
        return self._spoilt(void_call(error))

    def _spoilt(self, void: Void) -> Ballot:
        return Ballot(None, Failure(self.judge, self.number, *void, self.model))


def verdicts(ballots: dict[JudgeName, list[Ballot]], planned: int, log: CallLog) -> Verdicts:
    """What all votes on one answer come to.

    Args:
        ballots: by judge, in the order they were asked for; judges not asked are left out.
        planned: ballots of each, deciding ones not counted.
        log: the calls they took.
    """
    votes = {name: [ballot.vote for ballot in ballots.get(name, [])] for name in JUDGES}
    failures = [ballot.failure for name in JUDGES for ballot in ballots.get(name, [])]
    problems = tuple(failure for failure in failures if failure is not None)
    correct = majority(votes["accuracy"], planned)
    hallucination = hallucination_of(votes["hallucination"], planned)
    groundedness, unsupported, grounded = groundedness_of(votes["groundedness"], planned)
    reached = {
        "accuracy": correct is not None,
        "hallucination": hallucination.total_claims is not None,
        "groundedness": grounded,
    }
    return Verdicts(
        correct=correct,
        correct_votes=tuple(votes["accuracy"]),
        planned_votes=planned,
        hallucination=hallucination,
        groundedness=groundedness,
        unsupported_fraction=unsupported,
        groundedness_votes=tuple(votes["groundedness"]),
        failures=_counts(problems),
        failed=tuple(name for name in JUDGES if name in ballots and not reached[name]),
        problems=problems,
        latency_s=round(log.latency_s, 6) if log.calls else None,
        usage=log.usage(),
    )


def of_nothing(*, accuracy: bool, planned: int) -> Verdicts:
    """The verdict on an answer without any text: it claims nothing, and is not correct."""
    return Verdicts(
        correct=False if accuracy else None,
        planned_votes=planned,
        hallucination=Hallucination(0.0, 0.0, (), 0.0, False),
    )


def too_long(excess: str, judges: Sequence[JudgeName], planned: int) -> Verdicts:
    """The verdict on texts that no judge can be shown whole: none, and every vote counted."""
    problems = tuple(
        Failure(name, number, "too long", excess) for name in judges for number in range(planned)
    )
    return Verdicts(
        planned_votes=planned,
        failures=_counts(problems),
        failed=tuple(judges),
        problems=problems,
    )


def _counts(problems: Sequence[Failure]) -> dict[str, int]:
    told = [failure.judge for failure in problems]
    return {name: told.count(name) for name in JUDGES if name in told}
