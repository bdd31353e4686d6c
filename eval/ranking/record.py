"""The record of a measurement of retrievers: what ``metrics.json`` holds.

Null means that a number could not be had, and ``why`` says why; 0 is always a number measured.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from eval.stats.paired import ALPHA
from eval.stats.shown import IntervalMethod

SCHEMA = "epoche.retrieval/1"
ALL = "all"
"""The group of all questions; the others are the kinds."""

Test = Literal["sign-flip", "mcnemar", "bootstrap", "none"]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of one retriever."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    n: int = 0
    """Questions it is the mean over, or the rate of."""
    why: str = ""
    """Why ``value`` is null."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One retriever, or one variant of the ensemble."""

    params: Any
    """Everything that decides its rankings."""
    measures: dict[str, dict[str, Value]]
    """Group (``all`` or a kind) → measure → value."""
    found_nothing: dict[str, int]
    """How many ``answerable`` and ``unanswerable`` questions it found no chunk for."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first one's value less the second's, on the same questions."""

    group: str
    measure: str
    first: str
    second: str
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
    n: int = 0
    n_differ: int = 0
    """Questions on which the two differ."""
    smallest_found: float | None = None
    """The true difference that so many questions would find four times in five."""
    better: str | None = None
    """Which one is better: the interval leaves out 0 *and* the Holm-adjusted p is below alpha."""


class Ablation(msgspec.Struct, frozen=True):
    """What the difference of two variants answers."""

    first: str
    second: str
    question: str
    """``What does kg add?``: more than nothing, where the difference is above 0."""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """How the ensemble is fused, chosen on the dev questions alone."""

    measure: str
    n: int
    """Dev questions with gold."""
    tried: int
    components: tuple[str, ...]
    weights: tuple[float, ...]
    fusion: str
    """``rrf`` or ``linear``."""
    value: float
    """On dev, which is optimistic: all this was chosen for it."""
    value_untuned: float
    """On dev, of the ensemble of equal weights."""


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """What was searched."""

    run: str
    """The run's hash."""
    n_chunks: int
    config: Any = None
    """How the run was built."""


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked."""

    sha256: str
    split: str
    n: int
    kinds: dict[str, int]
    overlap: dict[str, float]
    """Kind → mean share of a question's content words that its gold holds. Where it is high, word
    search has an easy time."""


class RetrievalReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of ``metrics.json``."""

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
    retrievers: dict[str, Measured]
    comparisons: tuple[Difference, ...]
    variants: dict[str, Measured] = {}
    ablations: tuple[Ablation, ...] = ()
    ablation_comparisons: tuple[Difference, ...] = ()
    tuning: dict[str, Tuning] = {}
    """By the name of what was tuned."""
    notes: tuple[str, ...] = ()
