"""Defines the record of a comparison of several systems on the same samples (JSON format)."""

from __future__ import annotations

from typing import Literal

import msgspec

from eval.metrics.comparison import Comparison

SCHEMA = "epoche.extraction-comparison/1"

ComparedMetric = Literal[
    "extraction_quality_score",
    "schema_validity",
    "exact_match",
    "field_f1_strict",
    "field_f1_partial",
    "field_f1_lenient",
    "field_precision_partial",
    "field_recall_partial",
    "type_accuracy",
    "field_accuracy_macro",
    "hallucination_rate",
    "omission_rate",
    "latency_s",
    "cost_usd",
]
"""Metrics that have a value for each single sample, so that systems can be compared in pairs."""

EffectLabel = Literal["", "negligible", "small", "medium", "large"]


class RankedSystem(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the ranking by the run's headline metric."""

    system: str
    score: float | None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    """The score if nothing were right in what the failed calls would have returned; ranks."""
    missing: int = 0
    """Number of failed calls that are left out of the score."""


class SampleComparison(Comparison, frozen=True, kw_only=True):
    """Two systems on one metric, over the samples where both have a value.

    ``p_holm`` is adjusted over all pairs compared on this metric.
    """

    metric: ComparedMetric
    wilcoxon_p: float | None = None
    """p value of Wilcoxon's signed-rank test; not adjusted, for information only."""
    wilcoxon_exact: bool = False
    t_statistic: float | None = None
    t_p: float | None = None
    """p value of Student's paired t test; not adjusted, for information only."""
    cohens_d: float | None = None
    """d_z of the paired differences; null if they do not vary."""
    cohens_d_pooled: float | None = None
    """Cohen's d with the pooled standard deviation (division by n, not n - 1), as the specification
    defines it; null if neither system's values vary."""
    effect: EffectLabel = ""
    """Word for ``cohens_d_pooled``: negligible below 0.2, small below 0.5, medium below 0.8, else
    large."""


class WinRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often the candidate's score of a sample is above the baseline's."""

    candidate: str
    baseline: str
    n: int
    wins: int
    losses: int
    ties: int
    share: float | None
    """Share of samples won; null if no sample has both values."""


class ExtractionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons between the systems of one run."""

    schema: str = SCHEMA
    ranking: tuple[RankedSystem, ...]
    """Best score first, with failed calls at their worst; systems without a score last. The
    difference between neighbours need not be significant."""
    pairs: tuple[SampleComparison, ...]
    """Sorted by metric, then pair; the candidate of a pair ranks above the baseline."""
    win_rates: tuple[WinRate, ...]
    """One entry for each ordered pair, so each pair of systems occurs twice."""
    frontiers: dict[str, tuple[str, ...]]
    """``accuracy_vs_latency`` and ``accuracy_vs_cost``: the systems on the Pareto frontier."""
    best_by_metric: dict[str, str | None]
    """Criterion → best system; null if no system has a value, or if several share the best one."""
    notes: tuple[str, ...] = ()
    rows_sha256: str = ""
    """SHA-256 of the rows that it was computed from."""
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""
