"""Defines the configuration of a run: all keys with their defaults and allowed values.

The format is that of the benchmark's specification (section 5.3), whose example is accepted
unchanged, with additional keys. For keys whose effect differs from the specification,
``describe_differences`` explains what is done instead. ``reader`` reads configuration
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from eval.extraction.metrics.quality_score import DEFAULT_WEIGHTS, ScoreWeights
from eval.extraction.record import Average, Level
from eval.extraction.settings import DEFAULT_MATCHING, Matching

SYSTEM_PROMPT: Final = (
    "You are a precise data extraction assistant. Extract information from the provided text "
    "according to the given JSON schema. Only extract information explicitly stated in the text. "
    "If information for a field is not present, omit the field or use null as appropriate.\n"
)
USER_PROMPT: Final = (
    "Text:\n{text}\n\nExtract information according to this JSON schema:\n{schema}\n\n"
    "Output valid JSON matching the schema exactly.\n"
)
"""The prompts of the specification."""

METRIC_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "field_f1": ("field_f1_strict", "field_f1_partial", "field_f1_lenient"),
    "field_precision": (
        "field_precision_strict",
        "field_precision_partial",
        "field_precision_lenient",
    ),
    "field_recall": ("field_recall_strict", "field_recall_partial", "field_recall_lenient"),
    "latency": ("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s"),
    "throughput": ("throughput_rps",),
    "cost": ("cost_usd_per_sample",),
    "reliability": (
        "success_rate",
        "parse_failure_rate",
        "schema_failure_rate",
        "timeout_rate",
        "retry_rate",
        "reliability_score",
    ),
    "consistency": ("exact_match_consistency", "field_level_consistency", "value_variance"),
    "calibration": ("expected_calibration_error",),
}
"""Names of groups of metrics that ``metrics.enabled`` accepts."""

Name = Annotated[str, Meta(min_length=1, max_length=300)]
Text = Annotated[str, Meta(min_length=1, max_length=100_000)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Limit = Annotated[float, Meta(gt=0, le=1e12)]
Dollars = Annotated[float, Meta(ge=0, le=1e6)]
Folder = Annotated[str, Meta(min_length=1, max_length=4096)]

Structured = Literal["auto", "json_schema", "json_object", "text", "guided_json"]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the file."""


class ModelSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model, and how it is called."""

    base_url: Annotated[
        Name | None,
        Meta(
            description="Address of the server; null: the provider's own (docs/how-to/models.md)."
        ),
    ] = None
    api_key: Annotated[
        None, Meta(description="Always null: keys come from the environment, never from a file.")
    ] = None
    provider: Annotated[
        Name | None,
        Meta(description="Kind of server at base_url; vllm by default."),
    ] = None
    model_name: Annotated[
        Name | None,
        Meta(description="The server's name of the model; without base_url, provider/model."),
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Meta(description="Sampling temperature; null: the server's default."),
    ] = 0.0
    top_p: Annotated[
        float,
        Meta(gt=0, le=1, description="Total probability of the tokens sampled from."),
    ] = 1.0
    seed: Annotated[
        Annotated[int, Meta(ge=0, le=2**31 - 1)] | None,
        Meta(description="Sampling seed, if the server supports one; each repeat uses another."),
    ] = None
    max_tokens: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Maximum tokens of a reply.")
    ] = 2048
    timeout: Annotated[Seconds, Meta(description="Maximum seconds of one attempt.")] = 60.0
    max_retries: Annotated[
        int, Meta(ge=0, le=100, description="Number of retries after errors that may be temporary.")
    ] = 3
    structured: Annotated[
        Structured,
        Meta(
            description="How the schema is enforced; auto: the strictest mode of the server; "
            "guided_json: the parameter of older vLLM servers."
        ),
    ] = "auto"
    stream: Annotated[
        bool, Meta(description="Stream replies, to measure the time to the first token.")
    ] = False
    logprobs: Annotated[
        bool, Meta(description="Request log-probabilities, from which confidences are computed.")
    ] = False
    repair: Annotated[
        bool, Meta(description="Request a reply that is not JSON once more, quoting the problem.")
    ] = False
    input_price_per_1k: Annotated[
        Dollars | None,
        Meta(description="Dollars per thousand input tokens, for all models."),
    ] = None
    output_price_per_1k: Annotated[
        Dollars | None, Meta(description="Dollars per thousand output tokens.")
    ] = None

    def __post_init__(self) -> None:
        if (self.input_price_per_1k is None) != (self.output_price_per_1k is None):
            raise ValueError("input_price_per_1k and output_price_per_1k must be given together")


class DatasetSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data set."""

    name: Annotated[
        Folder,
        Meta(description="`shipped`, a file, a folder, or owner/name of a data set on the hub."),
    ] = "shipped"
    split: Annotated[Name, Meta(description="Split of a data set on the hub.")] = "test"
    strict: Annotated[
        bool, Meta(description="Refuse a data set with malformed rows instead of skipping those.")
    ] = False
    cache_dir: Annotated[
        Folder | None, Meta(description="Folder for data sets downloaded from a hub.")
    ] = None
    sample_size: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Draw N samples at random; null: all."),
    ] = None
    random_seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Seed of that draw.")] = 42


class PromptSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prompt templates."""

    system: Annotated[
        Annotated[str, Meta(max_length=100_000)],
        Meta(description="System message; may contain {text} and {schema}."),
    ] = SYSTEM_PROMPT
    user: Annotated[Text, Meta(description="User message; must contain {text}.")] = USER_PROMPT


class AggregationSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How metrics are averaged over samples."""

    f1_type: Annotated[
        Average,
        Meta(description="Average of precision, recall and F1 shown in tables; all are stored."),
    ] = "micro"


class MetricSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How extractions are scored."""

    enabled: Annotated[
        tuple[Name, ...],
        Meta(description="Metrics to print; all metrics are computed and reported anyway."),
    ] = ()
    field_matching: Matching = DEFAULT_MATCHING
    aggregation: AggregationSection = AggregationSection()
    eqs_weights: Annotated[
        ScoreWeights,
        Meta(description="Weights of the extraction quality score; divided by their sum."),
    ] = DEFAULT_WEIGHTS
    sla: Annotated[
        dict[Level, dict[str, float]],
        Meta(description="Limits of the service levels; others keep their defaults."),
    ] = {}
    resamples: Annotated[int, Meta(ge=100, le=1_000_000, description="Bootstrap resamples.")] = 2000
    confidence: Annotated[
        float, Meta(ge=0.5, le=0.999, description="Nominal coverage of the intervals.")
    ] = 0.95


class OutputSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files that are written."""

    results_dir: Annotated[
        Folder, Meta(description="Parent of the run folder, unless --out is given.")
    ] = "./results"
    save_predictions: Annotated[bool, Meta(description="Write predictions.jsonl.")] = True
    save_per_sample: Annotated[bool, Meta(description="Write per_sample.csv.")] = True
    generate_report: Annotated[bool, Meta(description="Write the report.")] = True
    report_format: Annotated[
        Literal["html", "markdown"],
        Meta(description="The report that is printed at the end; both are written."),
    ] = "html"


class PerformanceSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Concurrency, limits and caching."""

    batch_size: Annotated[
        int, Meta(ge=1, le=4096, description="Concurrent requests per worker.")
    ] = 1
    num_workers: Annotated[int, Meta(ge=1, le=4096)] = 1
    enable_caching: Annotated[bool, Meta(description="Store replies and reuse stored ones.")] = True
    cache_dir: Annotated[
        Folder | None, Meta(description="Folder of the stored replies; null: the run folder.")
    ] = None
    requests_per_minute: Annotated[Limit | None, Meta(description="Requests per minute.")] = None
    tokens_per_minute: Annotated[Limit | None, Meta(description="Tokens per minute.")] = None
    max_cost: Annotated[
        Dollars | None, Meta(description="Stop asking after this many dollars were spent.")
    ] = None
    max_consecutive_errors: Annotated[
        int, Meta(ge=0, description="Abort after this many consecutive failed calls; 0: never.")
    ] = 50

    @property
    def concurrency(self) -> int:
        """Number of concurrent requests."""
        return self.batch_size * self.num_workers


class Config(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration file."""

    model: ModelSection = ModelSection()
    dataset: DatasetSection = DatasetSection()
    prompts: PromptSection = PromptSection()
    metrics: MetricSection = MetricSection()
    output: OutputSection = OutputSection()
    performance: PerformanceSection = PerformanceSection()


def list_allowed_values(kind: Any) -> tuple[str, ...]:
    """Returns the allowed values of a key whose type is a ``Literal``; empty for other types."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_args(bare) if get_origin(bare) is Literal else ()


def describe_differences(config: Config) -> Iterator[str]:
    """Yields a sentence for each setting whose effect differs from what a user might expect."""
    if config.performance.batch_size > 1:
        yield (
            "performance.batch_size: requests are not sent in batches, because servers batch them; "
            f"batch_size x num_workers = {config.performance.concurrency} requests are sent at once"
        )
    if config.metrics.enabled:
        yield (
            "metrics.enabled: selects the metrics that are printed and listed first in "
            "summary.txt; all metrics are computed and reported"
        )
    if config.model.base_url is None and config.model.provider is not None:
        yield "model.provider: the kind of server at model.base_url; it has no effect without it"
    if "{schema}" not in config.prompts.user + config.prompts.system:
        yield (
            "prompts: no template contains {schema}, so the model sees the schema only if it is "
            "enforced"
        )
