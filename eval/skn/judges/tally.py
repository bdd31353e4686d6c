"""Combines ballots into verdicts, for all judges that are models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.judges.panel import Ballot
from eval.judges.votes import find_majority
from eval.model.calls import CallLog
from eval.skn.judges.record import (
    JUDGES,
    Failure,
    Hallucination,
    JudgeName,
    Verdicts,
)
from eval.skn.judges.votes import combine_groundedness, combine_hallucination


def combine_ballots(
    ballots: Mapping[JudgeName, Sequence[Ballot[Any]]], planned: int, log: CallLog
) -> Verdicts:
    """Combines all votes on one answer.

    Args:
        ballots: judge → ballots in the order of the requests; without judges that were not called.
        planned: number of ballots of each judge, without deciding votes.
        log: the calls made for these ballots.
    """
    votes = {name: [ballot.vote for ballot in ballots.get(name, [])] for name in JUDGES}
    problems = tuple(
        Failure(name, ballot.lost.vote, ballot.lost.kind, ballot.lost.problem, ballot.lost.model)
        for name in JUDGES
        for ballot in ballots.get(name, [])
        if ballot.lost is not None
    )
    correct = find_majority(votes["accuracy"], planned)
    hallucination = combine_hallucination(votes["hallucination"], planned)
    groundedness, unsupported, has_groundedness_verdict = combine_groundedness(
        votes["groundedness"], planned
    )
    has_verdict = {
        "accuracy": correct is not None,
        "hallucination": hallucination.total_claims is not None,
        "groundedness": has_groundedness_verdict,
    }
    return Verdicts(
        correct=correct,
        correct_votes=tuple(votes["accuracy"]),
        planned_votes=planned,
        hallucination=hallucination,
        groundedness=groundedness,
        unsupported_fraction=unsupported,
        groundedness_votes=tuple(votes["groundedness"]),
        failures=_count_by_judge(problems),
        failed=tuple(name for name in JUDGES if name in ballots and not has_verdict[name]),
        problems=problems,
        latency_s=round(log.latency_s, 6) if log.calls else None,
        usage=log.sum_usage(),
    )


def build_empty_verdicts(*, accuracy: bool, planned: int) -> Verdicts:
    """Returns the verdicts on an answer without text: no claims, and not correct."""
    return Verdicts(
        correct=False if accuracy else None,
        planned_votes=planned,
        hallucination=Hallucination(0.0, 0.0, (), 0.0, False),
    )


def build_too_long_verdicts(excess: str, judges: Sequence[JudgeName], planned: int) -> Verdicts:
    """Returns the verdicts on texts that are too long to be judged: every vote has failed."""
    problems = tuple(
        Failure(name, number, "too long", excess) for name in judges for number in range(planned)
    )
    return Verdicts(
        planned_votes=planned,
        failures=_count_by_judge(problems),
        failed=tuple(judges),
        problems=problems,
    )


def _count_by_judge(problems: Sequence[Failure]) -> dict[str, int]:
    judges = [failure.judge for failure in problems]
    return {name: judges.count(name) for name in JUDGES if name in judges}
