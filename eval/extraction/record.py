"""The record of structured extraction: every number of a run, by system.

Null means that a number could not be had, and ``why`` says why; 0 is always a number measured.
Formulas are in ``docs/metrics.md``, section "Structured extraction". Equal inputs give equal bytes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from eval.metrics.record import CalibrationReport, ConfidenceCounts
from eval.stats.shown import IntervalMethod
from eval.stats.shown import Value as Value

SCHEMA = "epoche.extraction/1"

Mode = Literal["strict", "partial", "lenient"]
Average = Literal["micro", "macro", "weighted"]
"""``micro``: all fields of all samples together; ``macro``: the mean over samples; ``weighted``:
the mean over samples, each weighted by its number of expected fields."""

Invalid = Literal["zero", "as_is"]
"""What a reply that is no valid instance of its schema is worth: nothing, or what is right in it.
A reply that is no JSON is worth nothing either way."""

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
    "type_accuracy",
    "hallucination_rate",
    "fabricated_value_rate",
    "omission_rate",
    "latency_mean_s",
    "latency_p50_s",
    "latency_p95_s",
    "latency_p99_s",
    "latency_min_s",
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
]
"""Every scalar metric by the name it has in ``metrics``. Rates are shares in [0, 1], latencies
seconds. Those with three averages stand here by the plan's (micro, unless asked otherwise)."""

Dimension = Literal["type", "depth", "name", "required", "complexity", "domain", "language"]
"""What numbers are broken down by. The first four divide fields, the last three samples."""

Severity = Literal["critical", "moderate", "minor"]

Level = Literal["minimum", "target", "excellence"]


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of one system ended. The last four add up to ``rows``."""

    rows: int
    scored: int
    """All rows but those whose call failed: what accuracy is about."""
    ok: int
    invalid: int
    unparsable: int
    error: int


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the extraction quality score."""

    weight: float
    """Normalised: the weights of all parts add up to 1."""
    value: float | None
    """The part as it goes into the score, so of hallucination 1 less the rate; micro."""
    macro: float | None
    """Its mean over the samples that have a score: the macro parts, weighted, add up to it."""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The extraction quality score with its parts."""

    score: Value
    """The mean of the samples' scores: the headline."""
    micro: Value
    """The same formula of the micro parts."""
    components: dict[str, Component]
    """``schema_validity``, ``field_f1_partial``, ``type_accuracy``, ``no_hallucination``."""
    interpretation: str
    """``Excellent``, ``Good``, ``Moderate`` or ``Poor``; empty where there is no score."""
    meaning: str = ""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A count and its share of a whole, with an interval."""

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
    """Scores within 0 and 1, counted to the hundredth."""

    n: int
    mean: float | None
    median: float | None
    """The lower edge of the hundredth that the middle score falls into."""
    bins: tuple[ScoreBin, ...]
    """The seed's bins where it names some, else twenty of equal width."""
    histogram: tuple[int, ...] = ()
    """Twenty bins of equal width."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one key of a breakdown: one type, one depth, one domain."""

    samples: int
    """Samples that have such fields."""
    expected: int
    predicted: int
    metrics: dict[str, Value]
    """Of fields: precision, recall and F1 in three modes, type accuracy, omission and
    hallucination rate. Of samples: these and score, validity and exact match."""
    box: Box | None = None
    """How the samples' partial F1 are spread; only where the dimension divides samples."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """What a box plot shows. Quartiles are values that occur (type 1 of Hyndman & Fan)."""

    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """One dimension."""

    groups: dict[str, Group]
    left_out: int = 0
    """Keys that are not shown, being rarer than those that are (of names)."""


class Hallucinations(msgspec.Struct, frozen=True, kw_only=True):
    """What was extracted that the truth does not hold."""

    by_type: dict[str, int]
    """``1`` made up with its name, ``2`` known name and made-up value, ``3`` in the text but
    misplaced, ``4`` array elements beyond those expected."""
    severity: dict[Severity, Share]
    """Shares of all extracted fields."""
    total: int


class ErrorCount(msgspec.Struct, frozen=True, kw_only=True):
    """One of the most frequent errors."""

    pattern: str
    group: str
    path: str
    """Of the field, ``[]`` standing for any element."""
    count: int
    share: float
    """Of all errors."""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """Errors by kind."""

    groups: dict[str, dict[str, int]]
    """Group of the seed → pattern → how many; patterns that did not occur stand there with 0."""
    total: int
    top: tuple[ErrorCount, ...] = ()
    """The ten most frequent pairs of pattern and field, ties by name."""


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """How two numbers go together over samples."""

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
    """Why there is none: fewer than three samples, or one of both is constant."""


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls took. Null is what nobody measured."""

    latency_s: dict[str, Value]
    """``mean``, ``p50``, ``p95``, ``p99``, ``min``, ``max``, in seconds."""
    time_to_first_token_s: dict[str, Value]
    """Network and reading of the prompt: until the first token came. The same keys."""
    generation_s: dict[str, Value]
    """From the first token to the last. The same keys."""
    histogram: tuple[int, ...] = ()
    """Latencies in thirty bins of equal width over [0, ``histogram_high``]."""
    histogram_high: float = 0.0
    compliance: dict[str, bool | None]
    """``p95_under_2s``, ``p99_under_5s``."""
    busy_s: float | None
    """Seconds in which at least one request that was answered was under way."""
    throughput_rps: float | None
    samples_per_minute: float | None
    tokens_per_second: float | None
    """Input and output together."""
    fields_per_second: float | None
    over_time: tuple[tuple[float, float], ...] = ()
    """Seconds since the start, and requests a second in the stretch that ends there."""
    tokens: dict[str, float | None]
    """``input_mean``, ``input_median``, ``input_total``, likewise ``output_…``, and ``total``."""
    tokens_known: int
    """Rows whose tokens the server counted."""
    token_efficiency: Value
    """Extracted fields per output token, over the rows whose tokens are known."""
    cost_usd: float | None
    cost_usd_per_sample: Value
    cost_usd_per_right_field: float | None
    """For each field that the replies of known cost earned, under the policy of invalid ones."""
    cost_basis: str = ""
    """``stated`` (by server or price table), ``prices``, both, or empty where neither is known."""


class Consistency(msgspec.Struct, frozen=True, kw_only=True):
    """How far the repeats of one sample agree. Only samples with two replies or more count."""

    samples: int
    exact_match_consistency: Value
    """Mean share of a sample's runs that gave its most frequent output."""
    field_level_consistency: Value
    """Mean over samples of the mean over fields of the share of pairs of runs that agree."""
    value_variance: Value
    """Mean standard deviation of a numeric field over its runs, in the field's own unit."""
    value_variation: Value
    """The same over the size of the field's mean: without a unit."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """What a value is worth in words."""

    metric: str
    value: float | None
    grade: str
    """``A+``, ``A``, ``B+``, ``B``, ``C``, ``D`` or ``F``; empty where there is no value."""
    grade_at_worst: str = ""
    """At the unfavourable end of the interval."""
    grade_at_best: str = ""
    higher_is_better: bool = True
    limits: dict[str, float]
    """Grade → the least (or, where lower is better, greatest) value that earns it."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement of a service level."""

    metric: str
    limit: float
    higher_is_better: bool
    value: float | None
    passed: bool | None
    """Null where the value is."""
    sure: bool = False
    """Whether both ends of the interval give the same verdict."""


class ServiceLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level: ``minimum``, ``target`` or ``excellence``."""

    passed: bool | None
    """Null where no check fails and one cannot be made."""
    checks: tuple[Check, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One branch of the decision tree."""

    verdict: str
    checks: tuple[Check, ...]
    taken: bool


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """What the decision tree says, and why."""

    verdict: str
    reasons: tuple[str, ...]
    branches: tuple[Branch, ...]
    by_complexity: dict[str, str] = {}
    """Bin of schemas → the verdict on its samples alone."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()


class SystemReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of one system's numbers."""

    outcomes: Outcomes
    metrics: dict[str, Value]
    """``Metric`` → value, over all samples."""
    averages: dict[str, dict[Average, Value]]
    """The metrics that can be averaged in three ways."""
    other_policy: dict[str, Value]
    """Accuracy under the other policy of invalid replies."""
    quality: Quality
    categories: dict[Mode, dict[str, Share]]
    """Mode → exact, partial, incorrect, missed, spurious. Shares add up to 1."""
    composite: ScoreDistribution
    """Scores of the fields that both sides have."""
    hallucinations: Hallucinations
    omissions: dict[Dimension, dict[str, Value]]
    """Type, depth, required or name → key → share of its expected fields that were missed."""
    type_confusion: dict[str, dict[str, int]]
    """Expected type → type that came → how many."""
    errors: Errors
    similarities: dict[str, ScoreDistribution]
    """``token_overlap_f1``, ``levenshtein_similarity``, ``containment_score``."""
    breakdowns: dict[Dimension, Breakdown]
    correlations: tuple[Correlation, ...]
    """Of metrics with the features of schemas and with lengths."""
    metric_correlations: tuple[Correlation, ...] = ()
    """Of metrics with one another, each pair once."""
    performance: Performance
    reliability: dict[str, Value]
    confidences: ConfidenceCounts
    calibration: CalibrationReport | None = None
    """What stated confidences are worth, an exact match being right. Null where none is stated."""
    consistency: Consistency | None = None
    """Null where each sample was put once."""
    grades: tuple[Grade, ...]
    sla: dict[Level, ServiceLevel]
    recommendation: Recommendation
    notes: tuple[str, ...] = ()


class ExtractionReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every number of one run."""

    schema: str = SCHEMA
    version: str
    signature: str
    samples: str
    """First 12 hex digits of the hash over the ids and numbers of expected fields."""
    n_samples: int
    repeats: int
    n_expected: int
    """Fields expected in all samples together, once each."""
    systems: dict[str, SystemReport]
    invalid: Invalid
    average: Average
    weights: dict[str, float]
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know, in plain sentences."""
