"""Opens the pipelines and judges of a run: models, or rules for everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.harness.folder_run import close_clients
from eval.harness.resume import round_trip_json
from eval.skn.judge_set import (
    JudgeSet,
    open_model_judges,
    open_published_judges,
    open_rule_judges,
)
from eval.skn.pipeline_system import PipelineSystem
from eval.skn.pipelines import PIPELINES
from eval.skn.run_options import RunOptions
from eval.skn.run_settings import open_client

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class SystemSet:
    """The pipelines and judges of a run.

    Attributes:
        systems: the pipelines, in the order of the rows of a sample; all have the same agent.
        judge_set: the judges.
        client: the model that extracts and answers; None for rules.
        warmup_clients: options of the models to call once before the first question.
    """

    systems: tuple[PipelineSystem, ...]
    judge_set: JudgeSet
    client: ModelClient | None = None
    warmup_clients: tuple[ClientOptions, ...] = ()

    @property
    def model(self) -> str | None:
        """Name of the model that extracts and answers; None for rules."""
        return None if self.client is None else self.client.model

    @property
    def on_close(self) -> tuple[Callable[[], Awaitable[object]], ...]:
        """Functions to await when no pipeline is asked any more."""
        return () if self.client is None else (self.client.aclose,)

    def close(self) -> None:
        """Closes everything if the run failed before it did so; may be called twice."""
        functions = (*self.on_close, *self.judge_set.on_close)
        if functions:
            close_clients(functions)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of extractors, agent and judges, as read from a manifest."""
        return {
            "extractors": {
                system.name: round_trip_json(system.extractor.params()) for system in self.systems
            },
            "agent": round_trip_json(self.systems[0].agent.params()),
            "judges": round_trip_json(self.judge_set.judges.params()),
        }

    def observed(self) -> dict[str, Any]:
        """Returns what was observed of the models, by role."""
        if self.client is None:
            return {}
        return {"answers": self.client.observed(), "judges": self.judge_set.observed()}


def open_systems(options: RunOptions) -> SystemSet:
    """Opens the pipelines and judges that the options name.

    Raises:
        SettingError: no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    return _open_rules(options) if options.offline else _open_models(options)


def _open_rules(options: RunOptions) -> SystemSet:
    from eval.skn.rules.agent import RuleAgent
    from eval.skn.rules.extractor import RuleExtractor

    agent = RuleAgent()
    return SystemSet(
        systems=tuple(
            PipelineSystem(name, RuleExtractor(PIPELINES[name], options.setting), agent)
            for name in options.pipelines
        ),
        judge_set=open_rule_judges(),
    )


def _open_models(options: RunOptions) -> SystemSet:
    from eval.skn.agent import ModelAgent
    from eval.skn.formats.extraction import ModelExtractor

    client_options, setting = options.client_options(), options.setting
    client = open_client(client_options, setting)
    if setting.published:
        judge_set = open_published_judges(client_options, client.model)
    else:
        judge_set = open_model_judges(
            client_options,
            client.model,
            options.judge_models,
            repeats=options.judge_repeats,
            seed=options.seed,
        )
    agent = ModelAgent(client, setting)
    answerer = msgspec.structs.replace(client_options, model=client.model, cache=None)
    judges = [judge for judge in judge_set.warmup_clients if judge.model != client.model]
    return SystemSet(
        systems=tuple(
            PipelineSystem(name, ModelExtractor(PIPELINES[name], client, setting), agent)
            for name in options.pipelines
        ),
        judge_set=judge_set,
        client=client,
        warmup_clients=(answerer, *judges),
    )
