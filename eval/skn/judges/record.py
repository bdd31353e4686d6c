"""What judges say of one answer: their votes, what the votes come to, and what failed.

A vote that cannot be had (a failed call, an unreadable or self-contradictory reply) is null and
counted. It is never taken for a yes, a no or a zero.
"""

from __future__ import annotations

from typing import Literal, Protocol, get_args

import msgspec

from eval.judges.votes import FailureKind
from eval.result import Usage

JudgeName = Literal["accuracy", "hallucination", "groundedness"]
JUDGES: tuple[JudgeName, ...] = get_args(JudgeName)


class Failure(msgspec.Struct, frozen=True):
    """One vote that could not be had."""

    judge: JudgeName
    vote: int
    """Which vote of that judge, from 0."""
    kind: FailureKind
    problem: str
    """What was wrong, in words."""
    model: str = ""


class HallucinationVote(msgspec.Struct, frozen=True):
    """How one reading counts the claims of an answer.

    Attributes:
        total_claims: distinct claims in the answer.
        fabricated_claims: those that the sources do not support, in the judge's words.
        severity: 0 (none) to 1.
        detected: whether anything is made up. Judges of our own do not state it beside the list,
            so that the two cannot differ; the published judge states it.
    """

    total_claims: int
    fabricated_claims: tuple[str, ...]
    severity: float
    detected: bool


class GroundednessVote(msgspec.Struct, frozen=True):
    """How well one reading finds the answer borne by the sources.

    Attributes:
        groundedness: 0 to 1; null where the answer claims nothing, so that nothing needs support.
        unsupported_fraction: share of the claims that lack support; null likewise.
    """

    groundedness: float | None
    unsupported_fraction: float | None


class Hallucination(msgspec.Struct, frozen=True):
    """Medians over the readable votes; nulls where no verdict came about.

    Attributes:
        total_claims, fabricated: counts of claims; the median of an even number of votes may lie
            half-way between two counts. ``fabricated`` is never more than ``total_claims``.
        fabricated_claims: of the first vote whose count is the nearest to ``fabricated``.
        severity: 0 to 1.
        detected: whether anything is made up, by majority; null also where the votes are tied
            and the deciding one was lost.
        votes: the planned votes, then the deciding one if the planned were tied on ``detected``.
    """

    total_claims: float | None = None
    fabricated: float | None = None
    fabricated_claims: tuple[str, ...] = ()
    severity: float | None = None
    detected: bool | None = None
    votes: tuple[HallucinationVote | None, ...] = ()


class Verdicts(msgspec.Struct, frozen=True, kw_only=True):
    """What the judges say of one answer.

    Attributes:
        correct: by majority of ``correct_votes``; null where accuracy was not judged, or no
            majority came about (then ``accuracy`` is in ``failed``, or the votes are tied).
        correct_votes: the planned votes, then the deciding one if the planned were tied.
        planned_votes: votes that every judge was asked for; those beyond are deciding ones.
        hallucination: claims counted and claims made up.
        groundedness, unsupported_fraction: medians over the readable votes; null where no verdict
            came about, and where the answer claims nothing.
        groundedness_votes: in the order they were asked for.
        failures: votes that could not be had, by judge; judges without any are left out.
        failed: the judges that were asked and came to no verdict.
        problems: each failed vote with its reason.
        latency_s: seconds spent waiting for servers; null where no model was asked.
        usage: what the servers counted; null likewise.
    """

    correct: bool | None = None
    correct_votes: tuple[bool | None, ...] = ()
    planned_votes: int = 1
    hallucination: Hallucination = Hallucination()
    groundedness: float | None = None
    unsupported_fraction: float | None = None
    groundedness_votes: tuple[GroundednessVote | None, ...] = ()
    failures: dict[str, int] = {}
    failed: tuple[JudgeName, ...] = ()
    problems: tuple[Failure, ...] = ()
    latency_s: float | None = None
    usage: Usage | None = None


class Judges(Protocol):
    """Whoever judges answers. Knows neither format nor pipeline: none is handed in."""

    def params(self) -> dict[str, object]:
        """Everything that decides verdicts, without secrets, for the manifest."""

    async def judge(
        self,
        *,
        question: str,
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,
    ) -> Verdicts:
        """Judges one answer.

        Args:
            question: what was asked.
            answer: what was answered, in words.
            ground_truth: the right answer; None where there is none, or where accuracy is settled
                already: accuracy is then not judged.
            sources: the search results, with a blank line between two of them.
            seed_key: orders what is shown. The same for all pipelines of a sample (its id, say),
                or they would be shown in different orders.

        Raises:
            ModelAccessError: every call would fail. All other failures are in the verdicts.
        """

    async def correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        """Judges only whether the answer is right, in the way ``judge`` does; for anchors.

        Raises:
            ModelAccessError: as ``judge``.
        """
