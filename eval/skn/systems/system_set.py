"""Opens the pipelines and judges of a run: models, or rules for everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.harness.folder_run import close_clients
from eval.harness.resume import round_trip_json
from eval.harness.systems.description import collect_observed, find_model
from eval.harness.systems.system import find_close_functions
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import open_client
from eval.skn.judging.judge_set import (
    JudgeSet,
    open_model_judges,
    open_published_judges,
    open_rule_judges,
)
from eval.skn.options import RunOptions
from eval.skn.systems.foreign_pipeline import ForeignPipeline, make_foreign_pipelines
from eval.skn.systems.pipeline_system import PipelineSystem
from kg.base.errors import SystemNotFoundError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class SystemSet:
    """The pipelines and judges of a run.

    Attributes:
        systems: the pipelines, in the order of the rows of a sample; all have the same agent. Or
            systems of others in their place.
        judge_set: the judges.
        client: the model that extracts and answers; None for rules.
        warmup_clients: options of the models to call once before the first question.
    """

    systems: tuple[PipelineSystem, ...] | tuple[ForeignPipeline, ...]
    judge_set: JudgeSet
    client: ModelClient | None = None
    warmup_clients: tuple[ClientOptions, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pipelines."""
        return tuple(system.name for system in self.systems)

    @property
    def model(self) -> str | None:
        """Name of the model that extracts and answers; None for rules, or if it is not known."""
        return find_model(self._foreign) if self.client is None else self.client.model

    @property
    def on_close(self) -> tuple[Callable[[], Awaitable[object]], ...]:
        """Functions to await when no pipeline is asked any more."""
        foreign = find_close_functions(self._foreign)
        return foreign if self.client is None else (self.client.aclose,)

    @property
    def _foreign(self) -> list[Any]:
        return [one.system for one in self.systems if isinstance(one, ForeignPipeline)]

    def close(self) -> None:
        """Closes everything if the run failed before it did so; may be called twice."""
        functions = (*self.on_close, *self.judge_set.on_close)
        if functions:
            close_clients(functions)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of extractors, agent and judges, as read from a manifest.

        For a system of somebody else, those of the whole system stand for those of an extractor.
        """
        agents = [one.agent for one in self.systems if isinstance(one, PipelineSystem)]
        return {
            "extractors": {
                system.name: round_trip_json(
                    system.extractor.params()
                    if isinstance(system, PipelineSystem)
                    else system.params()
                )
                for system in self.systems
            },
            "agent": round_trip_json(agents[0].params()) if agents else {},
            "judges": round_trip_json(self.judge_set.judges.params()),
        }

    def observed(self) -> dict[str, Any]:
        """Returns what was observed of the models, by role."""
        if self.client is not None:
            return {"answers": self.client.observed(), "judges": self.judge_set.observed()}
        answers = collect_observed(self._foreign, self.names) if self._foreign else {}
        judges = self.judge_set.observed()
        return {
            **({"answers": answers} if answers else {}),
            **({"judges": judges} if judges else {}),
        }


def open_systems(options: RunOptions) -> SystemSet:
    """Opens the pipelines and judges that the options name.

    Raises:
        SystemNotFoundError: a system of somebody else cannot be made, or two share a name.
        SettingError: no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    if options.systems:
        return _open_foreign(options)
    return _open_rules(options) if options.offline else _open_models(options)


def _open_foreign(options: RunOptions) -> SystemSet:
    systems = make_foreign_pipelines(options)
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise SystemNotFoundError(
            "two systems share a name", where=", ".join(names), hint="Rename one of them."
        )
    return add_judges(systems, options)


def add_judges(systems: tuple[ForeignPipeline, ...], options: RunOptions) -> SystemSet:
    """Adds the judges that the options name: rules if the run is offline, else models.

    Raises:
        SettingError: no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    if options.offline:
        return SystemSet(systems=systems, judge_set=open_rule_judges())
    judge_set = open_model_judges(
        options.client_options(),
        find_model([system.system for system in systems]),
        options.judge_models,
        repeats=options.judge_repeats,
        seed=options.seed,
    )
    return SystemSet(systems=systems, judge_set=judge_set, warmup_clients=judge_set.warmup_clients)


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
