"""How far judges can be trusted: agreement of their votes, and their errors on the anchors.

Votes of one judge that agree may be wrong together. So agreement beyond chance (κ) stands beside
the errors where the truth is known: sensitivity, specificity, and the correlation of the errors of
two votes (φ). Where errors go together, more votes do not help.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import fsum
from statistics import mean

import msgspec

from eval.judges.rates import Rate, rate_of
from eval.skn.judges.anchors import AnchorRow
from eval.skn.judges.record import Verdicts
from eval.stats.kappa import cohens_kappa, fleiss_kappa, phi


class Kappa(msgspec.Struct, frozen=True):
    """Agreement of the planned votes on one matter.

    Attributes:
        kappa: Cohen's for two votes, Fleiss' for more; null for one, and where every vote is the
            same, so that chance explains the agreement as well.
        agreed: share of the answers on which all votes are the same; null for one vote, and
            without answers.
        n: answers with every vote.
        incomplete: answers that lack a vote, and are left out.
    """

    kappa: float | None
    agreed: float | None
    n: int
    incomplete: int


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the judges of one run.

    Attributes:
        votes: planned votes on every matter.
        kappa: of the votes on accuracy, all answers of the run taken together.
        n: answers that ``kappa`` rests on.
        accuracy, hallucination: the same with its counts; on whether the answer is correct, and on
            whether anything in it is made up.
        groundedness_gap: mean of the largest difference between two votes on groundedness, over
            the answers with at least two of them; null without any.
        sensitivity: share of right anchors called correct.
        specificity: share of wrong anchors called wrong.
        error_correlation: φ of the errors of two votes over all anchors, the mean over the pairs
            of votes for which there is one; null where some vote never errs, or always does.
        failures: votes that could not be had, by judge, over all answers.
    """

    votes: int
    kappa: float | None
    n: int
    accuracy: Kappa
    hallucination: Kappa
    groundedness_gap: float | None
    sensitivity: Rate
    specificity: Rate
    error_correlation: float | None
    failures: dict[str, int]


def agreement(verdicts: Iterable[Verdicts], anchors: Iterable[AnchorRow] = ()) -> Agreement:
    """How far the judges of one run agree, and how often they err on what is known.

    Deciding votes are left out: they exist only where the others differ, and would make the judges
    look less sure than they are.

    Args:
        verdicts: on all answers that were judged, of all pipelines.
        anchors: of all samples that have a right answer.

    Raises:
        ValueError: not all verdicts were planned with the same number of votes.
    """
    verdicts, anchors = list(verdicts), list(anchors)
    planned = {verdict.planned_votes for verdict in verdicts}
    if len(planned) > 1:
        raise ValueError(f"verdicts of {sorted(planned)} votes are of different judges")
    votes = planned.pop() if planned else 0
    accuracy = _kappa([v.correct_votes[: v.planned_votes] for v in verdicts])
    return Agreement(
        votes=votes,
        kappa=accuracy.kappa,
        n=accuracy.n,
        accuracy=accuracy,
        hallucination=_kappa([_detected(verdict) for verdict in verdicts]),
        groundedness_gap=_gap(verdicts),
        sensitivity=rate_of([row.right for row in anchors], True),
        specificity=rate_of([row.wrong for row in anchors if row.asked_wrong], False),
        error_correlation=_error_correlation(anchors),
        failures=_failures(verdicts),
    )


def _kappa(rows: Sequence[Sequence[bool | None]]) -> Kappa:
    """Agreement over the rows with votes."""
    asked = [row for row in rows if row]
    full = [row for row in asked if None not in row]
    n = len(full)
    raters = len(full[0]) if full else 0
    if raters < 2:
        # One vote agrees with itself, which says nothing.
        return Kappa(None, None, n, len(asked) - n)
    agreed = sum(len(set(row)) == 1 for row in full) / n
    if raters == 2:
        kappa = cohens_kappa([row[0] for row in full], [row[1] for row in full])
    else:
        kappa = fleiss_kappa(full)
    return Kappa(kappa, agreed, n, len(asked) - n)


def _detected(verdict: Verdicts) -> list[bool | None]:
    planned = verdict.hallucination.votes[: verdict.planned_votes]
    return [None if vote is None else vote.detected for vote in planned]


def _gap(verdicts: Iterable[Verdicts]) -> float | None:
    """Mean distance between the highest and the lowest vote on groundedness."""
    scores = [
        [
            vote.groundedness
            for vote in v.groundedness_votes
            if vote and vote.groundedness is not None
        ]
        for v in verdicts
    ]
    gaps = [max(row) - min(row) for row in scores if len(row) > 1]
    return fsum(gaps) / len(gaps) if gaps else None


def _error_correlation(anchors: Iterable[AnchorRow]) -> float | None:
    """Mean φ over the pairs of votes: 1 where they err on the same anchors, 0 if independently."""
    errors = [
        [None if vote is None else vote != truth for vote in votes]
        for row in anchors
        for votes, truth in ((row.right_votes, True), (row.wrong_votes, False))
    ]
    raters = max(map(len, errors), default=0)
    found = []
    for one, other in combinations(range(raters), 2):
        pairs = [
            (row[one], row[other])
            for row in errors
            if len(row) == raters and row[one] is not None and row[other] is not None
        ]
        correlation = phi([bool(a) for a, _ in pairs], [bool(b) for _, b in pairs])
        if correlation is not None:
            found.append(correlation)
    return mean(found) if found else None


def _failures(verdicts: Iterable[Verdicts]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        for judge, number in verdict.failures.items():
            counts[judge] = counts.get(judge, 0) + number
    return dict(sorted(counts.items()))
