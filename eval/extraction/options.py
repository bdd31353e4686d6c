"""Defines the options of a run, and derives models, folder and client from a configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.extraction.configuration.config import Config
from eval.extraction.files import METRICS, list_run_files
from eval.extraction.manifest import ReportSettings
from eval.extraction.metrics.grades import REQUIREMENTS, Requirements
from eval.extraction.record import Level
from eval.harness.base_run import RunFlags
from eval.harness.journals.row_layout import ALL_ITEMS, Shard
from eval.harness.session import RunLimits
from eval.model.options import CACHE_NAME, ClientOptions
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.prices import Price

_DEFAULT_PROVIDER = "vllm"
"""Kind of server at ``base_url`` if none is given, as in the specification."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        config: the configuration, with flags applied.
        out: folder of the run.
        models: names of the models, as in ``list_models``.
        systems: further systems, as in ``eval.harness.systems.system_registry``.
        settings: ``--set key=value`` pairs for these systems.
        client: how models are called; its ``model`` is ignored.
        limit: ask only the first ``limit`` samples.
        shard: the part of the items that is asked.
        repeats: number of times each sample is asked.
        resume: whether an existing run in the folder is resumed.
        overwrite: whether it is replaced.
        retry_errors: whether rows of failed calls are asked again.
        allow_changed: whether rows that were changed after the last session are resumed.
    """

    config: Config
    out: Path
    models: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    client: ClientOptions = field(default_factory=ClientOptions)
    limit: int | None = None
    shard: Shard = ALL_ITEMS
    repeats: int = 1
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False
    allow_changed: bool = False

    @property
    def limits(self) -> RunLimits:
        """The concurrency, and the limits at which the run is aborted."""
        performance = self.config.performance
        return RunLimits(
            concurrency=performance.concurrency,
            max_cost=performance.max_cost,
            max_consecutive_errors=performance.max_consecutive_errors,
        )

    @property
    def flags(self) -> RunFlags:
        """The flags that every run command has."""
        return RunFlags(
            out=self.out,
            resume=self.resume,
            overwrite=self.overwrite,
            retry_errors=self.retry_errors,
            allow_changed=self.allow_changed,
            limits=self.limits,
        )

    @property
    def price(self) -> Price | None:
        """Price of the tokens as configured; None means the price tables."""
        from eval.model.prices import Price

        model = self.config.model
        per_input, per_output = model.input_price_per_1k, model.output_price_per_1k
        if per_input is None or per_output is None:
            return None
        return Price(per_input * 1000, per_output * 1000)  # dollars per million tokens

    @property
    def report_settings(self) -> ReportSettings:
        """How the report is computed from the rows."""
        return get_report_settings(self.config)


def get_report_settings(config: Config) -> ReportSettings:
    """Returns how a configuration wants the report to be computed from the rows."""
    metrics, output = config.metrics, config.output
    return ReportSettings(
        average=metrics.aggregation.f1_type,
        weights=metrics.eqs_weights,
        requirements=build_requirements(metrics.sla),
        resamples=metrics.resamples,
        confidence=metrics.confidence,
        enabled=metrics.enabled,
        predictions=output.save_predictions,
        per_sample=output.save_per_sample,
    )


def build_requirements(limits: dict[Level, dict[str, float]]) -> dict[Level, Requirements]:
    """Returns the service levels, with configured limits replacing the defaults."""
    requirements = dict(REQUIREMENTS)
    for level, values in limits.items():
        requirements[level] = msgspec.structs.replace(requirements[level], **values)
    return requirements


def list_models(config: Config, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the models of the run, each as ``provider/model``.

    Args:
        config: the configuration; its model is used if ``names`` is empty.
        names: models given on the command line.

    Raises:
        SettingError: no model is given, or one is given twice.
    """
    section = config.model
    names = names or ((section.model_name,) if section.model_name else ())
    if section.base_url is not None:
        provider = section.provider or _DEFAULT_PROVIDER
        names = tuple(
            name if name.startswith(f"{provider}/") else f"{provider}/{name}" for name in names
        )
    if not names:
        from eval.model.environment import read_variables

        default_model = None if section.base_url else read_variables().get("EPOCHE_MODEL")
        if default_model is None:
            raise SettingError(
                "no model is given",
                where="--model, model.model_name",
                hint="Name one, e.g. --model ollama/llama3.2. Recorded models need no server "
                "(docs/how-to/extraction.md).",
            )
        names = (default_model,)
    duplicates = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if duplicates:
        raise SettingError(
            f"{duplicates[0]} is given twice", where="--models", hint="Leave one out."
        )
    return names


def make_folder_name(models: tuple[str, ...]) -> str:
    """Returns the name of a run's folder, which depends on its models and systems only."""
    from kg.base.files import sha256_bytes

    safe_names = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in models]
    name = "extract-" + "+".join(safe_names)
    if len(name) <= 100:
        return name
    return f"{name[:80]}-{sha256_bytes(name.encode())[:12]}"


def build_client_options(
    config: Config,
    out: Path,
    *,
    cache: Path | None = None,
    no_cache: bool = False,
    prices: Path | None = None,
) -> ClientOptions:
    """Returns how models are called.

    Args:
        config: the configuration, with rate limits, timeouts and the folder of the cache.
        out: folder of the run; contains the cache unless another place is configured.
        cache: ``--cache``.
        no_cache: ``--no-cache``.
        prices: ``--prices``.

    Raises:
        WriteError: the cache would overwrite an output.
        SettingError: a limit is not a finite number.
    """
    performance = config.performance
    cache_file = cache
    if cache_file is None and performance.cache_dir is not None:
        cache_file = Path(performance.cache_dir) / CACHE_NAME
    return ClientOptions.from_flags(
        model=None,
        concurrency=performance.concurrency,
        rpm=performance.requests_per_minute,
        tpm=performance.tokens_per_minute,
        timeout=config.model.timeout,
        retries=config.model.max_retries,
        cache=cache_file,
        no_cache=no_cache or (cache is None and not performance.enable_caching),
        prices=prices,
        out=out / METRICS,
        outputs=list_run_files(out),
    )
