"""Measures how reliable judges are: agreement of their votes, and their errors on the anchors.

Votes that agree may still be wrong together. Therefore agreement beyond chance (κ) is reported
together with the errors on anchors, whose truth is known: sensitivity, specificity, and the
correlation of the errors of two votes (φ). If errors are correlated, more votes do not help.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import fsum
from statistics import mean

import msgspec

from eval.judges.agreement import Kappa, measure_vote_agreement
from eval.judges.rates import Rate, compute_rate
from eval.skn.judges.anchors import AnchorRow
from eval.skn.judges.record import Verdicts
from eval.stats.kappa import phi_coefficient


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How reliable the judges of one run are.

    Attributes:
        votes: number of planned votes on each criterion.
        kappa: the value of ``accuracy.kappa``, over all answers of the run.
        n: number of answers in ``kappa``.
        accuracy: agreement on whether the answer is correct.
        hallucination: agreement on whether the answer contains made-up claims.
        groundedness_gap: mean of the largest difference between two votes on groundedness, over
            the answers with at least two such votes; null if there are none.
        sensitivity: of the anchors that are right answers, the share that was judged correct.
        specificity: of the anchors that are wrong answers, the share that was judged wrong.
        error_correlation: φ of the errors of two votes over all anchors, averaged over the pairs
            of votes for which φ is defined (both votes err on some anchors, but not on all); null
            if there is no such pair.
        failures: number of failed votes by judge, over all answers.
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


def measure_agreement(verdicts: Iterable[Verdicts], anchors: Iterable[AnchorRow] = ()) -> Agreement:
    """Measures how far the judges of one run agree, and how often they err on anchors.

    Deciding votes are excluded: they exist only where the other votes are tied, and would bias
    the agreement downwards.

    Args:
        verdicts: the verdicts on all judged answers of all pipelines.
        anchors: the anchors of all samples that have a right answer.

    Raises:
        ValueError: not all verdicts were planned with the same number of votes.
    """
    verdicts, anchors = list(verdicts), list(anchors)
    planned_numbers = {verdict.planned_votes for verdict in verdicts}
    if len(planned_numbers) > 1:
        raise ValueError(
            f"verdicts with different numbers of planned votes: {sorted(planned_numbers)}"
        )
    votes = planned_numbers.pop() if planned_numbers else 0
    accuracy = measure_vote_agreement([v.correct_votes[: v.planned_votes] for v in verdicts])
    return Agreement(
        votes=votes,
        kappa=accuracy.kappa,
        n=accuracy.n,
        accuracy=accuracy,
        hallucination=measure_vote_agreement([_list_detections(verdict) for verdict in verdicts]),
        groundedness_gap=_compute_groundedness_gap(verdicts),
        sensitivity=compute_rate([row.right for row in anchors], True),
        specificity=compute_rate([row.wrong for row in anchors if row.asked_wrong], False),
        error_correlation=_compute_error_correlation(anchors),
        failures=_count_failures(verdicts),
    )


def _list_detections(verdict: Verdicts) -> list[bool | None]:
    planned = verdict.hallucination.votes[: verdict.planned_votes]
    return [None if vote is None else vote.detected for vote in planned]


def _compute_groundedness_gap(verdicts: Iterable[Verdicts]) -> float | None:
    """Returns the mean distance between the highest and the lowest vote on groundedness."""
    scores = [
        [
            vote.groundedness
            for vote in verdict.groundedness_votes
            if vote and vote.groundedness is not None
        ]
        for verdict in verdicts
    ]
    gaps = [max(row) - min(row) for row in scores if len(row) > 1]
    return fsum(gaps) / len(gaps) if gaps else None


def _compute_error_correlation(anchors: Iterable[AnchorRow]) -> float | None:
    """Returns the mean φ of two votes' errors; None if φ is undefined for every pair of votes.

    1 means that the votes err on the same anchors, 0 that their errors are independent.
    """
    errors = [
        [None if vote is None else vote != truth for vote in votes]
        for row in anchors
        for votes, truth in ((row.right_votes, True), (row.wrong_votes, False))
    ]
    raters = max(map(len, errors), default=0)
    correlations = []
    for first, second in combinations(range(raters), 2):
        pairs = [
            (row[first], row[second])
            for row in errors
            if len(row) == raters and row[first] is not None and row[second] is not None
        ]
        correlation = phi_coefficient([bool(a) for a, _ in pairs], [bool(b) for _, b in pairs])
        if correlation is not None:
            correlations.append(correlation)
    return mean(correlations) if correlations else None


def _count_failures(verdicts: Iterable[Verdicts]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        for judge, count in verdict.failures.items():
            counts[judge] = counts.get(judge, 0) + count
    return dict(sorted(counts.items()))
