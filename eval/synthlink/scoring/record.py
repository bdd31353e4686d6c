"""The record of SynthLink scores: of each question, each category and the whole catalogue.

Null means that a value is undefined, and ``why`` gives the reason. 0 is always a measured value, or
the score of a question without an answer. Equal inputs give equal bytes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from eval.metrics.comparison import Comparison
from eval.stats.estimates import Estimate, IntervalMethod
from eval.stats.paired_tests import ALPHA
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.metrics import AnswerStatus, MetricName, Mode, QuestionScore
from eval.synthlink.predictions import RefusedRow
from eval.synthlink.verdicts.record import JudgeReport

SCHEMA: Final = "epoche.synthlink/3"

UNUSABLE_STATUSES: Final[tuple[AnswerStatus, ...]] = ("missing", "refused")
"""Statuses of questions whose answer is missing or cannot be read."""


class MeanScore(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of a metric over questions, with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    n: int = 0
    """Number of questions that the mean is over."""
    nulls: int = 0
    """Number of questions for which the metric is undefined or unjudged."""
    unjudged: int = 0
    """Number of questions for which the metric is unjudged."""
    lowest: float | None = None
    """The mean over all questions if all that is unjudged were wrong; null if nothing is."""
    highest: float | None = None
    """The mean over all questions if all that is unjudged were right; null if nothing is."""
    why: str = ""
    """Why ``value`` is null."""

    @classmethod
    def from_estimate(
        cls, estimate: Estimate, unjudged: int, bounds: tuple[float, float] | None = None
    ) -> MeanScore:
        """Returns the mean that was estimated, with the number of unjudged questions and bounds."""
        lowest, highest = bounds or (None, None)
        return cls(
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            method=estimate.method,
            n=estimate.n,
            nulls=estimate.missing,
            unjudged=unjudged,
            lowest=lowest,
            highest=highest,
            why=estimate.why,
        )


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Efficiency and aggregate if another minimum F1 made an answer correct."""

    correct: float
    """The minimum F1."""
    ie: float | None
    """Mean over all questions; null if it is unjudged for any of them."""
    aggregate: float | None
    n_correct: int
    """Number of questions whose answer is correct at this minimum, whatever is unjudged."""


class GroupScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a category, or of the whole catalogue."""

    n: int
    """Number of questions, answered or not."""
    answered: int
    abstained: int = 0
    """Number of questions whose answer is blank."""
    coverage: float
    """Share of questions answered."""
    measures: dict[MetricName, MeanScore]
    answered_only: dict[MetricName, float | None]
    """The same means over answered questions only. A system can raise them by answering few
    questions, so they are never used as headline scores."""


class ModeScores(msgspec.Struct, frozen=True, kw_only=True):
    """All scores of one mode."""

    overall: GroupScores
    categories: dict[str, GroupScores]
    questions: tuple[QuestionScore, ...]
    """In the order of the catalogue."""
    sweep: tuple[SweepPoint, ...] = ()
    claims: dict[str, int] = {}
    """Verdict → number of claims, over all answers; corrected mode only."""
    steps: dict[str, int] = {}
    """Verdict → number of facts of steps, over all answers; corrected mode only."""

    @property
    def unjudged_steps(self) -> int:
        """Number of facts of which is not known whether the answer states them."""
        return self.steps.get("unjudged", 0)


class SynthLinkReport(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one file of predictions."""

    schema: str = SCHEMA
    version: str
    n_questions: int
    n_answered: int
    n_abstained: int = 0
    coverage: float
    weights: dict[MetricName, float]
    thresholds: Thresholds
    graph: str
    """The domain with the graph that claims were checked against; empty for none."""
    pages: str = ""
    """Name of the corpus whose source pages were used as evidence; empty for none."""
    judge: JudgeReport | None = None
    """Which models judged claims that nothing else decides, and how reliably; null for none."""
    confidence: float
    resamples: int
    seed: int
    modes: dict[Mode, ModeScores]
    refused: tuple[RefusedRow, ...] = ()
    notes: tuple[str, ...] = ()


class QuestionRepeats(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of all repeats to one question."""

    question_id: str
    category: str
    n_unusable: int
    """Number of repeats without a usable answer; they count as 0."""
    means: dict[MetricName, float | None]
    """Mean of each metric over the repeats where it is defined."""
    spread: dict[MetricName, float | None]
    """Standard deviation of each metric between the repeats; null for less than two values."""
    unjudged: tuple[MetricName, ...] = ()
    """Metrics without a mean because they are unjudged in the repeats with an answer."""


class ModeRepeats(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of all repeats in one mode."""

    means: dict[MetricName, MeanScore]
    """Means over questions of the questions' means, with intervals over questions."""
    by_repeat: dict[MetricName, tuple[float | None, ...]]
    """The mean over questions in each repeat."""
    spread: dict[MetricName, float | None]
    """Standard deviation of ``by_repeat``: how far the system's own variation moves a score."""
    questions: tuple[QuestionRepeats, ...]
    """In the order of the catalogue."""


class RepeatScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a run that asked every question several times."""

    n_repeats: int
    modes: dict[Mode, ModeRepeats]


class QuestionComparison(Comparison, frozen=True, kw_only=True):
    """Two files of predictions on the same questions; ``metric`` is a ``MetricName``.

    ``p_holm`` is adjusted within a mode: for the whole catalogue over metrics and compared files,
    for a category over categories and compared files.
    """

    metric: MetricName
    mode: Mode
    group: str
    """``all`` or a category."""
    alpha: float = ALPHA
