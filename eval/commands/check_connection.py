"""Tests a model's server and its features, as ``epoche test-connection`` or as a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.completion import Message, Mode
    from eval.model.environment import Variables
    from eval.model.options import ClientOptions

MAX_RETRIES = 2
"""Maximum number of retries: fewer than in a run, because the user waits for the test."""
_MAX_TOKENS = 256
_MAX_SHOWN_MODELS = 20
_SCRIPT_FOLDER = "recorded"
"""Folder that the printed commands of a recording write to."""


def main(
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="provider/model; by default EPOCHE_MODEL.", show_default=False
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds to wait for each reply.")
    ] = 60.0,
) -> None:
    """Prints whether a server can be used and what it supports, one feature a line.

    Makes about five short model calls. Nothing is cached. The exit code is 0 if the model answers.
    Of a recorded model it prints what was recorded, and the commands that ask for it.
    """
    import asyncio

    from eval.model.options import ClientOptions

    options = ClientOptions(model=model, timeout_s=timeout, max_retries=MAX_RETRIES)
    asyncio.run(check_server(options))


async def check_server(options: ClientOptions) -> None:
    """Sends test requests to a model, and prints which features its server supports.

    Args:
        options: the model, with timeout and retries.

    Raises:
        ModelAccessError, ModelCallError: the model does not answer.
    """
    from eval.model.client import ModelClient
    from eval.model.environment import read_variables
    from eval.model.providers import RECORDED, find_endpoint
    from kg.base.errors import ModelAccessError, ModelCallError

    variables = read_variables()
    endpoint = find_endpoint(options.model, variables, options.base_url)
    if endpoint.provider == RECORDED and not endpoint.server_url:
        _print_recordings(endpoint.model, variables)
        return
    async with ModelClient.open(options, max_tokens=_MAX_TOKENS) as client:
        _print_line("server", client.params()["endpoint"])
        model_names: list[str] | None = None
        try:
            model_names = await client.list_models()
        except (ModelAccessError, ModelCallError) as error:
            _print_access_failure(error)
            # With no response or a refused key, no further test can succeed.
            if _get_http_status(error) in {None, 401, 402, 403}:
                raise
        else:
            _print_line("reachable", "yes")
            _print_line("authorised", "yes")
        _print_line("models", _join_names(model_names))
        try:
            reply = await client.complete([{"role": "user", "content": "Say hello."}])
        except (ModelAccessError, ModelCallError):
            _print_line("model known", _describe_listing(client, model_names) or "not listed")
            _print_line("answers", "no")
            raise
        _print_line(
            "model known", _describe_listing(client, model_names) or "not listed, but it answers"
        )
        _print_line("answers", f"yes, in {reply.latency_s:.2f} s")
        for mode in ("json_schema", "json_object"):
            _print_line(mode, await _test_structured_output(options, mode))
        _print_line(
            "logprobs", "yes" if reply.logprobs else "no: the model's stated confidence is used"
        )
        _print_line("streaming", await _test_streaming(client))
        _print_line("usage", "yes" if reply.usage else "no: tokens and costs will be null")
        if reply.usage is not None:
            has_price = reply.usage.cost_usd is not None
            _print_line(
                "price", "known" if has_price else "unknown: costs will be null (--prices FILE)"
            )


def _print_recordings(model: str, variables: Variables) -> None:
    """Prints what was recorded of a model, as a shell script that asks it again."""
    from eval.model.providers import RECORDED
    from eval.model.recorded_replies import find_folder, load_recordings
    from eval.model.recording_plan import list_commands

    recordings = load_recordings(model, find_folder(variables))
    print_text(
        f"# {RECORDED}/{model} is a recording: it needs no connection, and answers only what these "
        "commands ask"
    )
    print_text(f"export EPOCHE_MODEL={RECORDED}/{model}")
    for recording in recordings:
        print_text("\n".join(list_commands(recording, _SCRIPT_FOLDER)))


async def _test_structured_output(options: ClientOptions, mode: Mode) -> str:
    """Returns whether the server enforces a JSON form that the prompt does not describe."""
    import msgspec

    from eval.model.client import ModelClient
    from eval.model.replies.reply_form import get_form
    from eval.model.server.caller import UNREADABLE_FINISH_REASON
    from kg.base.errors import ModelAccessError, ModelCallError

    class Greeting(msgspec.Struct):
        greeting: str

    # Servers refuse json_object if the prompt does not mention JSON.
    prompt = "Say hello." if mode == "json_schema" else "Say hello, in JSON."
    messages: list[Message] = [{"role": "user", "content": prompt}]
    try:
        async with ModelClient.open(options, max_tokens=_MAX_TOKENS, structured=mode) as client:
            reply = await client.complete(messages, schema=Greeting)
    except (ModelAccessError, ModelCallError) as error:
        return f"no: {error.what}"
    if reply.finish_reason in {"length", UNREADABLE_FINISH_REASON}:
        return "accepted; the reply was too long to tell whether it is followed"
    if mode == "json_object":
        import json

        try:
            is_followed = isinstance(json.loads(reply.text), dict)
        except ValueError:
            is_followed = False
    else:
        is_followed = get_form(Greeting).read_reply(reply.text).exact
    return "yes" if is_followed else "ignored silently; replies are validated here in any case"


async def _test_streaming(client: ModelClient) -> str:
    from kg.base.errors import ModelAccessError, ModelCallError

    messages: list[Message] = [{"role": "user", "content": "Say hello."}]
    n_pieces = 0
    try:
        async for _ in client.stream(messages):
            n_pieces += 1
    except (ModelAccessError, ModelCallError) as error:
        if not n_pieces:  # else a talkative model was cut off
            return f"no: {error.what}"
    return f"yes, {n_pieces} pieces"


def _print_access_failure(error: Exception) -> None:
    status = _get_http_status(error)
    _print_line("reachable", "no" if status is None else "yes")
    if status is not None:
        is_refused = status in {401, 402, 403}
        _print_line(
            "authorised", f"no (HTTP {status})" if is_refused else f"unknown (HTTP {status})"
        )


def _get_http_status(error: Exception) -> int | None:
    """Returns the HTTP status of a failure, or None if the server sent no response."""
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _join_names(model_names: list[str] | None) -> str:
    if model_names is None:
        return "the server does not list them"
    omitted = (
        f" and {len(model_names) - _MAX_SHOWN_MODELS} more"
        if len(model_names) > _MAX_SHOWN_MODELS
        else ""
    )
    return (", ".join(sorted(model_names)[:_MAX_SHOWN_MODELS]) or "none") + omitted


def _describe_listing(client: ModelClient, model_names: list[str] | None) -> str:
    """Returns "yes" if the server lists the model, else an empty string."""
    name = client.model.partition("/")[2]
    return "yes" if model_names is not None and name in model_names else ""


def _print_line(label: str, value: str) -> None:
    print_text(f"{label:<12} {value}")


if __name__ == "__main__":
    run_script(main)
