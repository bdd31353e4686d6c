"""The corrected measures of one answer, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.synthlink.corrected.answers import brevity, match, together
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.pages import retrieval
from eval.synthlink.corrected.prose import prose
from eval.synthlink.corrected.steps import steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.measures import WEIGHTS, Measure, Parts
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question

if TYPE_CHECKING:
    from eval.guard.stream import Guard


def score_corrected(
    prediction: Prediction,
    question: Question,
    guard: Guard | None,
    bar: Thresholds,
    pages: SourcePages | None = None,
) -> Parts:
    """The measures of one answer.

    ``fcs`` is null for an answer that claims nothing, and ``rqs`` where the catalogue states no
    facts.
    """
    answer = prediction.predicted_answer
    claims = judge_claims(answer, question, guard, bar, pages)
    refuted = [claim.text for claim in claims if claim.verdict == "contradicted"]
    found = match(answer, question, bar, refuted)
    # All that one round answers is one answer: else it could name everything it can think of.
    rounds = tuple(match(". ".join(one.answers), question, bar).f1 for one in prediction.iterations)
    retrieved = retrieval(prediction.retrieved_docs, question.sources)
    steps = steps_taken(answer, question, bar)
    flow = prose(answer, question.answer, bar)
    # A fact has too few words to tell whether they, or names, were thrown together; the answer has
    # enough.
    told = flow * together(found.order, bar) * found.named
    brief = brevity(answer, question, bar)
    n_facts = sum(bool(step.fact) for step in question.steps)
    licensed = sum(claim.verdict == "licensed" for claim in claims)
    measures: dict[Measure, float | None] = {
        "f1": found.f1,
        "p_at_5": None if retrieved is None else retrieved.precision,
        "rqs": None if steps is None else told * brief * len(steps) / n_facts,
        "fcs": licensed / len(claims) if claims else None,
        "ie": efficiency(found.f1, rounds, bar.correct),
    }
    return Parts(
        f1=found.f1,
        p_at_5=measures["p_at_5"],
        recall_at_5=None if retrieved is None else retrieved.recall,
        rqs=measures["rqs"],
        fcs=measures["fcs"],
        ie=measures["ie"],
        aggregate=aggregate(measures, question),
        plain_f1=found.plain,
        order=found.order,
        prose=flow,
        named=found.named,
        brevity=brief,
        steps=tuple(step + 1 for step in steps or ()),
        claims=claims,
        iteration_f1=rounds,
    )


def unanswered(question: Question) -> Parts:
    """What a question without an answer is worth: nothing, in every measure there is for it."""
    held = _held(question)
    zeros = {name: 0.0 if name in held else None for name in WEIGHTS}
    return Parts(
        f1=0.0,
        p_at_5=zeros["p_at_5"],
        recall_at_5=zeros["p_at_5"],
        rqs=zeros["rqs"],
        fcs=0.0,
        ie=0.0,
        aggregate=0.0,
    )


def aggregate(measures: dict[Measure, float | None], question: Question) -> float:
    """The weighted mean of the parts that the catalogue has for this question.

    What the catalogue lacks takes no part, for any system alike. What an answer lacks (it claims
    nothing) is worth 0 and keeps its weight.
    """
    held = {name: weight for name, weight in WEIGHTS.items() if name in _held(question)}
    total = sum(held.values())
    return sum(weight * (measures[name] or 0.0) for name, weight in held.items()) / total


def efficiency(final: float, rounds: tuple[float, ...], correct: float) -> float:
    """1 / min(k, 5) for the first correct iteration k; 0 where none, or not the answer, is correct.

    Args:
        final: F1 of the answer: what was found and lost again was not found quickly.
        rounds: F1 of each iteration's answer.
        correct: F1 from which an answer is correct.
    """
    first = next((number for number, f1 in enumerate(rounds, 1) if f1 >= correct), None)
    return 0.0 if first is None or final < correct else 1 / min(first, 5)


def _held(question: Question) -> frozenset[Measure]:
    """Parts that the catalogue has for a question."""
    lacking: set[Measure] = set()
    if not question.sources:
        lacking.add("p_at_5")
    if not any(step.fact for step in question.steps):
        lacking.add("rqs")
    return frozenset(WEIGHTS) - lacking
