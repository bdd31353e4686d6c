"""Defines the report of structured extraction: every number of a run, by system (JSON format).

Null means that a number is undefined, and ``why`` gives the reason; 0 is always a measured value.
Formulas are in ``docs/reference/extraction.md``. Equal inputs give equal bytes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from eval.extraction.schemas.violations import InvalidReason
from eval.metrics.metric_value import CalibrationReport, ConfidenceCounts, FieldRisk
from eval.stats.estimates import BoxPlot as BoxPlot
from eval.stats.estimates import Estimate as Estimate
from eval.stats.estimates import IntervalMethod

SCHEMA = "epoche.extraction/1"

Mode = Literal["strict", "partial", "lenient"]
Average = Literal["micro", "macro", "weighted"]
"""``micro``: all fields pooled; ``macro``: mean over samples; ``weighted``: by expected fields."""

Invalid = Literal["zero", "as_is"]
"""``zero``: all fields of an invalid reply are wrong; ``as_is``: they are scored as usual."""

Metric = Literal[
    "extraction_quality_score",
    "extraction_quality_score_micro",
    "schema_validity",
    "exact_match",
    "exact_match_of_valid",
    "field_precision_strict",
    "field_recall_strict",
    "field_f1_strict",
    "field_precision_partial",
    "field_recall_partial",
    "field_f1_partial",
    "field_precision_lenient",
    "field_recall_lenient",
    "field_f1_lenient",
    "field_f1_literal",
    "schema_validity_literal",
    "exact_match_literal",
    "field_accuracy",
    "field_accuracy_macro",
    "right_rate",
    "wrong_rate",
    "left_out_rate",
    "invented_rate",
    "forbidden_null_rate",
    "type_accuracy",
    "hallucination_rate",
    "fabricated_value_rate",
    "not_found_literally_rate",
    "quote_precision",
    "quote_recall",
    "omission_rate",
    "latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", "latency_min_s",
    "latency_max_s",
    "throughput_rps",
    "token_efficiency",
    "cost_usd_per_sample",
    "success_rate",
    "parse_failure_rate",
    "schema_failure_rate",
    "timeout_rate",
    "retry_rate",
    "reliability_score",
    "exact_match_consistency",
    "field_level_consistency",
    "value_variance",
    "expected_calibration_error",
]  # fmt: skip
"""Every scalar metric by its name in ``metrics``; those with three averages by the plan's."""

Headline = Literal["extraction_quality_score", "field_accuracy_macro"]

Dimension = Literal["type", "depth", "name", "required", "complexity", "domain", "language"]
"""What numbers are broken down by. The first four group fields, the last three group samples."""

Severity = Literal["critical", "moderate", "minor"]

Level = Literal["minimum", "target", "excellence"]
"""Service levels of the specification."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one system's rows by outcome. The last five add up to ``rows``."""

    rows: int
    scored: int
    """Rows that count in accuracy: all, or all except failed calls."""
    ok: int
    invalid: int
    unparsable: int
    error: int
    nulls: int = 0
    """Valid but for nulls where the schema allows none."""

    @property
    def valid(self) -> int:
        """Valid replies, with or without such nulls."""
        return self.ok + self.nulls


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the extraction quality score."""

    weight: float
    """The weights of all parts add up to 1."""
    value: float | None
    """Micro average of the part as it enters the score (for hallucination: 1 − rate)."""
    macro: float | None
    """Mean over the samples that have a score; the weighted sum of these is the headline score."""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The extraction quality score with its parts."""

    score: Estimate
    micro: Estimate
    """The same formula applied to the micro averages of the parts."""
    components: dict[str, Component]
    """``schema_validity``, ``field_f1_partial``, ``type_accuracy``, ``no_hallucination``."""
    interpretation: str
    """Word for the headline (``rated``), or those that its interval spans; empty if it has none."""
    meaning: str = ""
    rated: Headline = "extraction_quality_score"


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A count and its share of a total, with an interval."""

    count: int
    share: float | None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod = "none"


class ScoreBin(msgspec.Struct, frozen=True, kw_only=True):
    """One bin of a distribution of scores: [low, high), the last one [low, 1]."""

    name: str = ""
    low: float
    high: float
    count: int
    share: float | None


class ScoreDistribution(msgspec.Struct, frozen=True, kw_only=True):
    """Distribution of scores in [0, 1], counted by hundredth."""

    n: int
    mean: float | None
    median: float | None
    """Lower edge of the hundredth that the median score falls into."""
    bins: tuple[ScoreBin, ...]
    """The specification's bins if it names any, otherwise twenty of equal width."""
    histogram: tuple[int, ...] = ()
    """Twenty bins of equal width."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one key of a breakdown: one type, one depth, one domain."""

    samples: int
    """Number of samples that have such fields."""
    expected: int
    predicted: int
    metrics: dict[str, Estimate]
    """For groups of fields: precision, recall and F1 in three modes, type accuracy, omission and
    hallucination rate. For groups of samples also score, validity and exact match."""
    box: BoxPlot | None = None
    """Box plot of the samples' partial F1; only for dimensions that group samples."""


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """All groups of one dimension."""

    groups: dict[str, Group]
    left_out: int = 0
    """Number of keys that are not listed because they are too rare (field names only)."""


class Hallucinations(msgspec.Struct, frozen=True, kw_only=True):
    """Extracted fields that the expected output does not have."""

    by_type: dict[str, int]
    """``1`` unexpected field with a value that is not in the text, ``2`` expected field with such a
    value, ``3`` value in the text but under the wrong field, ``4`` surplus array element."""
    severity: dict[Severity, Share]
    """Shares of all extracted fields."""
    total: int


class ErrorCount(msgspec.Struct, frozen=True, kw_only=True):
    """One of the most frequent errors."""

    pattern: str
    group: str
    path: str
    """Path of the field; ``[]`` stands for any array element."""
    count: int
    share: float
    """Share of all errors."""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """Errors by kind."""

    groups: dict[str, dict[str, int]]
    """Group of errors in the specification → pattern → count; 0 if a pattern did not occur."""
    total: int
    top: tuple[ErrorCount, ...] = ()
    """The ten most frequent pairs of pattern and field; ties are sorted by name."""


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """Correlation of two numbers over samples."""

    metric: str
    feature: str
    n: int
    pearson: float | None = None
    pearson_low: float | None = None
    pearson_high: float | None = None
    spearman: float | None = None
    spearman_low: float | None = None
    spearman_high: float | None = None
    why: str = ""
    """Why it is undefined: fewer than three samples, or one of the two is constant."""


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """Latency, throughput, tokens and cost of the calls. Null: not measured."""

    latency_s: dict[str, Estimate]
    """``mean``, ``p50``, ``p95``, ``p99``, ``min``, ``max``, in seconds."""
    time_to_first_token_s: dict[str, Estimate]
    """Seconds from the request to the first token. Keys as in ``latency_s``."""
    generation_s: dict[str, Estimate]
    """Seconds from the first to the last token. Keys as in ``latency_s``."""
    histogram: tuple[int, ...] = ()
    """Latencies in thirty bins of equal width over [0, ``histogram_high``]."""
    histogram_high: float = 0.0
    compliance: dict[str, bool | None]
    """``p95_under_2s``, ``p99_under_5s`` → whether the limit is met."""
    busy_s: float | None
    """Seconds in which at least one request that was later answered was in flight."""
    throughput_rps: float | None
    samples_per_minute: float | None
    tokens_per_second: float | None
    """Input and output together."""
    fields_per_second: float | None
    over_time: tuple[tuple[float, float], ...] = ()
    """Pairs of seconds since the start, and requests per second in the interval ending there."""
    tokens: dict[str, float | None]
    """``input_mean``, ``input_median``, ``input_total``, likewise ``output_…``, and ``total``."""
    tokens_known: int
    """Number of rows for which the server reported tokens."""
    token_efficiency: Estimate
    """Extracted fields per output token, over the rows with reported tokens."""
    cost_usd: float | None
    cost_usd_per_sample: Estimate
    cost_usd_per_right_field: float | None
    """Cost per correct field (partial credit), over replies whose cost is known and under the
    report's policy for invalid replies."""
    cost_basis: str = ""
    """``stated`` (by server or price table), ``prices`` (of the configuration), ``stated, and
    prices``, or empty if no cost is known."""


class Consistency(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement between the repeats of a sample. Only samples with at least two replies count."""

    samples: int
    exact_match_consistency: Estimate
    """Mean share of a sample's repeats that gave its most frequent output."""
    field_level_consistency: Estimate
    """Share of pairs of repeats that agree on a field, averaged over fields, then over samples."""
    value_variance: Estimate
    """Mean standard deviation of a numeric field over the repeats, in the field's own unit."""
    value_variation: Estimate
    """Mean coefficient of variation: standard deviation / absolute mean, without a unit."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of one metric's value."""

    metric: str
    value: float | None
    grade: str
    """``A+``, ``A``, ``B+``, ``B``, ``C``, ``D`` or ``F``; empty if there is no value."""
    grade_at_worst: str = ""
    """Grade at the unfavourable end of the interval."""
    grade_at_best: str = ""
    """Grade at the favourable end of the interval."""
    higher_is_better: bool = True
    limits: dict[str, float]
    """Grade → minimum value for it (maximum value where lower is better)."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement of a service level."""

    metric: str
    limit: float
    higher_is_better: bool
    value: float | None
    passed: bool | None
    """Null if ``value`` is null."""
    sure: bool = False
    """Whether both ends of the interval give the same result."""


class ServiceLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level: ``minimum``, ``target`` or ``excellence``."""

    passed: bool | None
    """Null if no check fails, but at least one is undefined."""
    checks: tuple[Check, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One branch of the decision tree."""

    verdict: str
    checks: tuple[Check, ...]
    taken: bool


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the decision tree, with its reasons."""

    verdict: str
    reasons: tuple[str, ...]
    branches: tuple[Branch, ...]
    by_complexity: dict[str, str] = {}
    """Complexity bin → the tree's verdict for the samples of that bin."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()


class SystemReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of one system's numbers."""

    outcomes: Outcomes
    invalid_reasons: tuple[InvalidReason, ...]
    """Why replies are invalid: first by keyword, then by keyword and field."""
    metrics: dict[str, Estimate]
    """``Metric`` → value, over all samples."""
    averages: dict[str, dict[Average, Estimate]]
    """The metrics with three averages."""
    other_policy: dict[str, Estimate]
    """Accuracy under the other policy for invalid replies."""
    quality: Quality
    categories: dict[Mode, dict[str, Share]]
    """Mode → exact, partial, incorrect, missed, spurious. Shares add up to 1."""
    composite: ScoreDistribution
    """Scores of the fields that are both expected and extracted."""
    hallucinations: Hallucinations
    omissions: dict[Dimension, dict[str, Estimate]]
    """Type, depth, required or name → key → share of its expected fields that were missed."""
    type_confusion: dict[str, dict[str, int]]
    """Expected type → extracted type → count."""
    rules: dict[str, int] = {}
    """Rule → number of fields that are right by it, not in the strict reading."""
    errors: Errors
    similarities: dict[str, ScoreDistribution]
    """``token_overlap_f1``, ``levenshtein_similarity``, ``containment_score``."""
    breakdowns: dict[Dimension, Breakdown]
    correlations: tuple[Correlation, ...]
    """Correlations of metrics with schema features and with lengths."""
    metric_correlations: tuple[Correlation, ...] = ()
    """Correlations between metrics, each pair once."""
    performance: Performance
    reliability: dict[str, Estimate]
    confidences: ConfidenceCounts
    calibration: CalibrationReport | None = None
    """Calibration of confidences; an exact match counts as right. Null if no reply has one."""
    field_risks: dict[str, FieldRisk] = {}
    """Path of a field → risk against coverage."""
    consistency: Consistency | None = None
    """Null without repeats."""
    grades: tuple[Grade, ...]
    sla: dict[Level, ServiceLevel]
    recommendation: Recommendation
    ambiguous_values: int = 0
    notes: tuple[str, ...] = ()


class ExtractionReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every number of one run."""

    schema: str = SCHEMA
    version: str
    signature: str
    samples: str
    """First 12 hex digits of the hash over sample ids and their numbers of expected fields."""
    n_samples: int
    repeats: int
    n_expected: int
    """Number of expected fields of all samples; repeats are not counted again."""
    systems: dict[str, SystemReport]
    invalid: Invalid
    headline: Headline = "extraction_quality_score"
    average: Average
    weights: dict[str, float]
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    """Notes that a reader of the numbers needs."""
    rows_sha256: str = ""
    """SHA-256 of the rows that it was computed from."""
    content_sha256: str = ""
    """Digest of all other fields, so that edited numbers are noticed."""
