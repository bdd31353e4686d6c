"""Tests the connection to a model server, as ``epoche extract test-connection`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script

if TYPE_CHECKING:
    from eval.model.options import ClientOptions

_PLACEHOLDER_MODEL = "unnamed"
"""Model name used to ask the server for its models when none is given."""


def main(
    base_url: Annotated[
        str | None, typer.Option(help="URL of the server; overrides the configuration.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Name of the model. [default: the configuration's, or the first listed]"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML configuration file.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for each reply.")] = 60.0,
) -> None:
    """Tests whether a server can be used and what it supports, like `epoche test-connection`."""
    import asyncio

    from eval.commands.check_connection import MAX_RETRIES, check_server
    from eval.extraction.configuration.reader import apply_flags, read_config
    from eval.extraction.options import list_models
    from eval.model.options import ClientOptions

    settings = apply_flags(
        None if config is None else read_config(config),
        {"model.base_url": base_url, "model.model_name": model},
    )
    model_settings = settings.model
    has_no_model = model_settings.base_url is not None and model_settings.model_name is None
    if has_no_model:
        settings = apply_flags(settings, {"model.model_name": _PLACEHOLDER_MODEL})
    (model_id,) = list_models(settings, ())
    options = ClientOptions(
        model=model_id, base_url=model_settings.base_url, timeout_s=timeout, max_retries=MAX_RETRIES
    )
    if has_no_model:
        first_model = asyncio.run(_find_first_model(options))
        print_text(f"no model given; using the first one the server lists: {first_model}")
        (model_id,) = list_models(apply_flags(settings, {"model.model_name": first_model}), ())
        options = ClientOptions(
            model=model_id,
            base_url=model_settings.base_url,
            timeout_s=timeout,
            max_retries=MAX_RETRIES,
        )
    asyncio.run(check_server(options))


async def _find_first_model(options: ClientOptions) -> str:
    from eval.model.client import ModelClient
    from kg.base.errors import ModelAccessError

    async with ModelClient.open(options) as client:
        model_names = await client.list_models()
    if not model_names:
        raise ModelAccessError(
            "the server lists no model", where=str(options.base_url), hint="Give one with --model."
        )
    return sorted(model_names)[0]


if __name__ == "__main__":
    run_script(main)
