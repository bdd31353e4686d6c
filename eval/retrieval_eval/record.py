"""Defines the record of a retrieval evaluation, which is written to ``metrics.json``.

Null means that a value is undefined, and ``why`` gives the reason. A 0 is always a computed value.
"""

from __future__ import annotations

from typing import Any

import msgspec

from eval.metrics.comparison import Comparison
from eval.stats.estimates import IntervalMethod
from eval.stats.paired_tests import ALPHA

SCHEMA = "epoche.retrieval/1"
ALL_QUESTIONS = "all"
"""Name of the group of all questions; the other groups are the kinds."""


class MetricEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one metric of one retriever."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    n: int = 0
    """Number of questions behind the mean or rate."""
    why: str = ""
    """Why ``value`` is null."""


class RetrieverMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one retriever or one variant of the ensemble."""

    params: Any
    """Everything that determines its rankings."""
    measures: dict[str, dict[str, MetricEstimate]]
    """Group (``all`` or a kind) → metric → value."""
    found_nothing: dict[str, int]
    """Number of ``answerable`` and ``unanswerable`` questions without any chunk found."""


class RetrieverComparison(Comparison, frozen=True, kw_only=True):
    """Two retrievers on the same questions.

    ``p_holm`` is adjusted for each metric, over all pairs, and for kinds over pairs and kinds.
    """

    group: str
    """``all`` or a kind."""


class Ablation(msgspec.Struct, frozen=True):
    """A comparison of two variants, and the question that their difference answers."""

    candidate: str
    baseline: str
    question: str
    """Such as ``What does kg add?``. If the difference is above 0, it is a gain."""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """How a fusion was tuned on the dev questions."""

    measure: str
    n: int
    """Number of dev questions with gold."""
    tried: int
    """Number of settings tried."""
    components: tuple[str, ...]
    weights: tuple[float, ...]
    fusion: str
    """``rrf`` or ``linear``."""
    value: float
    """The metric on dev; optimistic, because the setting was chosen to maximise it."""
    value_untuned: float
    """The metric on dev with equal weights."""


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """The chunks that were searched."""

    run: str
    """The run's hash."""
    n_chunks: int
    config: Any = None
    """How the run was built."""


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    """The questions that were evaluated."""

    sha256: str
    split: str
    n: int
    kinds: dict[str, int]
    overlap: dict[str, float]
    """Kind → mean share of a question's content words that occur in its gold chunks. A high share
    makes the questions easy for retrieval by words."""


class RetrievalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``metrics.json``."""

    schema: str = SCHEMA
    version: str
    signature: str
    corpus: Corpus
    questions: QuestionSet
    depth: int
    confidence: float
    resamples: int
    seed: int
    alpha: float = ALPHA
    measures: tuple[str, ...]
    baselines: tuple[str, ...]
    retrievers: dict[str, RetrieverMetrics]
    comparisons: tuple[RetrieverComparison, ...]
    variants: dict[str, RetrieverMetrics] = {}
    ablations: tuple[Ablation, ...] = ()
    ablation_comparisons: tuple[RetrieverComparison, ...] = ()
    tuning: dict[str, Tuning] = {}
    """Name of the tuned fusion → its tuning."""
    notes: tuple[str, ...] = ()
