"""Reaches the server of a run: ``epoche extract test-connection``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say

if TYPE_CHECKING:
    from eval.model.options import ClientOptions

_ANY = "unnamed"
"""Asked for while only the server's list of models is wanted."""


def main(
    base_url: Annotated[
        str | None, typer.Option(help="Address of the server; goes before the configuration's.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="By default the configuration's, else the first listed.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with both.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for each reply.")] = 60.0,
) -> None:
    """Says whether a server can be used and what it supports, as `epoche test-connection` does."""
    import asyncio

    from eval.check_connection import RETRIES, check
    from eval.extraction.running.config_flags import with_flags
    from eval.extraction.running.config_reading import read_config
    from eval.extraction.running.run_options import models_of
    from eval.model.options import ClientOptions

    settings = with_flags(
        None if config is None else read_config(config),
        {"model.base_url": base_url, "model.model_name": model},
    )
    section = settings.model
    unnamed = section.base_url is not None and section.model_name is None
    if unnamed:
        settings = with_flags(settings, {"model.model_name": _ANY})
    (name,) = models_of(settings, ())
    options = ClientOptions(
        model=name, base_url=section.base_url, timeout_s=timeout, max_retries=RETRIES
    )
    if unnamed:
        first = asyncio.run(_first_listed(options))
        say(f"no model is named; the first that is listed is asked: {first}")
        (name,) = models_of(with_flags(settings, {"model.model_name": first}), ())
        options = ClientOptions(
            model=name, base_url=section.base_url, timeout_s=timeout, max_retries=RETRIES
        )
    asyncio.run(check(options))


async def _first_listed(options: ClientOptions) -> str:
    from eval.llm import ModelClient
    from kg.base.errors import ModelAccessError

    async with ModelClient.open(options) as client:
        listed = await client.models()
    if not listed:
        raise ModelAccessError(
            "the server lists no model", where=str(options.base_url), hint="Name one with --model."
        )
    return sorted(listed)[0]


if __name__ == "__main__":
    run_script(main)
