"""Measures how far the votes of judges on the same questions agree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from eval.stats.kappa import cohens_kappa, fleiss_kappa


class Kappa(msgspec.Struct, frozen=True):
    """Agreement of the planned votes on one criterion.

    Attributes:
        kappa: Cohen's κ for two votes, Fleiss' κ for more. Null if there is only one vote, or if
            all votes on all answers are equal, because κ is then undefined.
        agreed: share of the answers on which all votes are equal; null if there is only one vote
            or no answer.
        n: number of answers with all planned votes.
        incomplete: number of answers with a missing vote, which are excluded.
    """

    kappa: float | None
    agreed: float | None
    n: int
    incomplete: int


def measure_vote_agreement(rows: Sequence[Sequence[Hashable | None]]) -> Kappa:
    """Measures the agreement over the rows that have votes.

    Deciding votes must be left out: they exist only where the other votes are tied, and would bias
    the agreement downwards.

    Args:
        rows: the planned votes on each answer; None for a lost one.
    """
    rows_with_votes = [row for row in rows if row]
    complete_rows = [row for row in rows_with_votes if None not in row]
    n = len(complete_rows)
    raters = len(complete_rows[0]) if complete_rows else 0
    if raters < 2:
        # A single vote always agrees with itself.
        return Kappa(None, None, n, len(rows_with_votes) - n)
    agreed_share = sum(len(set(row)) == 1 for row in complete_rows) / n
    if raters == 2:
        kappa = cohens_kappa([row[0] for row in complete_rows], [row[1] for row in complete_rows])
    else:
        kappa = fleiss_kappa(complete_rows)
    return Kappa(kappa, agreed_share, n, len(rows_with_votes) - n)
