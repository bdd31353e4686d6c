"""What several votes come to: the majority of yes and no, the median of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from eval.judges.votes import enough
from eval.skn.judges.record import GroundednessVote, Hallucination, HallucinationVote


def tied(votes: Sequence[bool | None]) -> bool:
    """Whether the readable votes, of which there are some, are evenly split."""
    return votes.count(True) == votes.count(False) > 0


def majority(votes: Sequence[bool | None], planned: int) -> bool | None:
    """What more than half of the readable votes say.

    Args:
        votes: null where a vote could not be had.
        planned: votes that were asked for, deciding ones not counted.

    Returns:
        Null if fewer than half of the planned votes could be had, or they are tied.
    """
    yes, no = votes.count(True), votes.count(False)
    if yes == no or not enough(yes + no, planned):
        return None
    return yes > no


def hallucination_of(votes: Sequence[HallucinationVote | None], planned: int) -> Hallucination:
    """Medians of counts and severity, and the majority on whether anything is made up."""
    read = [vote for vote in votes if vote is not None]
    if not enough(len(read), planned):
        return Hallucination(votes=tuple(votes))
    fabricated = float(median(len(vote.fabricated_claims) for vote in read))
    nearest = min(read, key=lambda vote: abs(len(vote.fabricated_claims) - fabricated))
    return Hallucination(
        # Each vote's second count is at most its first, so the medians' are too.
        total_claims=float(median(vote.total_claims for vote in read)),
        fabricated=fabricated,
        fabricated_claims=nearest.fabricated_claims,
        severity=float(median(vote.severity for vote in read)),
        detected=majority([vote.detected for vote in read], len(read)),
        votes=tuple(votes),
    )


def groundedness_of(
    votes: Sequence[GroundednessVote | None], planned: int
) -> tuple[float | None, float | None, bool]:
    """Medians of groundedness and of the share without support.

    Returns:
        Both, and whether a verdict came about. Both are null where none did, and where most
        readable votes find no claim that could be grounded.
    """
    read = [vote for vote in votes if vote is not None]
    if not enough(len(read), planned):
        return None, None, False
    found = [vote for vote in read if vote.groundedness is not None]
    if 2 * len(found) < len(read):
        return None, None, True
    grounded = median(vote.groundedness for vote in found if vote.groundedness is not None)
    unsupported = median(
        vote.unsupported_fraction for vote in found if vote.unsupported_fraction is not None
    )
    return float(grounded), float(unsupported), True
