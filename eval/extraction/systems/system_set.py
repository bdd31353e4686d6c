"""Opens the systems of a run: models, and systems of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eval.extraction.options import RunOptions
from eval.extraction.systems.model_extractor import ModelExtractor
from eval.extraction.systems.prompt_builder import PromptBuilder
from eval.harness.folder_run import close_clients
from eval.harness.systems.description import collect_observed, read_params
from eval.harness.systems.system import System, find_close_functions
from eval.harness.systems.system_options import SystemOptions
from eval.harness.systems.system_registry import SystemRegistry
from kg.base.errors import SystemNotFoundError

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class SystemSet:
    """The systems of a run.

    Attributes:
        extractors: the systems, in the order of the rows of a sample.
        warmup_clients: options of the models to call once before the first question.
        on_close: functions to await at the end of the run.
        sources: name → what ``--system`` names, for systems of others.
    """

    extractors: tuple[System, ...]
    warmup_clients: tuple[ClientOptions, ...] = ()
    on_close: tuple[Callable[[], Awaitable[object]], ...] = ()
    sources: Mapping[str, dict[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(extractor.name for extractor in self.extractors)

    def close(self) -> None:
        """Closes the systems if the run failed before it closed them; may be called twice."""
        if self.on_close:
            close_clients(self.on_close)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of each system, as they are read back from a manifest.

        Raises:
            SystemNotFoundError: as ``read_params``.
        """
        return {
            system.name: {**self.sources.get(system.name, {}), **read_params(system, system.name)}
            for system in self.extractors
        }

    def observed(self) -> dict[str, Any]:
        """Returns what was observed of the models, by system."""
        return collect_observed(self.extractors, self.names)


def open_systems(options: RunOptions) -> SystemSet:
    """Opens the systems that the options name: first models, then others.

    Raises:
        SystemNotFoundError: a system cannot be made, or two share a name.
        EpocheError: as ``ModelClient.open``.
    """
    systems: list[System] = []
    sources: dict[str, dict[str, str]] = {}
    # Systems of others are made first: they may be refused, and nothing has to be closed then.
    for spec in options.systems:
        made = EXTRACTORS.make_systems(
            spec,
            SystemOptions(
                seed=options.config.dataset.random_seed,
                settings=options.settings,
                client=options.client,
            ),
        )
        systems += made
        sources |= {system.name: {"system": spec} for system in made}
    models = _open_models(options) if options.models else SystemSet(extractors=())
    extractors = (*models.extractors, *systems)
    names = [system.name for system in extractors]
    if len(set(names)) < len(names):
        models.close()
        raise SystemNotFoundError(
            "two systems share a name", where=", ".join(names), hint="Rename one of them."
        )
    return replace(
        models,
        extractors=extractors,
        sources=sources,
        on_close=(*models.on_close, *find_close_functions(systems)),
    )


EXTRACTORS: Final = SystemRegistry()


def _open_models(options: RunOptions) -> SystemSet:
    from eval.model.client import ModelClient
    from eval.model.prices import find_price

    model, prompts = options.config.model, options.config.prompts
    # Cached replies may need no server, so no model is warmed up if there is a cache.
    cache = options.client.cache
    has_cache = cache is not None and cache.exists()
    clients = [
        msgspec.structs.replace(options.client, model=name, base_url=model.base_url)
        for name in options.models
    ]
    extractors = tuple(
        ModelExtractor(
            ModelClient.open(
                client,
                temperature=model.temperature,
                max_tokens=model.max_tokens,
                top_p=model.top_p,
                seed=model.seed,
                structured=model.structured,
                logprobs=model.logprobs,
                price=find_price(client.model or "", options.client.prices, options.price),
            ),
            PromptBuilder(prompts.system, prompts.user),
            stream=model.stream,
            repair=model.repair,
        )
        for client in clients
    )
    return SystemSet(
        extractors=extractors,
        warmup_clients=()
        if has_cache
        else tuple(msgspec.structs.replace(client, cache=None) for client in clients),
        on_close=tuple(extractor.client.aclose for extractor in extractors),
    )
