"""The record of an SKN benchmark run: the value of the key ``report`` of ``metrics.json``.

Null means that a number is missing or undefined, and ``why`` gives the reason; 0 is always a
measured number. Formulas are in ``docs/reference/skn.md``. Equal
inputs give equal bytes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eval.metrics.comparison import Comparison
from eval.metrics.metric_value import CalibrationReport, ConfidenceCounts
from eval.stats.estimates import Estimate
from eval.stats.paired_tests import ALPHA

SCHEMA = "epoche.skn/1"

Mode = Literal["corrected", "published"]
"""``metrics.json``, next to the report, contains metrics under their published names. The mode says
whether these follow the corrected or the published definitions. The report itself does not depend
on it."""

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
    "context_tokens_est",
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
"""Every metric by its name in ``metrics``. ``normalized_hallucination`` is the mean over answers
(macro average), ``normalized_hallucination_micro`` all fabricated claims divided by all claims.
``context_tokens_est`` is a quarter of the characters that the agent was given. All other tokens are
counted by the server: ``extraction_tokens`` are those that the extractor wrote, ``agent_…_tokens``
those that the agent read and wrote, ``tokens`` those of all calls of a row."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of one pipeline ended."""

    rows: int
    answered: int
    abstained: int
    invalid: int
    error: int
    unjudged: int
    """Answers with a missing verdict, for any reason."""
    stages: dict[str, int] = {}
    """Stage at which INVALID and ERROR rows ended → number of rows."""
    judge_failures: dict[str, int] = {}
    """Failed votes by judge."""
    abstention_read: dict[str, int] = {}
    """``field``: rows with a structured field for abstention; ``text``: rows
    without one, which are classified by their wording."""
    true_positives: int = 0
    """Abstained on a sample without an answer."""
    false_positives: int = 0
    """Abstained on a sample with an answer."""
    false_negatives: int = 0
    """Answered a sample without an answer."""
    true_negatives: int = 0
    """Answered a sample with an answer."""


class PipelineReport(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers of one pipeline."""

    outcomes: Outcomes
    metrics: dict[str, Estimate]
    """``Metric`` → value, over all samples."""
    per_category: dict[str, dict[str, Estimate]]
    """Category → the metrics of ``metric_definitions.CATEGORY_METRICS`` → value."""
    validity: dict[str, Estimate]
    """How an extraction was parsed (``strict``, ``tolerant``, ``repaired``, ``unreadable``) → share
    of the extractions."""
    retention: dict[str, Estimate] = {}
    """Kind of content (facts, negations, numbers, names, hedges) → share of it that the format
    kept."""
    confidences: ConfidenceCounts
    """How many judged answers to answerable samples state a confidence."""
    calibration: CalibrationReport | None = None
    """Calibration of these confidences, with the ECE that a perfectly calibrated system would
    have by chance. Null if no confidence is stated."""


class Pair(msgspec.Struct, frozen=True):
    """Two pipelines, and the question that their difference answers."""

    candidate: str
    baseline: str
    question: str


class SknReport(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers of one run."""

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
    """Category → number of samples."""
    pipelines: dict[str, PipelineReport]
    pairs: tuple[Pair, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    """Sorted by metric, then by pair; ``p_holm`` is adjusted over the pairs of a metric."""
    judges: Any = None
    """Agreement of the judges (``eval.skn.judges.agreement.Agreement``); null if not measured."""
    same_judge: bool = False
    """Whether the same model answered and judged."""
    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 12345
    alpha: float = ALPHA
    notes: tuple[str, ...] = ()
    """What to know before quoting the numbers, in plain sentences."""
    rows_sha256: str = ""
    """SHA-256 of the rows that it was computed from."""
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""
