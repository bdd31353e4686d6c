"""Opens the systems of a run: models, or the rule baseline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.extraction.model_extractor import ModelExtractor
from eval.extraction.prompt_builder import PromptBuilder
from eval.extraction.run_options import RunOptions
from eval.harness.folder_run import close_clients
from eval.harness.resume import round_trip_json
from eval.harness.system import System

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class SystemSet:
    """The systems of a run.

    Attributes:
        extractors: the systems, in the order of the rows of a sample.
        warmup_clients: options of the models to call once before the first question.
        on_close: functions to await at the end of the run.
    """

    extractors: tuple[System, ...]
    warmup_clients: tuple[ClientOptions, ...] = ()
    on_close: tuple[Callable[[], Awaitable[object]], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(extractor.name for extractor in self.extractors)

    def close(self) -> None:
        """Closes the systems if the run failed before it closed them; may be called twice."""
        if self.on_close:
            close_clients(self.on_close)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of each system, as they are read back from a manifest."""
        return {system.name: round_trip_json(system.params()) for system in self.extractors}

    def observed(self) -> dict[str, Any]:
        """Returns what was observed of the models, by system."""
        return {
            system.name: system.client.observed()
            for system in self.extractors
            if isinstance(system, ModelExtractor)
        }


def open_systems(options: RunOptions) -> SystemSet:
    """Opens the systems that the options name.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    if options.offline:
        from eval.extraction.baseline.extractor import Baseline

        return SystemSet(extractors=(Baseline(),))
    from eval.llm import ModelClient
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
