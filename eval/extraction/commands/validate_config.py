"""Validates a configuration, as ``epoche extract validate-config`` or as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script

if TYPE_CHECKING:
    from eval.extraction.configuration.config import Config


def main(config: Annotated[Path, typer.Option(help="The YAML file.")]) -> None:
    """Lists all errors in a configuration, each with its line.

    No model is called and no data is loaded. The exit code is 0 if the file can be used.
    """
    from eval.extraction.configuration.config import describe_differences
    from eval.extraction.configuration.reader import check_config
    from kg.base.errors import ConfigError

    valid_config, problems = check_config(config)
    for problem in problems:
        print_text(f"{config}: {problem}")
    if valid_config is None:
        errors = "1 error" if len(problems) == 1 else f"{len(problems)} errors"
        raise ConfigError(f"{errors} in the configuration", where=str(config))
    _print_endpoint(valid_config, config)
    for note in describe_differences(valid_config):
        print_text(f"note: {note}")
    print_text(f"{config} can be used")


def _print_endpoint(config: Config, path: Path) -> None:
    """Prints which server the model would be called on, without calling it.

    Raises:
        ConfigError: the configuration determines no server.
    """
    from eval.extraction.options import list_models
    from eval.model.environment import read_variables
    from eval.model.providers import find_endpoint
    from kg.base.errors import ConfigError, ModelAccessError

    model_settings = config.model
    if model_settings.model_name is None:
        print_text("model.model_name is not set: give a model with --model")
        return
    try:
        (model_id,) = list_models(config, ())
        endpoint = find_endpoint(model_id, read_variables(), model_settings.base_url)
    except ModelAccessError as error:
        raise ConfigError(
            f"model: {error.what}", where=f"{path}: {error.where}", hint=error.hint
        ) from error
    print_text(f"{endpoint.name} will be called at {endpoint.base_url}")


if __name__ == "__main__":
    run_script(main)
