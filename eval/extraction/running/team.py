"""Who extracts in a run: models, or the rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.extraction.running.extractors import ModelExtractor, RuleExtractor
from eval.extraction.running.prompts import PromptBuilder
from eval.extraction.running.run_options import RunOptions
from eval.running.resume import round_trip_json

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class Team:
    """The extractors of a run.

    Attributes:
        extractors: in the order of the rows of a sample.
        warmed: the models to be called once before anything is measured, by how they are called.
        closing: what to await at the end.
    """

    extractors: tuple[ModelExtractor | RuleExtractor, ...]
    warmed: tuple[ClientOptions, ...] = ()
    closing: tuple[Callable[[], Awaitable[object]], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The systems."""
        return tuple(extractor.name for extractor in self.extractors)

    def give_up(self) -> None:
        """Closes what a run did not come to close; harmless where it did."""
        if self.closing:
            import asyncio

            asyncio.run(_close(self.closing))

    def params(self) -> dict[str, Any]:
        """What each says of itself, as a manifest gives it back."""
        return {one.name: round_trip_json(one.params()) for one in self.extractors}

    def observed(self) -> dict[str, Any]:
        """What the models turned out to do, by system."""
        return {
            one.name: one.client.observed()
            for one in self.extractors
            if isinstance(one, ModelExtractor)
        }


async def _close(closing: Sequence[Callable[[], Awaitable[object]]]) -> None:
    for close in closing:
        await close()


def team_of(options: RunOptions) -> Team:
    """The extractors that options ask for.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    if options.offline:
        from eval.extraction.baseline.extractor import Baseline

        return Team(extractors=(Baseline(),))
    from eval.llm import ModelClient
    from eval.model.prices import find_price

    model, prompts = options.config.model, options.config.prompts
    # Replies that are kept already need no server, and so none that is warm.
    cache = options.client.cache
    kept = cache is not None and cache.exists()
    asked = [
        msgspec.structs.replace(options.client, model=name, base_url=model.base_url)
        for name in options.models
    ]
    extractors = tuple(
        ModelExtractor(
            ModelClient.open(
                one,
                temperature=model.temperature,
                max_tokens=model.max_tokens,
                top_p=model.top_p,
                seed=model.seed,
                structured=model.structured,
                logprobs=model.logprobs,
                price=find_price(one.model or "", options.client.prices, options.price),
            ),
            PromptBuilder(prompts.system, prompts.user),
            streamed=model.stream,
            repair=model.repair,
        )
        for one in asked
    )
    return Team(
        extractors=extractors,
        warmed=() if kept else tuple(msgspec.structs.replace(one, cache=None) for one in asked),
        closing=tuple(extractor.client.aclose for extractor in extractors),
    )
