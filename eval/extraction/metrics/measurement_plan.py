"""Defines the settings that determine the numbers of a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eval.extraction.metrics.grades import REQUIREMENTS, Requirements
from eval.extraction.metrics.quality_score import DEFAULT_WEIGHTS, ScoreWeights
from eval.extraction.record import Average, Headline, Invalid, Level
from eval.stats.bootstrap import RESAMPLES, SEED

CONFIDENCE = 0.95

Failed = Literal["left_out", "zero"]
"""How failed calls and missing predictions count. ``left_out``: accuracy is measured over the calls
that returned, with bounds for all replies to the others. ``zero``: nothing of them is right."""


@dataclass(frozen=True)
class MeasurementPlan:
    """Settings that determine the metrics of a run.

    Attributes:
        resamples: number of bootstrap resamples, at least 1.
        seed: seed of the resamples.
        confidence: nominal coverage of intervals, between 0 and 1.
        invalid: policy of the headline metrics for replies that are invalid under their schema.
        failed: how failed calls, and predictions that are missing, count in accuracy.
        headline: metric that ranks the systems and opens the report.
        average: average used in ``metrics`` for precision, recall, F1 and rates of fields.
        weights: weights of the quality score.
        prices: dollars per thousand input and output tokens, for replies without a stated cost.
        requirements: requirements by service level.
        repeats: number of repeats of each sample per system.
        max_names: number of field names in the breakdown, the most frequent ones.
        matching: short description of the match settings, for the signature.
        notes: further notes for readers of the report.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = CONFIDENCE
    invalid: Invalid = "zero"
    failed: Failed = "left_out"
    headline: Headline = "extraction_quality_score"
    average: Average = "micro"
    weights: ScoreWeights = DEFAULT_WEIGHTS
    prices: tuple[float, float] | None = None
    requirements: dict[Level, Requirements] = field(default_factory=lambda: dict(REQUIREMENTS))
    repeats: int = 1
    max_names: int = 50
    matching: str = "default"
    notes: tuple[str, ...] = ()
