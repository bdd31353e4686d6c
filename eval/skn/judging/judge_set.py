"""Opens the judges of a run: models, with our prompts or the published ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from eval.skn.judges.record import Judges

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class JudgeSet:
    """The judges of a run.

    Attributes:
        judges: they judge answers, without being told the pipeline.
        models: ``provider/model`` of each.
        same: whether a model judges its own answers.
        observed: returns what was observed of each model.
        warmup_clients: options of the models to call once before the first question.
        on_close: functions to await at the end of the run.
    """

    judges: Judges
    models: tuple[str, ...] = ()
    same: bool = False
    observed: Callable[[], dict[str, Any]] = dict
    warmup_clients: tuple[ClientOptions, ...] = ()
    on_close: tuple[Callable[[], Awaitable[object]], ...] = ()

    @property
    def model(self) -> str:
        """Names of the models, joined with commas."""
        return ", ".join(self.models)


def open_published_judges(options: ClientOptions, model: str) -> JudgeSet:
    """Opens the judges of the published benchmark: the model that answers.

    Args:
        options: how the model is called.
        model: its name.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    from eval.skn.judges.published_judges import PublishedJudges

    judges = PublishedJudges.open(options)
    return JudgeSet(
        judges=judges,
        models=(model,),
        same=True,
        observed=lambda: dict(zip((model,), judges.observed(), strict=True)),
        warmup_clients=_list_warmup_clients(options, (model,)),
        on_close=(judges.aclose,),
    )


def open_model_judges(
    options: ClientOptions,
    answerer: str | None,
    judge_models: Sequence[str],
    *,
    repeats: int | None,
    seed: int,
    other_way: str = "",
) -> JudgeSet:
    """Opens models as judges.

    Args:
        options: how models are called.
        answerer: the model that answered; None if it is not known, or if none did.
        judge_models: values of ``--judge-model``; ``same`` lets the answerer judge.
        repeats: number of votes of each model; None for the default.
        seed: seed of the order in which judges are shown their material.
        other_way: what can be done without a judge, for the error if none is named.

    Raises:
        SettingError: no judge is named, or as ``choose_judges``.
        EpocheError: as ``ModelClient.open``.
    """
    from eval.judges.panel import DEFAULT_REPEATS
    from eval.judges.selection import choose_judges
    from eval.skn.judges.model_judges import ModelJudges

    chosen = choose_judges(
        judge_models, answerer, answered_by_model=answerer is not None, other_way=other_way
    )
    judges = ModelJudges.open(
        options, chosen.models, repeats=DEFAULT_REPEATS if repeats is None else repeats, seed=seed
    )
    return JudgeSet(
        judges=judges,
        models=chosen.models,
        same=chosen.same,
        observed=lambda: dict(zip(chosen.models, judges.observed(), strict=True)),
        warmup_clients=_list_warmup_clients(options, chosen.models),
        on_close=(judges.aclose,),
    )


def _list_warmup_clients(
    options: ClientOptions, models: Sequence[str]
) -> tuple[ClientOptions, ...]:
    return tuple(msgspec.structs.replace(options, model=name, cache=None) for name in models)
