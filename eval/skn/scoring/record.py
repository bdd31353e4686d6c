"""The record of SKN against JSON: what the key ``report`` of ``metrics.json`` holds.

Null means that a number could not be had, and ``why`` says why; 0 is always a number measured.
Formulas are in ``docs/metrics.md``, section "SKN against JSON". Equal inputs give equal bytes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eval.metrics.record import CalibrationReport, ConfidenceCounts
from eval.stats.paired import ALPHA, Discordant
from eval.stats.shown import IntervalMethod, Value

SCHEMA = "epoche.skn/1"

Mode = Literal["corrected", "published"]
"""Whose definitions the seed's keys beside the report follow; the report's own never change."""

Test = Literal["mcnemar", "sign-flip", "bootstrap", "none"]

Metric = Literal[
    "accuracy",
    "ece",
    "ece_equal_mass",
    "brier",
    "mean_confidence",
    "confidence_when_correct",
    "confidence_when_wrong",
    "hallucination_rate",
    "hallucination_severity",
    "normalized_hallucination",
    "normalized_hallucination_micro",
    "claims_per_answer",
    "groundedness",
    "unsupported_fraction",
    "answered",
    "abstention_accuracy",
    "abstention_precision",
    "abstention_recall",
    "abstention_f1",
    "context_chars",
    "extraction_tokens",
    "agent_prompt_tokens",
    "agent_completion_tokens",
    "tokens",
    "latency_mean_s",
    "latency_p50_s",
    "latency_p95_s",
    "extraction_latency_s",
    "reasoning_latency_s",
]
"""Every metric by the name it has in ``metrics``. ``normalized_hallucination`` is the mean over
answers (macro), ``…_micro`` all fabricated claims over all claims. Tokens are the server's count:
what the extractor wrote, what the agent read and wrote, and all calls of the row together."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of one pipeline ended."""

    rows: int
    answered: int
    abstained: int
    invalid: int
    error: int
    unjudged: int
    """Answers that a judge ought to have judged and that lack a verdict, for any reason."""
    stages: dict[str, int] = {}
    """Where INVALID and ERROR rows ended → how many."""
    judge_failures: dict[str, int] = {}
    """Failed judgements by judge."""
    abstention_read: dict[str, int] = {}
    """``field``: rows whose structured field said whether they abstain; ``text``: rows without
    one, read by words."""
    true_positives: int = 0
    """Abstained, and the sample has no answer."""
    false_positives: int = 0
    """Abstained, though the sample has one."""
    false_negatives: int = 0
    """Answered, though the sample has no answer."""
    true_negatives: int = 0


class PipelineReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of one pipeline's numbers."""

    outcomes: Outcomes
    metrics: dict[str, Value]
    """``Metric`` → value, over all samples."""
    per_category: dict[str, dict[str, Value]]
    """Category → the metrics of ``measures.BY_CATEGORY`` → value."""
    validity: dict[str, Value]
    """``strict``, ``tolerant``, ``repaired``, ``unreadable`` → share of extractions that came."""
    retention: dict[str, Value] = {}
    """What the format kept of the text, by sort: facts, negations, numbers, names, hedges."""
    confidences: ConfidenceCounts
    """On how many judged answers to answerable samples a confidence is stated."""
    calibration: CalibrationReport | None = None
    """What they are worth, with the ECE that a perfectly calibrated system would show by chance.
    Null where none is stated."""


class Pair(msgspec.Struct, frozen=True):
    """Two pipelines, and what their difference answers."""

    first: str
    second: str
    question: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first pipeline's value less the second's, on the same samples."""

    first: str
    second: str
    metric: str
    value_first: float | None
    value_second: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: Test = "none"
    exact: bool = False
    p: float | None = None
    p_holm: float | None = None
    """``p`` adjusted by Holm over all pairs compared on this metric."""
    discordant: Discordant | None = None
    """The 2×2 table, where each sample says yes or no once: only_a is the first's."""
    n: int = 0
    """Samples with a value of both; where only all samples together have one, all of them."""
    n_differ: int = 0
    """Of them, those on which the two differ; 0 where no sample alone has a value."""
    smallest_found: float | None = None
    """The true difference that four times in five gives an unadjusted p below ``alpha``, at this
    number of samples and this spread. Holm's adjustment asks for a greater one."""
    better: str | None = None
    """Which one is better: the interval leaves out 0 *and* the Holm-adjusted p is below alpha.
    Null when the data cannot tell, and for metrics that only describe."""


class SknReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every number of one run."""

    schema: str = SCHEMA
    version: str
    signature: str
    mode: Mode = "corrected"
    samples: str
    """First 12 hex digits of the hash over the ids, categories and answerability of the samples."""
    n_samples: int
    n_answerable: int
    repeats: int = 1
    categories: dict[str, int]
    """Category → samples."""
    pipelines: dict[str, PipelineReport]
    pairs: tuple[Pair, ...] = ()
    comparisons: tuple[Difference, ...] = ()
    """By metric, then pair."""
    judges: Any = None
    """Agreement of the judges, as ``eval/skn/judges`` makes it; null where nobody judged twice."""
    same_judge: bool = False
    """Whether the model that answered also judged."""
    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 12345
    alpha: float = ALPHA
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know, in plain sentences."""
