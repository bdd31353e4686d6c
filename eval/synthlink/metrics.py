"""Metrics of one answer in the corrected and the literal mode, and verdicts on its claims."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Mode = Literal["literal", "corrected"]
"""``literal``: the specification's formulas as written. ``corrected``: the metrics as intended."""
MODES: Final[tuple[Mode, ...]] = ("corrected", "literal")

MetricName = Literal["f1", "p_at_5", "recall_at_5", "rqs", "fcs", "ie", "aggregate"]
METRICS: Final[tuple[MetricName, ...]] = (
    "f1", "p_at_5", "recall_at_5", "rqs", "fcs", "ie", "aggregate",
)  # fmt: skip

AGGREGATE_WEIGHTS: Final[dict[MetricName, float]] = {
    "f1": 0.3, "p_at_5": 0.2, "rqs": 0.3, "fcs": 0.1, "ie": 0.1,
}  # fmt: skip
"""Weights of the five metrics in the aggregate, as specified."""

AnswerStatus = Literal["answered", "abstained", "missing", "refused"]
"""``abstained``: the answer is blank. ``missing``: the file has no row on the question.
``refused``: the row could not be used. A question that is not ``answered`` scores 0 and does not
count towards coverage."""

ClaimVerdict = Literal["supported", "contradicted", "not_found", "unjudged"]
"""``not_found``: the evidence says nothing of the claim. ``unjudged``: nothing could judge the
claim, so it is part of no denominator."""
VERDICTS: Final[tuple[ClaimVerdict, ...]] = ("supported", "contradicted", "not_found", "unjudged")
StepVerdict = Literal["stated", "contradicted", "missing", "unjudged"]
"""What an answer says of the fact of a step."""
STEP_VERDICTS: Final[tuple[StepVerdict, ...]] = ("stated", "contradicted", "missing", "unjudged")
DecidedBy = Literal["graph", "facts", "pages", "form", "nothing", "judge"]
"""The source of a verdict: graph, catalogue's facts, source pages, the form of a mere list of
words, none, or a judge."""


class JudgedClaim(msgspec.Struct, frozen=True):
    """One claim of an answer."""

    text: str
    verdict: ClaimVerdict
    by: DecidedBy
    """The source of the verdict."""
    context: str = ""
    """The text before the claim in which "it" or "which" is named; empty if it has no need."""

    @property
    def shown(self) -> str:
        """The claim as a judge is shown it, with its context in square brackets."""
        return f"[{self.context}] {self.text}" if self.context else self.text


class JudgedStep(msgspec.Struct, frozen=True):
    """The fact of one step, and what an answer says of it."""

    number: int
    """Number of the step, from 1; of the sentence of the expected answer if no step has a fact."""
    verdict: StepVerdict
    by: DecidedBy


class AnswerScores(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one answer, each in [0, 1]; null where a metric is undefined."""

    f1: float | None
    p_at_5: float | None
    recall_at_5: float | None
    rqs: float | None
    fcs: float | None
    ie: float | None
    aggregate: float | None
    unjudged: tuple[MetricName, ...] = ()
    """The metrics that are null because steps or claims are unjudged; corrected mode only."""
    bounds: dict[MetricName, tuple[float, float]] = {}
    """Lowest and highest possible value of each metric that depends on what is unjudged; corrected
    mode only."""
    steps: tuple[JudgedStep, ...] = ()
    """The steps with a fact, and what the answer says of it; corrected mode only. If the catalogue
    states no facts, the sentences of the expected answer."""
    claims: tuple[JudgedClaim, ...] = ()
    """Claims of the answer with their verdicts; corrected mode only."""
    iteration_f1: tuple[float | tuple[float, float], ...] = ()
    """F1 of each iteration's answer, from which efficiency is computed at other thresholds; its
    lowest and highest possible value where parts of the answer are unjudged."""

    @property
    def f1_bounds(self) -> tuple[float, float]:
        """F1 if everything unjudged were wrong, and if it were right."""
        return self.bounds.get("f1", (self.f1 or 0.0, self.f1 or 0.0))

    @property
    def unjudged_steps(self) -> int:
        """Number of steps with a fact of which is not known whether the answer states it."""
        return sum(step.verdict == "unjudged" for step in self.steps)


class QuestionScore(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the catalogue, answered or not."""

    question_id: str
    category: str
    status: AnswerStatus
    parts: AnswerScores
    """The scores of the answer. If there is none, all are 0, except metrics for which the catalogue
    lacks the data: these are null."""
