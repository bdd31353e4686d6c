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


def is_undecided(votes: Sequence[Finding | None], planned_count: int) -> bool:
    """Returns whether there are enough votes, but no verdict with more than half of them."""
    valid_votes = [vote for vote in votes if vote is not None]
    return has_enough_votes(len(valid_votes), planned_count) and _find_majority(valid_votes) is None


def combine_votes(votes: Sequence[Finding | None], planned_count: int) -> VoteOutcome:
    """Determines the verdict with more than half of the valid votes.

    Args:
        votes: the planned votes, then the deciding one if it was needed; None for a lost vote.
        planned_count: number of planned votes.

    Returns:
        The verdict, or none if less than half of the planned votes are valid, or if there is no
        majority. ``is_split`` is true if there is no majority, unless the deciding vote was lost:
        that vote can still be obtained by running again.
    """
    valid_votes = [vote for vote in votes if vote is not None]
    if not has_enough_votes(len(valid_votes), planned_count):
        return VoteOutcome(None, is_split=False)
    verdict = _find_majority(valid_votes)
    return VoteOutcome(verdict, is_split=verdict is None and None not in votes[planned_count:])


def _find_majority(votes: Sequence[Finding]) -> Finding | None:
    (most_common, count), *_ = Counter(votes).most_common(1)
    return most_common if 2 * count > len(votes) else None
