"""How a run is measured: what decides the numbers of a report apart from the replies."""

from __future__ import annotations

from dataclasses import dataclass, field

from eval.extraction.measuring.grades import REQUIREMENTS, Requirements
from eval.extraction.measuring.quality_score import WEIGHTS, Weights
from eval.extraction.record import Average, Invalid, Level
from eval.stats.intervals import RESAMPLES, SEED

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Plan:
    """How a run is measured.

    Attributes:
        resamples: bootstrap resamples, at least 1.
        seed: of their draws.
        confidence: coverage that intervals aim at, within 0 and 1.
        invalid: what a reply that is no valid instance of its schema is worth in the headline.
        average: by which average ``metrics`` shows precision, recall, F1 and rates of fields.
        weights: of the quality score.
        prices: dollars per thousand input and output tokens, for replies whose cost nobody states.
        requirements: what each service level asks for.
        repeats: how often each sample was put to each system.
        names: how many names of fields the breakdown shows, the most frequent ones.
        matching: how fields were compared, in a few words, for the signature.
        notes: what else a reader must know.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = CONFIDENCE
    invalid: Invalid = "zero"
    average: Average = "micro"
    weights: Weights = WEIGHTS
    prices: tuple[float, float] | None = None
    requirements: dict[Level, Requirements] = field(default_factory=lambda: dict(REQUIREMENTS))
    repeats: int = 1
    names: int = 50
    matching: str = "default"
    notes: tuple[str, ...] = ()
