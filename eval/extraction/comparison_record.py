"""The record of a comparison: several systems on the same samples, held against each other."""

from __future__ import annotations

from typing import Literal

import msgspec

from eval.stats.paired import Discordant
from eval.stats.shown import IntervalMethod

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
    "hallucination_rate",
    "omission_rate",
    "latency_s",
    "cost_usd",
]
"""What a sample has a value of by itself, and so can be compared sample by sample."""

Effect = Literal["", "negligible", "small", "medium", "large"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the ranking by the extraction quality score."""

    system: str
    score: float | None
    low: float | None = None
    high: float | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The first system's mean less the second's, over the samples where both have a value."""

    metric: ComparedMetric
    first: str
    second: str
    n: int = 0
    value_first: float | None = None
    value_second: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"
    test: Literal["mcnemar", "sign-flip", "none"] = "none"
    exact: bool = False
    p: float | None = None
    p_holm: float | None = None
    """``p`` adjusted by Holm over all pairs compared on this metric."""
    discordant: Discordant | None = None
    n_differ: int = 0
    smallest_found: float | None = None
    """The true difference found four times in five at this number of samples and this spread."""
    wilcoxon_p: float | None = None
    """Of Wilcoxon's signed-rank test; beside, not adjusted, decides nothing."""
    wilcoxon_exact: bool = False
    t_statistic: float | None = None
    t_p: float | None = None
    """Of Student's paired t test; beside, not adjusted, decides nothing."""
    cohens_d: float | None = None
    """Of paired differences, d_z; null where they do not vary."""
    cohens_d_pooled: float | None = None
    """Over the pooled deviation of both (over n, not n - 1), as the specification reckons it; null
    where neither varies."""
    effect: Effect = ""
    """The pooled one in a word: negligible below .2, small below .5, medium below .8, large."""
    better: str | None = None
    """Which one is better: the interval leaves out 0 *and* the Holm-adjusted p is below alpha."""


class WinRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often the first system's score of a sample is above the second's."""

    first: str
    second: str
    n: int
    wins: int
    losses: int
    ties: int
    share: float | None
    """Of samples won; null without a sample that both have."""


class ExtractionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons of one set of systems."""

    schema: str = SCHEMA
    ranking: tuple[Standing, ...]
    """Best first by the quality score; without a score last. Neighbours need not differ."""
    pairs: tuple[Compared, ...]
    """By metric, then pair; the first of a pair ranks above the second."""
    win_rates: tuple[WinRate, ...]
    """Each pair both ways round."""
    frontiers: dict[str, tuple[str, ...]]
    """``accuracy_vs_latency``, ``accuracy_vs_cost``: systems that no other beats on both."""
    best_by_metric: dict[str, str | None]
    """Null where nobody has a value, or several share the best."""
    notes: tuple[str, ...] = ()
