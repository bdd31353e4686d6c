"""Combines several votes on claims: the medians of numbers, and the majority of yes and no."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from eval.judges.votes import find_majority, has_enough_votes
from eval.skn.judges.record import GroundednessVote, Hallucination, HallucinationVote


def combine_hallucination(votes: Sequence[HallucinationVote | None], planned: int) -> Hallucination:
    """Combines votes: medians of counts and severity, majority on whether any claim is made up."""
    readable_votes = [vote for vote in votes if vote is not None]
    if not has_enough_votes(len(readable_votes), planned):
        return Hallucination(votes=tuple(votes))
    fabricated = float(median(len(vote.fabricated_claims) for vote in readable_votes))
    nearest = min(readable_votes, key=lambda vote: abs(len(vote.fabricated_claims) - fabricated))
    return Hallucination(
        # In each vote fabricated <= total_claims, so the same is true of the medians.
        total_claims=float(median(vote.total_claims for vote in readable_votes)),
        fabricated=fabricated,
        fabricated_claims=nearest.fabricated_claims,
        severity=float(median(vote.severity for vote in readable_votes)),
        detected=find_majority([vote.detected for vote in readable_votes], len(readable_votes)),
        votes=tuple(votes),
    )


def combine_groundedness(
    votes: Sequence[GroundednessVote | None], planned: int
) -> tuple[float | None, float | None, bool]:
    """Combines votes by medians of groundedness and of the unsupported share.

    Returns:
        Both medians, and whether a verdict was reached. The medians are None if no verdict was
        reached, or if most readable votes find that the answer makes no claims.
    """
    readable_votes = [vote for vote in votes if vote is not None]
    if not has_enough_votes(len(readable_votes), planned):
        return None, None, False
    scored_votes = [vote for vote in readable_votes if vote.groundedness is not None]
    if 2 * len(scored_votes) < len(readable_votes):
        return None, None, True
    groundedness = median(
        vote.groundedness for vote in scored_votes if vote.groundedness is not None
    )
    unsupported = median(
        vote.unsupported_fraction for vote in scored_votes if vote.unsupported_fraction is not None
    )
    return float(groundedness), float(unsupported), True
