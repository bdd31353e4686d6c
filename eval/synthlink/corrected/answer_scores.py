"""Computes the corrected metrics of one answer, and their aggregate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.completeness import judge_steps
from eval.synthlink.corrected.claim_f1 import (
    Share,
    compute_claim_f1,
    is_expected_answer,
    list_claims,
    measure_share,
)
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.pages import score_retrieval
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.items import Question
from eval.synthlink.metrics import (
    AGGREGATE_WEIGHTS,
    AnswerScores,
    JudgedClaim,
    JudgedStep,
    MetricName,
)
from eval.synthlink.predictions import Prediction
from eval.synthlink.verdicts.score_update import apply_to_claims, apply_to_steps

if TYPE_CHECKING:
    from eval.guard.stream import Guard
    from eval.synthlink.verdicts.record import Judgement
    from kg.knowledge import KnowledgeBase

_PAGE_METRICS: Final[tuple[MetricName, ...]] = ("p_at_5", "recall_at_5")
_DEFAULT_THRESHOLDS: Final = Thresholds()
_MAX_JUDGED_TEXTS: Final = 256
"""Maximum number of texts on one question whose verdicts are kept."""
_MAX_READERS: Final = 128
"""Maximum number of questions whose readers are kept."""


class AnswerVerdicts(NamedTuple):
    """What is known of one text: the final answer, or the answers of an iteration."""

    answer: str
    claims: tuple[JudgedClaim, ...]
    steps: tuple[JudgedStep, ...]


class AnswerReader:
    """The evidence on one question, by which texts are judged without a model, each text once.

    Args:
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        pages: source pages used as evidence; None for none.
    """

    def __init__(
        self, question: Question, guard: Guard | None, pages: SourcePages | None = None
    ) -> None:
        self._question = question
        self._guard = guard
        self._pages = pages
        self._decider = ClaimDecider(question, pages)
        self._judged: dict[str, AnswerVerdicts] = {}

    def judge_answer(self, answer: str) -> AnswerVerdicts:
        """Judges the claims of a text, and what it says of the expected facts."""
        if answer not in self._judged:
            if len(self._judged) == _MAX_JUDGED_TEXTS:
                self._judged.clear()
            self._judged[answer] = self._judge_answer(answer)
        return self._judged[answer]

    def _judge_answer(self, answer: str) -> AnswerVerdicts:
        question, decider = self._question, self._decider
        return AnswerVerdicts(
            answer,
            judge_claims(answer, question, self._guard, self._pages, decider),
            judge_steps(answer, list_claims(answer, question), question, decider, self._guard),
        )

    def list_iterations(self, prediction: Prediction) -> list[AnswerVerdicts]:
        """Judges the answers of each iteration.

        All answers of one iteration are joined into one: otherwise the best of many guesses would
        count.
        """
        texts = [". ".join(iteration.answers) for iteration in prediction.iterations]
        return [self.judge_answer(text) for text in texts]


def open_reader(
    question: Question, guard: Guard | None, pages: SourcePages | None = None
) -> AnswerReader:
    """Returns the reader of a question, within ``keep_readers`` the same one for equal evidence.

    Args:
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        pages: source pages used as evidence; None for none.
    """
    kept = _kept.get()
    if kept is None:
        return AnswerReader(question, guard, pages)
    found = None if pages is None else pages.find_pages(question)
    evidence = _Evidence(msgspec.json.encode((question, found)), guard)
    if evidence not in kept.readers:
        if len(kept.readers) == _MAX_READERS:
            kept.readers.clear()
        kept.readers[evidence] = AnswerReader(question, guard, pages)
    return kept.readers[evidence]


def open_guard(knowledge: KnowledgeBase | None) -> Guard | None:
    """Returns the guard of a graph, within ``keep_readers`` the same one; None for no graph."""
    from eval.guard.stream import Guard

    if knowledge is None:
        return None
    kept = _kept.get()
    if kept is None:
        return Guard(knowledge)
    if knowledge not in kept.guards:
        kept.guards[knowledge] = Guard(knowledge)
    return kept.guards[knowledge]


@contextmanager
def keep_readers() -> Iterator[None]:
    """Keeps guards and readers until the end of the block, or of the one around it.

    A command scores many systems on the same questions, and reads and compares the same answers
    several times. Graphs and pages are large, so that nothing is kept after it.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(_KeptReaders())
    try:
        yield
    finally:
        _kept.reset(token)


@dataclass(frozen=True)
class _Evidence:
    """The evidence on a question, equal to other evidence of the same contents and guard."""

    contents: bytes
    guard: Guard | None


@dataclass(frozen=True)
class _KeptReaders:
    """The guards of graphs and the readers of questions that are kept."""

    guards: dict[KnowledgeBase, Guard] = field(default_factory=dict)
    readers: dict[_Evidence, AnswerReader] = field(default_factory=dict)


_kept: ContextVar[_KeptReaders | None] = ContextVar("kept_readers", default=None)


def score_corrected(
    prediction: Prediction,
    question: Question,
    guard: Guard | None,
    thresholds: Thresholds,
    pages: SourcePages | None = None,
    judgement: Judgement | None = None,
) -> AnswerScores:
    """Computes the corrected metrics of one answer.

    Args:
        prediction: the answer.
        question: the question answered.
        guard: stream guard of the catalogue's graph; None for none.
        thresholds: settings of the corrected scores.
        pages: source pages used as evidence; None for none.
        judgement: a judge's verdicts on what nothing else decides; None for no judge.
    """
    reader = open_reader(question, guard, pages)
    found = reader.judge_answer(prediction.predicted_answer)
    rounds = reader.list_iterations(prediction)
    if judgement is not None:
        found = _apply_to_answer(found, question, judgement)
        rounds = [_apply_to_answer(one, question, judgement) for one in rounds]
    retrieval = score_retrieval(
        prediction.retrieved_docs, question.sources, prediction.list_opened()
    )
    scores = AnswerScores(
        f1=_compute_f1(found, question).value,
        p_at_5=None if retrieval is None else retrieval.precision,
        recall_at_5=None if retrieval is None else retrieval.recall,
        rqs=None,
        fcs=None,
        ie=None,
        aggregate=None,
        bounds={} if retrieval is None else retrieval.list_bounds(),
        iteration_f1=tuple(
            share.low if share.low == share.high else (share.low, share.high)
            for share in (_compute_f1(one, question) for one in rounds)
        ),
    )
    return set_verdicts(scores, question, found.claims, found.steps, thresholds)


def _compute_f1(found: AnswerVerdicts, question: Question) -> Share:
    if not found.claims and is_expected_answer(found.answer, question):
        return Share(1.0, 1.0, 1.0)  # "Carthage" claims nothing beyond "Rome or Carthage?".
    return compute_claim_f1(found.claims, found.steps, question)


def _apply_to_answer(
    found: AnswerVerdicts, question: Question, judgement: Judgement
) -> AnswerVerdicts:
    return AnswerVerdicts(
        found.answer,
        apply_to_claims(found.claims, question, judgement),
        apply_to_steps(found.steps, question, found.answer, judgement),
    )


def apply_verdicts(
    scores: AnswerScores,
    question: Question,
    answer: str,
    judgement: Judgement,
    thresholds: Thresholds = _DEFAULT_THRESHOLDS,
) -> AnswerScores:
    """Applies a judge's verdicts to the unjudged claims and steps of a final answer.

    What is decided without a judge is unchanged. What has no verdict from the judge stays unjudged.
    The F1 of iterations is not changed.

    Args:
        scores: scores of the answer without a judge.
        question: the question answered.
        answer: the answer.
        judgement: the judge's verdicts.
        thresholds: settings of the corrected scores.
    """
    found = _apply_to_answer(
        AnswerVerdicts(answer, scores.claims, scores.steps), question, judgement
    )
    return set_verdicts(scores, question, found.claims, found.steps, thresholds)


def set_verdicts(
    scores: AnswerScores,
    question: Question,
    claims: Sequence[JudgedClaim],
    steps: Sequence[JudgedStep],
    thresholds: Thresholds = _DEFAULT_THRESHOLDS,
) -> AnswerScores:
    """Returns the scores of an answer with these verdicts, and all that is computed from them.

    FCS and RQS are shares of the claims and facts with a verdict, and are null, and unjudged, if
    none has one. F1 and IE are null, and unjudged, if they depend on anything without a verdict;
    so is the aggregate if any of its parts is, or any fact. FCS is null, and counts as 0 in the
    aggregate, if the answer claims nothing. The bounds are the values if everything unjudged were
    wrong, or right.
    """
    f1 = compute_claim_f1(claims, steps, question)
    if not claims and scores.f1 is not None:
        f1 = Share(scores.f1, scores.f1, scores.f1)
    has_steps = any(step.fact for step in question.steps)
    shares: dict[MetricName, Share] = {
        "f1": f1,
        "fcs": measure_share([claim.verdict for claim in claims], "supported"),
        "rqs": measure_share([step.verdict for step in steps if has_steps], "stated"),
        "ie": iteration_efficiency((f1.low, f1.high), scores.iteration_f1, thresholds.correct),
    }
    bounds = {name: scores.bounds[name] for name in _PAGE_METRICS if name in scores.bounds}
    unjudged: list[MetricName] = list(bounds)
    for name, share in shares.items():
        if share.low < share.high:
            bounds[name] = (share.low, share.high)
            if share.value is None:
                unjudged.append(name)
    values: dict[str, float | None] = {name: share.value for name, share in shares.items()}
    metrics: dict[MetricName, float | None] = {
        name: values[name] if name in values else getattr(scores, name)
        for name in AGGREGATE_WEIGHTS
    }
    if bounds:
        lowest, highest = (
            aggregate_metrics(
                metrics | {name: ends[end] for name, ends in bounds.items()}, question
            )
            for end in (0, 1)
        )
        bounds["aggregate"] = (lowest, highest)
    aggregate = None
    if unjudged or "rqs" in bounds:
        unjudged.append("aggregate")
    else:
        aggregate = aggregate_metrics(metrics, question)
    return msgspec.structs.replace(
        scores,
        **values,
        aggregate=aggregate,
        bounds=bounds,
        claims=tuple(claims),
        steps=tuple(steps),
        unjudged=tuple(unjudged),
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


def iteration_efficiency(
    final: float | tuple[float, float],
    rounds: Sequence[float | tuple[float, float]],
    correct: float,
) -> Share:
    """Computes 1 / min(k, 5) for the first correct iteration k.

    It is 0 if no iteration is correct, or if the final answer is not. The value is null if it
    depends on what is unjudged.

    Args:
        final: F1 of the final answer; its lowest and highest value if parts are unjudged.
        rounds: F1 of each iteration's answer, in the same form.
        correct: minimum F1 of a correct answer.
    """
    ends = []
    for end in (0, 1):
        first = next(
            (number for number, f1 in enumerate(rounds, 1) if _get_end(f1, end) >= correct), None
        )
        is_wrong = first is None or _get_end(final, end) < correct
        ends.append(0.0 if first is None or is_wrong else 1 / min(first, 5))
    low, high = ends
    return Share(low if low == high else None, low, high)


def _get_end(f1: float | tuple[float, float], end: int) -> float:
    return f1[end] if isinstance(f1, tuple) else f1


def _get_available_metrics(question: Question) -> frozenset[MetricName]:
    """Returns the metrics for which the catalogue has the data of a question."""
    unavailable: set[MetricName] = set()
    if not question.sources:
        unavailable.add("p_at_5")
    if not any(step.fact for step in question.steps):
        unavailable.add("rqs")
    return frozenset(AGGREGATE_WEIGHTS) - unavailable
