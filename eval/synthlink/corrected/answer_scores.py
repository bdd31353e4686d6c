"""Computes the corrected metrics of one answer, and their aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.completeness import judge_steps
from eval.synthlink.corrected.claims import judge_claims, list_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.pages import score_retrieval
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.word_f1 import compute_word_f1
from eval.synthlink.items import Question
from eval.synthlink.metrics import (
    AGGREGATE_WEIGHTS,
    AnswerScores,
    JudgedClaim,
    JudgedStep,
    MetricName,
)
from eval.synthlink.predictions import Prediction

if TYPE_CHECKING:
    from eval.guard.stream import Guard

_PAGE_METRICS: Final[tuple[MetricName, ...]] = ("p_at_5", "recall_at_5")


def score_corrected(
    prediction: Prediction,
    question: Question,
    guard: Guard | None,
    thresholds: Thresholds,
    pages: SourcePages | None = None,
) -> AnswerScores:
    """Computes the corrected metrics of one answer, without a judge.

    Args:
        prediction: the answer.
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        thresholds: settings of the corrected scores.
        pages: source pages used as evidence; None for none.
    """
    answer = prediction.predicted_answer
    f1 = compute_word_f1(answer, question)
    # All answers of one iteration are joined into one: otherwise the best of many guesses would
    # count.
    iteration_f1 = tuple(
        compute_word_f1(". ".join(iteration.answers), question)
        for iteration in prediction.iterations
    )
    retrieval = score_retrieval(
        prediction.retrieved_docs, question.sources, prediction.list_opened()
    )
    decider = ClaimDecider(question, pages)
    claims = judge_claims(answer, question, guard, pages, decider)
    scores = AnswerScores(
        f1=f1,
        p_at_5=None if retrieval is None else retrieval.precision,
        recall_at_5=None if retrieval is None else retrieval.recall,
        rqs=None,
        fcs=None,
        ie=iteration_efficiency(f1, iteration_f1, thresholds.correct),
        aggregate=None,
        bounds={} if retrieval is None else retrieval.list_bounds(),
        steps=judge_steps(answer, list_claims(answer, question), question, decider),
        iteration_f1=iteration_f1,
    )
    return set_verdicts(scores, question, claims, scores.steps)


def set_verdicts(
    scores: AnswerScores,
    question: Question,
    claims: Sequence[JudgedClaim],
    steps: Sequence[JudgedStep],
) -> AnswerScores:
    """Returns the scores of an answer with these verdicts, and all that is computed from them.

    FCS is the share of supported claims, and RQS that of stated facts, among those with a verdict.
    Both are null, and unjudged, if none has one; the aggregate also if any fact has none. FCS is
    null, and counts as 0 in the aggregate, if the answer claims nothing. The bounds are the values
    if everything unjudged were wrong, or right.
    """
    fcs = _share([claim.verdict for claim in claims], "supported")
    rqs = _share([step.verdict for step in steps], "stated")
    bounds = {name: scores.bounds[name] for name in _PAGE_METRICS if name in scores.bounds}
    unjudged: list[MetricName] = list(bounds)
    shares: dict[MetricName, _Share] = {"fcs": fcs, "rqs": rqs}
    for name, share in shares.items():
        if share.low < share.high:
            bounds[name] = (share.low, share.high)
            if share.value is None:
                unjudged.append(name)
    metrics: dict[MetricName, float | None] = {
        name: getattr(scores, name) for name in AGGREGATE_WEIGHTS
    } | {"fcs": fcs.value, "rqs": rqs.value}
    if bounds:
        lowest, highest = (
            aggregate_metrics(
                metrics | {name: ends[end] for name, ends in bounds.items()}, question
            )
            for end in (0, 1)
        )
        bounds["aggregate"] = (lowest, highest)
    aggregate = None
    if unjudged or any(step.verdict == "unjudged" for step in steps):
        unjudged.append("aggregate")
    else:
        aggregate = aggregate_metrics(metrics, question)
    return msgspec.structs.replace(
        scores,
        fcs=fcs.value,
        rqs=rqs.value,
        aggregate=aggregate,
        bounds=bounds,
        claims=tuple(claims),
        steps=tuple(steps),
        unjudged=tuple(unjudged),
    )


class _Share(NamedTuple):
    value: float | None
    """Share among those with a verdict; null if none has one."""
    low: float
    high: float


def _share(verdicts: Sequence[str], right: str) -> _Share:
    n, n_right = len(verdicts), verdicts.count(right)
    n_unjudged = verdicts.count("unjudged")
    if not n:
        return _Share(None, 0.0, 0.0)
    value = n_right / (n - n_unjudged) if n > n_unjudged else None
    return _Share(value, n_right / n, (n_right + n_unjudged) / n)


def score_unanswered(question: Question) -> AnswerScores:
    """Returns the scores of a question without an answer: 0 in every metric available for it."""
    available = _get_available_metrics(question)
    zeros = {name: 0.0 if name in available else None for name in AGGREGATE_WEIGHTS}
    return AnswerScores(
        f1=0.0,
        p_at_5=zeros["p_at_5"],
        recall_at_5=zeros["p_at_5"],
        rqs=zeros["rqs"],
        fcs=0.0,
        ie=0.0,
        aggregate=0.0,
    )


def aggregate_metrics(metrics: dict[MetricName, float | None], question: Question) -> float:
    """Computes the weighted mean of the metrics available for a question; none is unjudged.

    A metric for which the catalogue lacks the data is left out, for all systems equally. FCS that
    is null because the answer claims nothing counts as 0 with its full weight.
    """
    weights = {
        name: weight
        for name, weight in AGGREGATE_WEIGHTS.items()
        if name in _get_available_metrics(question)
    }
    total = sum(weights.values())
    return sum(weight * (metrics[name] or 0.0) for name, weight in weights.items()) / total


def iteration_efficiency(final: float, rounds: tuple[float, ...], correct: float) -> float:
    """Computes 1 / min(k, 5) for the first correct iteration k.

    It is 0 if no iteration is correct, or if the final answer is not.

    Args:
        final: F1 of the final answer.
        rounds: F1 of each iteration's answer.
        correct: minimum F1 of a correct answer.
    """
    first = next((number for number, f1 in enumerate(rounds, 1) if f1 >= correct), None)
    return 0.0 if first is None or final < correct else 1 / min(first, 5)


def _get_available_metrics(question: Question) -> frozenset[MetricName]:
    """Returns the metrics for which the catalogue has the data of a question."""
    unavailable: set[MetricName] = set()
    if not question.sources:
        unavailable.add("p_at_5")
    if not any(step.fact for step in question.steps):
        unavailable.add("rqs")
    return frozenset(AGGREGATE_WEIGHTS) - unavailable
