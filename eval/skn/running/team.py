"""Who takes the steps of a run: a model and its judges, or rules for all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.skn.pipelines import PIPELINES
from eval.skn.run_settings import Setting, open_client
from eval.skn.running.manifest import round_trip_json
from eval.skn.running.stages import Stages

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class Team:
    """Extractors, agent and judges, with what the manifest says of them.

    Attributes:
        stages: they themselves.
        model: who extracts and answers, null for rules.
        judge_model: who judges, null for rules; several with commas between them.
        same_judge: whether whoever answers also judges.
        warmed: the models to be called once before anything is measured, by how they are called.
        observed: what the models turned out to do, by role.
        closing: what to await at the end.
    """

    stages: Stages
    model: str | None = None
    judge_model: str | None = None
    same_judge: bool = False
    warmed: tuple[ClientOptions, ...] = ()
    observed: Callable[[], dict[str, Any]] = dict
    closing: tuple[Callable[[], Awaitable[object]], ...] = ()

    def params(self) -> dict[str, Any]:
        """What extractors, agent and judges say of themselves, as a manifest gives it back."""
        stages = self.stages
        return {
            "extractors": {
                name: round_trip_json(extractor.params())
                for name, extractor in stages.extractors.items()
            },
            "agent": round_trip_json(stages.agent.params()),
            "judges": round_trip_json(stages.judges.params()),
        }


def rule_team(pipelines: Sequence[str], setting: Setting) -> Team:
    """Rules for everything: no model, no network, the same bytes every time."""
    from eval.skn.judges.rule_judges import RuleJudges
    from eval.skn.rules.agent import RuleAgent
    from eval.skn.rules.extractor import RuleExtractor

    extractors = {name: RuleExtractor(PIPELINES[name], setting) for name in pipelines}
    return Team(
        stages=Stages(extractors, RuleAgent(), RuleJudges(), published=False), same_judge=False
    )


def model_team(
    pipelines: Sequence[str],
    setting: Setting,
    options: ClientOptions,
    *,
    judge_models: Sequence[str],
    judge_repeats: int | None,
    seed: int,
) -> Team:
    """A model for extraction and answers, and another for judging.

    Args:
        pipelines: by name.
        setting: what is the same for all of them.
        options: the model that answers, and how models are called.
        judge_models: as given; ``same`` lets the answerer judge.
        judge_repeats: how often each answer is judged; null for the usual number.
        seed: of the order in which judges are shown things.

    Raises:
        SettingError: no judge is named.
        EpocheError: as ``ModelClient.open``.
    """
    from eval.judges.panel import DEFAULT_REPEATS
    from eval.judges.selection import JudgeSelection, choose_judges
    from eval.skn.agent import ModelAgent
    from eval.skn.formats.extraction import ModelExtractor
    from eval.skn.judges.model_judges import ModelJudges
    from eval.skn.judges.published_judges import PublishedJudges

    client = open_client(options, setting)
    if setting.published:
        judges: ModelJudges | PublishedJudges = PublishedJudges.open(options)
        chosen = JudgeSelection((client.model,), same=True)
    else:
        chosen = choose_judges(judge_models, client.model)
        repeats = DEFAULT_REPEATS if judge_repeats is None else judge_repeats
        judges = ModelJudges.open(options, chosen.models, repeats=repeats, seed=seed)
    extractors = {name: ModelExtractor(PIPELINES[name], client, setting) for name in pipelines}
    named = dict.fromkeys((client.model, *chosen.models))
    return Team(
        stages=Stages(extractors, ModelAgent(client, setting), judges, setting.published),
        model=client.model,
        judge_model=", ".join(chosen.models),
        same_judge=chosen.same,
        warmed=tuple(msgspec.structs.replace(options, model=name, cache=None) for name in named),
        observed=lambda: {
            "answers": client.observed(),
            "judges": dict(zip(chosen.models, judges.observed(), strict=True)),
        },
        closing=(client.aclose, judges.aclose),
    )
