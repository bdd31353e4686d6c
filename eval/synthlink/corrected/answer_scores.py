"""Computes the corrected metrics of one answer, and their aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.pages import score_retrieval
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.word_f1 import compute_word_f1
from eval.synthlink.items import Question
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, AnswerScores, JudgedClaim, MetricName
from eval.synthlink.predictions import Prediction

if TYPE_CHECKING:
    from eval.guard.stream import Guard


def score_corrected(
    prediction: Prediction,
    question: Question,
    guard: Guard | None,
    thresholds: Thresholds,
    pages: SourcePages | None = None,
) -> AnswerScores:
    """Computes the corrected metrics of one answer, without a judge.

    No rule reads whether an answer states the fact of a step, so ``rqs`` is unjudged wherever the
    catalogue states facts.

    Args:
        prediction: the answer.
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        thresholds: settings of the corrected scores.
        pages: source pages used as evidence; None for none.
    """
    f1 = compute_word_f1(prediction.predicted_answer, question)
    # All answers of one iteration are joined into one: otherwise the best of many guesses would
    # count.
    iteration_f1 = tuple(
        compute_word_f1(". ".join(iteration.answers), question)
        for iteration in prediction.iterations
    )
    retrieval = score_retrieval(prediction.retrieved_docs, question.sources)
    scores = AnswerScores(
        f1=f1,
        p_at_5=None if retrieval is None else retrieval.precision,
        recall_at_5=None if retrieval is None else retrieval.recall,
        rqs=None,
        fcs=None,
        ie=iteration_efficiency(f1, iteration_f1, thresholds.correct),
        aggregate=None,
        unjudged_steps=sum(bool(step.fact) for step in question.steps),
        iteration_f1=iteration_f1,
    )
    claims = judge_claims(prediction.predicted_answer, question, guard, pages)
    return set_claims(scores, question, claims)


def set_claims(
    scores: AnswerScores, question: Question, claims: Sequence[JudgedClaim]
) -> AnswerScores:
    """Returns the scores of an answer with these claims, and FCS and aggregate computed from them.

    FCS is the share of licensed claims among those with a verdict. It is null, and unjudged, if no
    claim has one; it is null, and counts as 0 in the aggregate, if the answer claims nothing.
    """
    judged = [claim for claim in claims if claim.verdict != "unjudged"]
    n_licensed = sum(claim.verdict == "licensed" for claim in judged)
    fcs = n_licensed / len(judged) if judged else None
    unjudged: list[MetricName] = []
    if scores.unjudged_steps:
        unjudged.append("rqs")
    if claims and not judged:
        unjudged.append("fcs")
    aggregate = None
    if unjudged:
        unjudged.append("aggregate")
    else:
        metrics: dict[MetricName, float | None] = {
            name: getattr(scores, name) for name in AGGREGATE_WEIGHTS
        }
        aggregate = aggregate_metrics(metrics | {"fcs": fcs}, question)
    return msgspec.structs.replace(
        scores, fcs=fcs, aggregate=aggregate, claims=tuple(claims), unjudged=tuple(unjudged)
    )


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
