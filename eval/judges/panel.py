"""The panel of judges: opens a client for each model, and checks the number of votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions

MAX_REPEATS = 25
"""Maximum number of votes per model and item."""
DEFAULT_REPEATS = 2
"""Default number of votes per model and item: the smallest number that can show disagreement."""


def check_panel(models: int, repeats: int) -> None:
    """Checks the size of a panel.

    Raises:
        SettingError: there are no models, or the number of repeats is out of range.
    """
    if not models:
        raise SettingError("no judge is named", where="--judge-model")
    if not 1 <= repeats <= MAX_REPEATS:
        raise SettingError(
            f"a judge can vote 1 to {MAX_REPEATS} times, not {repeats}",
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
        options: the options for calling models; their ``model`` is replaced.
        models: ``provider/model`` of each judge.
        max_tokens: maximum number of tokens of a vote.
        seed: sampling seed, for servers that support one.
        temperature: sampling temperature.

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
