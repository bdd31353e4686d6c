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

ClaimVerdict = Literal["licensed", "contradicted", "unknown", "unjudged"]
"""``unknown``: a judge finds that the evidence leaves the claim open. ``unjudged``: nothing could
judge the claim, so it is part of no denominator."""
VERDICTS: Final[tuple[ClaimVerdict, ...]] = ("licensed", "contradicted", "unknown", "unjudged")
DecidedBy = Literal["graph", "facts", "pages", "nothing", "judge"]
"""The source of a verdict: graph, catalogue's facts, source pages, none, or a judge."""


class JudgedClaim(msgspec.Struct, frozen=True):
    """One claim of an answer."""

    text: str
    verdict: ClaimVerdict
    by: DecidedBy
    """The source of the verdict."""


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
    unjudged_steps: int = 0
    """Number of steps with a fact of which is not known whether the answer states it; corrected
    mode only."""
    claims: tuple[JudgedClaim, ...] = ()
    """Claims of the answer with their verdicts; corrected mode only."""
    iteration_f1: tuple[float, ...] = ()
    """F1 of each iteration's answer, from which efficiency is computed at other thresholds."""


class QuestionScore(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the catalogue, answered or not."""

    question_id: str
    category: str
    status: AnswerStatus
    parts: AnswerScores
    """The scores of the answer. If there is none, all are 0, except metrics for which the catalogue
    lacks the data: these are null."""
