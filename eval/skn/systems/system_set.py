"""Opens the pipelines and judges of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.harness.folder_run import close_clients
from eval.harness.resume import round_trip_json
from eval.harness.systems.description import collect_observed, find_model
from eval.harness.systems.system import find_close_functions
from eval.model.environment import read_variables
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import open_client
from eval.skn.judging.judge_set import JudgeSet, open_model_judges, open_published_judges
from eval.skn.options import RunOptions
from eval.skn.systems.foreign_pipeline import ForeignPipeline, make_foreign_pipelines
from eval.skn.systems.pipeline_system import PipelineSystem
from kg.base.errors import SettingError, SystemNotFoundError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class SystemSet:
    """The pipelines and judges of a run.

    Attributes:
        systems: the pipelines, in the order of the rows of a sample; all have the same agent. Or
            systems of others in their place.
        judge_set: the judges; None if nothing is judged.
        client: the model that extracts and answers; None for systems of others.
        warmup_clients: options of the models to call once before the first question.
    """

    systems: tuple[PipelineSystem, ...] | tuple[ForeignPipeline, ...]
    judge_set: JudgeSet | None
    client: ModelClient | None = None
    warmup_clients: tuple[ClientOptions, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pipelines."""
        return tuple(system.name for system in self.systems)

    @property
    def model(self) -> str | None:
        """Name of the model that extracts and answers; None if it is not known."""
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
        judges = () if self.judge_set is None else self.judge_set.on_close
        if functions := (*self.on_close, *judges):
            close_clients(functions)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of extractors, agent and judges, as read from a manifest.

        For a system of somebody else, those of the whole system stand for those of an extractor.
        """
        agents = [one.agent for one in self.systems if isinstance(one, PipelineSystem)]
        judge_set = self.judge_set
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
            "judges": {} if judge_set is None else round_trip_json(judge_set.judges.params()),
            "judge_model": None if judge_set is None else judge_set.model,
            "same_judge": judge_set is not None and judge_set.same,
        }

    def observed(self) -> dict[str, Any]:
        """Returns what was observed of the models, by role."""
        answers = (
            collect_observed(self._foreign, self.names)
            if self.client is None
            else self.client.observed()
        )
        judges = {} if self.judge_set is None else self.judge_set.observed()
        return {
            **({"answers": answers} if answers else {}),
            **({"judges": judges} if judges else {}),
        }


def open_systems(options: RunOptions) -> SystemSet:
    """Opens the pipelines and judges that the options name.

    Raises:
        SystemNotFoundError: a system of somebody else cannot be made, or two share a name.
        SettingError: no model or no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    return _open_foreign(options) if options.systems else _open_models(options)


def _open_foreign(options: RunOptions) -> SystemSet:
    systems = make_foreign_pipelines(options)
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise SystemNotFoundError(
            "two systems share a name", where=", ".join(names), hint="Rename one of them."
        )
    return add_judges(systems, options)


def add_judges(systems: tuple[ForeignPipeline, ...], options: RunOptions) -> SystemSet:
    """Adds the judges that the options name, if any.

    Raises:
        SettingError: no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    judge_set = _open_judges(options, find_model([system.system for system in systems]))
    warmup_clients = () if judge_set is None else judge_set.warmup_clients
    return SystemSet(systems=systems, judge_set=judge_set, warmup_clients=warmup_clients)


def _open_judges(options: RunOptions, answerer: str | None) -> JudgeSet | None:
    """Opens the judges that the options name; None if nothing is to be judged."""
    if options.no_judge:
        return None
    if options.setting.published and answerer is not None:
        return open_published_judges(options.client_options(), answerer)
    return open_model_judges(
        options.client_options(),
        answerer,
        options.judge_models,
        repeats=options.judge_repeats,
        seed=options.seed,
        other_way="--no-judge leaves the answers unjudged.",
    )


def _open_models(options: RunOptions) -> SystemSet:
    from eval.skn.agent import ModelAgent
    from eval.skn.formats.extraction import ModelExtractor

    client_options, setting = options.client_options(), options.setting
    if not (client_options.model or read_variables().get("EPOCHE_MODEL")):
        raise SettingError(
            "neither a model nor a system is named",
            where="--model, --system",
            hint="Name a model as provider/model, such as --model ollama/llama3.2, or set "
            "EPOCHE_MODEL; recorded models need no server (docs/how-to/skn.md). --system asks a "
            "system of your own.",
        )
    client = open_client(client_options, setting)
    judge_set = _open_judges(options, client.model)
    agent = ModelAgent(client, setting)
    answerer = msgspec.structs.replace(client_options, model=client.model, cache=None)
    judges = () if judge_set is None else judge_set.warmup_clients
    return SystemSet(
        systems=tuple(
            PipelineSystem(name, ModelExtractor(PIPELINES[name], client, setting), agent)
            for name in options.pipelines
        ),
        judge_set=judge_set,
        client=client,
        warmup_clients=(answerer, *(one for one in judges if one.model != client.model)),
    )
