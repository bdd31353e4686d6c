"""The panel of judges: a client for each model, and how often each votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions

MAX_REPEATS = 25
USUAL_REPEATS = 2
"""Votes of each model on every matter, unless told otherwise: the fewest that can disagree."""


def check_panel(models: int, repeats: int) -> None:
    """Refuses a panel that cannot judge.

    Raises:
        SettingError: there are no models, or the number of repeats makes no sense.
    """
    if not models:
        raise SettingError("no judge is named", where="--judge-model")
    if not 1 <= repeats <= MAX_REPEATS:
        raise SettingError(
            f"a judge votes from 1 to {MAX_REPEATS} times, not {repeats}",
            where="--judge-repeats",
        )


def open_panel(
    options: ClientOptions,
    models: Sequence[str],
    *,
    max_tokens: int,
    seed: int,
    temperature: float | None = 0.0,
) -> list[ModelClient]:
    """Opens a client for each model; nothing is sent yet.

    Args:
        options: how models are called; which one is said by ``models``.
        models: ``provider/model`` of each.
        max_tokens: of a verdict.
        seed: of the sampling where a server has one.
        temperature: of the sampling.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    from eval.llm import ModelClient

    return [
        ModelClient.open(
            msgspec.structs.replace(options, model=model),
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            logprobs=False,
        )
        for model in models
    ]
