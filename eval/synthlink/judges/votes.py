"""Combines the votes on one claim into a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from eval.judges.votes import has_enough_votes
from eval.synthlink.verdicts.record import Finding


class VoteOutcome(NamedTuple):
    """The result of the votes on one claim."""

    verdict: Finding | None
    is_split: bool


def is_undecided(votes: Sequence[Finding | None], planned_votes: int) -> bool:
    """Returns whether there are enough votes, but no verdict with more than half of them."""
    valid = [vote for vote in votes if vote is not None]
    return has_enough_votes(len(valid), planned_votes) and _find_majority(valid) is None


def combine_votes(votes: Sequence[Finding | None], planned_votes: int) -> VoteOutcome:
    """Determines the verdict with more than half of the valid votes.

    Args:
        votes: the planned votes, then the deciding one if it was needed; None for a lost vote.
        planned_votes: number of planned votes.

    Returns:
        No verdict where less than half of the planned votes are valid, or there is no majority.
        ``is_split`` marks the second case, but only if the deciding vote is valid too: a lost
        deciding vote can still be obtained by running again.
    """
    valid = [vote for vote in votes if vote is not None]
    if not has_enough_votes(len(valid), planned_votes):
        return VoteOutcome(None, is_split=False)
    verdict = _find_majority(valid)
    return VoteOutcome(verdict, is_split=verdict is None and None not in votes[planned_votes:])


def _find_majority(votes: Sequence[Finding]) -> Finding | None:
    (commonest, count), *_ = Counter(votes).most_common(1)
    return commonest if 2 * count > len(votes) else None
