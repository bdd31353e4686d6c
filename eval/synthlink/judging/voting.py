"""What several votes on one claim come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from eval.judges.votes import enough
from eval.synthlink.verdicts.record import Finding


class Outcome(NamedTuple):
    """What votes come to."""

    verdict: Finding | None
    split: bool


def undecided(votes: Sequence[Finding | None], planned: int) -> bool:
    """Whether enough votes were had, and none is that of more than half of them."""
    read = [vote for vote in votes if vote is not None]
    return enough(len(read), planned) and _majority(read) is None


def outcome(votes: Sequence[Finding | None], planned: int) -> Outcome:
    """The verdict of more than half of the votes that were had.

    Args:
        votes: the planned ones, then the deciding one if there was need of it; null for lost ones.
        planned: votes that were planned.

    Returns:
        No verdict where less than half of the planned votes were had, or there is no majority.
        ``split`` tells the second, but only where the deciding vote was had too: a lost one may
        be had another time.
    """
    read = [vote for vote in votes if vote is not None]
    if not enough(len(read), planned):
        return Outcome(None, split=False)
    verdict = _majority(read)
    return Outcome(verdict, split=verdict is None and None not in votes[planned:])


def _majority(read: Sequence[Finding]) -> Finding | None:
    (most, count), *_ = Counter(read).most_common(1)
    return most if 2 * count > len(read) else None
