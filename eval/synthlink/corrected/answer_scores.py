"""Computes the corrected metrics of one answer, and their aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.synthlink.corrected.answer_match import brevity_factor, match_answer, order_factor
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.pages import score_retrieval
from eval.synthlink.corrected.prose import prose
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.items import Question
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, AnswerScores, MetricName
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
    """Computes the corrected metrics of one answer.

    ``fcs`` is null for an answer that claims nothing, ``rqs`` for a question whose steps have no
    facts.

    Args:
        prediction: the answer.
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        thresholds: settings of the corrected scores.
        pages: source pages used as evidence; None for none.
    """
    answer = prediction.predicted_answer
    claims = judge_claims(answer, question, guard, thresholds, pages)
    refuted = [claim.text for claim in claims if claim.verdict == "contradicted"]
    match = match_answer(answer, question, thresholds, refuted)
    # All answers of one iteration are joined into one: otherwise the best of many guesses would
    # count.
    iteration_f1 = tuple(
        match_answer(". ".join(iteration.answers), question, thresholds).f1
        for iteration in prediction.iterations
    )
    retrieval = score_retrieval(prediction.retrieved_docs, question.sources)
    steps = find_steps_taken(answer, question, thresholds)
    prose_factor = prose(answer, question.answer, thresholds)
    # The factors on RQS are computed on the complete answer, because one fact has too few words to
    # tell whether its words are shuffled or its names strung together.
    form_factor = prose_factor * order_factor(match.order, thresholds) * match.keyword_factor
    length_factor = brevity_factor(answer, question, thresholds)
    n_facts = sum(bool(step.fact) for step in question.steps)
    n_licensed = sum(claim.verdict == "licensed" for claim in claims)
    metrics: dict[MetricName, float | None] = {
        "f1": match.f1,
        "p_at_5": None if retrieval is None else retrieval.precision,
        "rqs": None if steps is None else form_factor * length_factor * len(steps) / n_facts,
        "fcs": n_licensed / len(claims) if claims else None,
        "ie": iteration_efficiency(match.f1, iteration_f1, thresholds.correct),
    }
    return AnswerScores(
        f1=match.f1,
        p_at_5=metrics["p_at_5"],
        recall_at_5=None if retrieval is None else retrieval.recall,
        rqs=metrics["rqs"],
        fcs=metrics["fcs"],
        ie=metrics["ie"],
        aggregate=aggregate_metrics(metrics, question),
        plain_f1=match.plain_f1,
        order=match.order,
        prose=prose_factor,
        named=match.keyword_factor,
        brevity=length_factor,
        steps=tuple(step + 1 for step in steps or ()),
        claims=claims,
        iteration_f1=iteration_f1,
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
    """Computes the weighted mean of the metrics available for a question.

    A metric for which the catalogue lacks the data is left out, for all systems equally. A metric
    that is null because the answer claims nothing counts as 0 with its full weight.
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
