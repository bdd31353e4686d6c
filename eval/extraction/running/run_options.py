"""What is asked for: a configuration, with the flags that go before it, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.extraction.baseline import BASELINE
from eval.extraction.metrics.grades import REQUIREMENTS, Requirements
from eval.extraction.record import Level
from eval.extraction.running.config import Config
from eval.extraction.running.manifest import Measuring
from eval.extraction.running.output_files import METRICS, written_by
from eval.model.options import CACHE_NAME, ClientOptions
from eval.running.session import RunLimits
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.prices import Price

_USUAL_PROVIDER = "vllm"
"""What stands at an address of which nothing else is said: the specification's own."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """A run.

    Attributes:
        config: the configuration, flags entered.
        out: folder of the run.
        models: who extracts, as ``models_of`` names them; empty where rules do.
        client: how models are called; the model of it counts for nothing.
        limit: ask only the first so many samples.
        repeats: how often each is asked.
        resume: whether a run that is there is taken up.
        overwrite: whether it is replaced.
        retry_errors: whether rows of failed calls are asked again.
    """

    config: Config
    out: Path
    models: tuple[str, ...] = ()
    client: ClientOptions = field(default_factory=ClientOptions)
    limit: int | None = None
    repeats: int = 1
    resume: bool = True
    overwrite: bool = False
    retry_errors: bool = False

    @property
    def offline(self) -> bool:
        """Whether no model is asked."""
        return not self.models

    @property
    def limits(self) -> RunLimits:
        """How many are asked at once, and when to give up."""
        how = self.config.performance
        return RunLimits(
            concurrency=how.concurrency,
            max_cost=how.max_cost,
            max_consecutive_errors=how.max_consecutive_errors,
        )

    @property
    def price(self) -> Price | None:
        """What tokens cost by the configuration; null leaves it to the tables."""
        from eval.model.prices import Price

        read, wrote = self.config.model.input_price_per_1k, self.config.model.output_price_per_1k
        return None if read is None or wrote is None else Price(read * 1000, wrote * 1000)

    @property
    def measuring(self) -> Measuring:
        """How the report is made of the rows."""
        metrics, output = self.config.metrics, self.config.output
        return Measuring(
            average=metrics.aggregation.f1_type,
            weights=metrics.eqs_weights,
            requirements=requirements_of(metrics.sla),
            resamples=metrics.resamples,
            confidence=metrics.confidence,
            enabled=metrics.enabled,
            predictions=output.save_predictions,
            per_sample=output.save_per_sample,
        )


def requirements_of(limits: dict[Level, dict[str, float]]) -> dict[Level, Requirements]:
    """The service levels, with the limits that are given in place of the usual ones."""
    usual = dict(REQUIREMENTS)
    for level, given in limits.items():
        usual[level] = msgspec.structs.replace(usual[level], **given)
    return usual


def models_of(config: Config, named: tuple[str, ...]) -> tuple[str, ...]:
    """Who extracts, each as ``provider/model``.

    Args:
        config: where the server is, and the model that is asked unless others are named.
        named: as given on the command line.

    Raises:
        SettingError: none is named, or one twice.
    """
    section = config.model
    names = named or ((section.model_name,) if section.model_name else ())
    if section.base_url is not None:
        provider = section.provider or _USUAL_PROVIDER
        names = tuple(
            name if name.startswith(f"{provider}/") else f"{provider}/{name}" for name in names
        )
    if not names:
        from eval.model.environment import read_variables

        told = None if section.base_url else read_variables().get("EPOCHE_MODEL")
        if told is None:
            raise SettingError(
                "no model is named",
                where="--model, model.model_name",
                hint="Name one, or use --offline for the rules that need none.",
            )
        names = (told,)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise SettingError(f"{twice[0]} is named twice", where="--models", hint="Leave one out.")
    return names


def folder_name(models: tuple[str, ...]) -> str:
    """Name of the folder of a run of these models: the same for the same models, always."""
    from kg.base.files import sha256_bytes

    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in models or (BASELINE,)]
    name = "extract-" + "+".join(plain)
    if len(name) <= 100:
        return name
    return f"{name[:80]}-{sha256_bytes(name.encode())[:12]}"


def client_of(
    config: Config,
    out: Path,
    *,
    cache: Path | None = None,
    no_cache: bool = False,
    prices: Path | None = None,
) -> ClientOptions:
    """How models are called.

    Args:
        config: with limits, patience and the folder of the cache.
        out: folder of the run, where the cache is if nothing else is said.
        cache: ``--cache``.
        no_cache: ``--no-cache``.
        prices: ``--prices``.

    Raises:
        WriteError: the cache would take the place of what is written.
        SettingError: a limit is no finite number.
    """
    how = config.performance
    place = cache
    if place is None and how.cache_dir is not None:
        place = Path(how.cache_dir) / CACHE_NAME
    return ClientOptions.from_flags(
        model=None,
        concurrency=how.concurrency,
        rpm=how.requests_per_minute,
        tpm=how.tokens_per_minute,
        timeout=config.model.timeout,
        retries=config.model.max_retries,
        cache=place,
        no_cache=no_cache or (cache is None and not how.enable_caching),
        prices=prices,
        out=out / METRICS,
        outputs=written_by(out),
    )
