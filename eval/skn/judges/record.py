"""The records of judging one answer: votes, combined verdicts and failures.

A failed vote (a failed call, an unreadable or self-contradictory reply) is null and counted. It is
never treated as a yes, a no or a zero.
"""

from __future__ import annotations

from typing import Literal, Protocol, get_args

import msgspec

from eval.judges.votes import FailureKind
from eval.model.usage import Usage

JudgeName = Literal["accuracy", "hallucination", "groundedness"]
JUDGES: tuple[JudgeName, ...] = get_args(JudgeName)


class Failure(msgspec.Struct, frozen=True):
    """One failed vote."""

    judge: JudgeName
    vote: int
    """Number of the vote of that judge, from 0."""
    kind: FailureKind
    problem: str
    """What was wrong, in words."""
    model: str = ""


class HallucinationVote(msgspec.Struct, frozen=True):
    """One vote on the claims of an answer.

    Attributes:
        total_claims: distinct claims in the answer.
        fabricated_claims: those that the sources do not support, in the judge's words.
        severity: 0 (none) to 1.
        detected: whether any claim is made up. For our own judges it is derived from
            ``fabricated_claims``, so that the two cannot differ. The published judge states it.
    """

    total_claims: int
    fabricated_claims: tuple[str, ...]
    severity: float
    detected: bool


class GroundednessVote(msgspec.Struct, frozen=True):
    """One vote on how well the sources support the answer.

    Attributes:
        groundedness: 0 to 1; null if the answer makes no claims.
        unsupported_fraction: share of the claims without support; null if there are none.
    """

    groundedness: float | None
    unsupported_fraction: float | None


class Hallucination(msgspec.Struct, frozen=True):
    """Medians over the usable votes; null where no verdict was reached.

    Attributes:
        total_claims, fabricated: numbers of claims; the median of an even number of votes may be
            half-way between two integers. ``fabricated`` is never more than ``total_claims``.
        fabricated_claims: claims of the first vote whose number is nearest to ``fabricated``.
        severity: 0 to 1.
        detected: whether any claim is made up, by majority; also null if the votes are tied
            and the deciding one failed.
        votes: the planned votes, then the deciding one if the planned were tied on ``detected``.
    """

    total_claims: float | None = None
    fabricated: float | None = None
    fabricated_claims: tuple[str, ...] = ()
    severity: float | None = None
    detected: bool | None = None
    votes: tuple[HallucinationVote | None, ...] = ()


class Verdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The judges' verdicts on one answer.

    Attributes:
        correct: majority of ``correct_votes``; null if accuracy was not judged or no majority
            was reached (then ``accuracy`` is in ``failed``, or the votes are tied).
        correct_votes: the planned votes, then the deciding one if the planned were tied.
        planned_votes: number of votes planned for each judge; further ones are deciding votes.
        hallucination: number of claims and of made-up claims.
        groundedness, unsupported_fraction: medians over the usable votes; null if no verdict
            was reached, or if the answer makes no claims.
        groundedness_votes: votes in the order in which they were requested.
        failures: number of failed votes by judge; judges without any are left out.
        failed: judges that were called but reached no verdict.
        problems: each failed vote with its reason.
        latency_s: seconds spent waiting for servers; null if no model was called.
        usage: tokens that the servers counted; null if no model was called.
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
    """Judges of answers. They do not know the format or pipeline of an answer."""

    def params(self) -> dict[str, object]:
        """Returns everything that determines verdicts, without secrets, for the manifest."""

    async def judge_answer(
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
            question: the question.
            answer: the answer, in words.
            ground_truth: the right answer. If None, because there is none or accuracy is already
                decided, accuracy is not judged.
            sources: the search results, separated by blank lines.
            seed_key: determines the order in which the material is shown. Use the same key for
                all pipelines of a sample (its id, say), so that all are shown in the same order.

        Raises:
            ModelAccessError: every call would fail. All other failures are in the verdicts.
        """

    async def judge_correctness(
        self, *, question: str, answer: str, ground_truth: str, seed_key: str
    ) -> Verdicts:
        """Judges only whether the answer is right, as ``judge_answer`` does; used for anchors.

        Raises:
            ModelAccessError: see ``judge_answer``.
        """
