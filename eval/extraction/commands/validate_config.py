"""Checks a configuration: ``epoche extract validate-config``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say

if TYPE_CHECKING:
    from eval.extraction.running.config import Config


def main(config: Annotated[Path, typer.Option(help="The YAML file.")]) -> None:
    """Lists everything that is wrong with a configuration, each with its line.

    No model is called and nothing is loaded. The exit code is 0 if the file can be used.
    """
    from eval.extraction.running.config import notes_on
    from eval.extraction.running.config_reading import check_config
    from kg.base.errors import ConfigError

    found, problems = check_config(config)
    for problem in problems:
        say(f"{config}: {problem}")
    if found is None:
        faults = "1 fault" if len(problems) == 1 else f"{len(problems)} faults"
        raise ConfigError(f"{faults} in the configuration", where=str(config))
    _say_endpoint(found, config)
    for note in notes_on(found):
        say(f"note: {note}")
    say(f"{config} can be used")


def _say_endpoint(found: Config, path: Path) -> None:
    """Where the model would be asked, without asking it.

    Raises:
        ConfigError: nowhere.
    """
    from eval.extraction.running.run_options import models_of
    from eval.model.environment import read_variables
    from eval.model.providers import find_endpoint
    from kg.base.errors import ConfigError, ModelAccessError

    section = found.model
    if section.model_name is None:
        say("no model.model_name: name a model with --model, or use --offline")
        return
    try:
        (name,) = models_of(found, ())
        endpoint = find_endpoint(name, read_variables(), section.base_url)
    except ModelAccessError as error:
        raise ConfigError(
            f"model: {error.what}", where=f"{path}: {error.where}", hint=error.hint
        ) from error
    say(f"{endpoint.name} is asked at {endpoint.base_url}")


if __name__ == "__main__":
    run_script(main)
