"""The configuration of a run: every key, its default, and what it may be.

The form is that of the benchmark's specification (5.3), whose example is accepted as it stands;
further keys are ours. Every key does something, or ``notes_on`` says plainly what stands in its
place. Reading is ``eval.extraction.running.config_reading``'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from eval.extraction.metrics.quality_score import DEFAULT_WEIGHTS, ScoreWeights
from eval.extraction.record import Average, Level
from eval.extraction.settings import DEFAULT_MATCHING, Matching

SYSTEM: Final = (
    "You are a precise data extraction assistant. Extract information from the provided text "
    "according to the given JSON schema. Only extract information explicitly stated in the text. "
    "If information for a field is not present, omit the field or use null as appropriate.\n"
)
USER: Final = (
    "Text:\n{text}\n\nExtract information according to this JSON schema:\n{schema}\n\n"
    "Output valid JSON matching the schema exactly.\n"
)
"""The specification's prompts."""

FAMILIES: Final[dict[str, tuple[str, ...]]] = {
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
"""Names under ``metrics.enabled`` that stand for several metrics."""

Name = Annotated[str, Meta(min_length=1, max_length=300)]
Text = Annotated[str, Meta(min_length=1, max_length=100_000)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Limit = Annotated[float, Meta(gt=0, le=1e12)]
Dollars = Annotated[float, Meta(ge=0, le=1e6)]
Folder = Annotated[str, Meta(min_length=1, max_length=4096)]

Structured = Literal["auto", "json_schema", "json_object", "text", "guided_json"]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file."""


class ModelSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model is asked, and how."""

    base_url: Annotated[
        Name | None,
        Meta(description="Address of the server; null: that of the provider (docs/models.md)."),
    ] = None
    api_key: Annotated[
        None, Meta(description="Always null: keys come from the environment, never from a file.")
    ] = None
    provider: Annotated[
        Name | None,
        Meta(description="What kind of server stands at base_url; by default vllm."),
    ] = None
    model_name: Annotated[
        Name | None,
        Meta(description="What the server calls the model; without base_url, provider/model."),
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None,
        Meta(description="Of the sampling; null leaves it to the server."),
    ] = 0.0
    top_p: Annotated[
        float, Meta(gt=0, le=1, description="Mass of the likeliest tokens sampled from.")
    ] = 1.0
    seed: Annotated[
        Annotated[int, Meta(ge=0, le=2**31 - 1)] | None,
        Meta(description="Of the sampling, where the server has one; each repeat gets its own."),
    ] = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000, description="Most tokens of a reply.")] = (
        2048
    )
    timeout: Annotated[Seconds, Meta(description="Seconds one attempt may take.")] = 60.0
    max_retries: Annotated[
        int, Meta(ge=0, le=100, description="Attempts after the first, where it may help.")
    ] = 3
    structured: Annotated[
        Structured,
        Meta(
            description="How the schema is enforced; auto: the strictest way the server takes; "
            "guided_json: the parameter of older vLLM servers."
        ),
    ] = "auto"
    stream: Annotated[
        bool, Meta(description="Stream replies, to measure the time to the first token.")
    ] = False
    logprobs: Annotated[
        bool, Meta(description="Ask for log-probabilities, from which confidences are made.")
    ] = False
    repair: Annotated[
        bool, Meta(description="Ask once more for a reply that is no JSON, quoting what is wrong.")
    ] = False
    input_price_per_1k: Annotated[
        Dollars | None, Meta(description="Dollars per thousand tokens read, of every model here.")
    ] = None
    output_price_per_1k: Annotated[
        Dollars | None, Meta(description="Dollars per thousand tokens written.")
    ] = None

    def __post_init__(self) -> None:
        if (self.input_price_per_1k is None) != (self.output_price_per_1k is None):
            raise ValueError("input_price_per_1k and output_price_per_1k belong together")


class DatasetSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is extracted from."""

    name: Annotated[
        Folder,
        Meta(description="`shipped`, a file, a folder, or owner/name of a data set on the hub."),
    ] = "shipped"
    split: Annotated[Name, Meta(description="Of a data set on the hub.")] = "test"
    strict: Annotated[
        bool, Meta(description="Refuse a data set with malformed rows instead of skipping those.")
    ] = False
    cache_dir: Annotated[
        Folder | None, Meta(description="Where what is fetched from a hub is kept.")
    ] = None
    sample_size: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Draw so many; null: all.")
    ] = None
    random_seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Of that draw.")] = 42


class PromptSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said to the model."""

    system: Annotated[
        Annotated[str, Meta(max_length=100_000)],
        Meta(description="System message; may hold {text} and {schema}."),
    ] = SYSTEM
    user: Annotated[Text, Meta(description="Must hold {text}.")] = USER


class AggregationSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How samples are put together."""

    f1_type: Annotated[
        Average,
        Meta(description="Average of precision, recall and F1 in tables; all three are kept."),
    ] = "micro"


class MetricSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How extractions are measured."""

    enabled: Annotated[
        tuple[Name, ...],
        Meta(description="Metrics to print; every metric is measured and reported all the same."),
    ] = ()
    field_matching: Matching = DEFAULT_MATCHING
    aggregation: AggregationSection = AggregationSection()
    eqs_weights: Annotated[
        ScoreWeights,
        Meta(description="Parts of the extraction quality score; divided by their sum."),
    ] = DEFAULT_WEIGHTS
    sla: Annotated[
        dict[Level, dict[str, float]],
        Meta(description="Limits of the service levels; what is left out stays as it is."),
    ] = {}
    resamples: Annotated[int, Meta(ge=100, le=1_000_000, description="Of the bootstrap.")] = 2000
    confidence: Annotated[
        float, Meta(ge=0.5, le=0.999, description="Coverage that intervals aim at.")
    ] = 0.95


class OutputSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is written."""

    results_dir: Annotated[
        Folder, Meta(description="The run's folder is made in it, unless --out names one.")
    ] = "./results"
    save_predictions: Annotated[bool, Meta(description="Write predictions.jsonl.")] = True
    save_per_sample: Annotated[bool, Meta(description="Write per_sample.csv.")] = True
    generate_report: Annotated[bool, Meta(description="Write the report.")] = True
    report_format: Annotated[
        Literal["html", "markdown"],
        Meta(description="Which report is named at the end; both are written."),
    ] = "html"


class PerformanceSection(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast, and how patiently."""

    batch_size: Annotated[
        int, Meta(ge=1, le=4096, description="Requests in flight of each worker.")
    ] = 1
    num_workers: Annotated[int, Meta(ge=1, le=4096)] = 1
    enable_caching: Annotated[bool, Meta(description="Keep replies, and use those kept.")] = True
    cache_dir: Annotated[
        Folder | None, Meta(description="Folder of the replies; null: the run's own.")
    ] = None
    requests_per_minute: Annotated[Limit | None, Meta(description="Most requests a minute.")] = None
    tokens_per_minute: Annotated[Limit | None, Meta(description="Most tokens a minute.")] = None
    max_cost: Annotated[
        Dollars | None, Meta(description="Dollars after which nothing more is asked.")
    ] = None
    max_consecutive_errors: Annotated[
        int, Meta(ge=0, description="Failed calls in a row after which the run stops; 0: never.")
    ] = 50

    @property
    def concurrency(self) -> int:
        """Requests in flight at once."""
        return self.batch_size * self.num_workers


class Config(_Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole configuration."""

    model: ModelSection = ModelSection()
    dataset: DatasetSection = DatasetSection()
    prompts: PromptSection = PromptSection()
    metrics: MetricSection = MetricSection()
    output: OutputSection = OutputSection()
    performance: PerformanceSection = PerformanceSection()


def allowed_words(kind: Any) -> tuple[str, ...]:
    """The words a key of this type may have, where it is one of a few; empty for other types."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_args(bare) if get_origin(bare) is Literal else ()


def notes_on(config: Config) -> Iterator[str]:
    """What a reader of the file might expect of it and what is done instead, in sentences."""
    if config.performance.batch_size > 1:
        yield (
            "performance.batch_size: requests are not packed into batches, the server does that "
            f"itself; batch_size x num_workers = {config.performance.concurrency} requests are in "
            "flight at once"
        )
    if config.metrics.enabled:
        yield (
            "metrics.enabled: chooses what is printed and stands first in summary.txt; every "
            "metric is measured and reported all the same"
        )
    if config.model.base_url is None and config.model.provider is not None:
        yield "model.provider: says what stands at model.base_url, and is not used without it"
    if "{schema}" not in config.prompts.user + config.prompts.system:
        yield "prompts: {schema} is in neither, so the model sees the schema only if it is enforced"
