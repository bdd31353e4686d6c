"""Tests a model's server and its features: ``epoche test-connection``, or this file as a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.completion import Message, Mode
    from eval.model.options import ClientOptions

MAX_RETRIES = 2
"""Maximum number of retries: fewer than in a run, because the user waits for the test."""
_MAX_TOKENS = 256
_MAX_SHOWN_MODELS = 20


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
    """Prints whether a server can be used and what it supports, one line each.

    Costs about five short calls. Nothing is cached. The exit code is 0 if the model answers.
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
    from eval.llm import ModelClient
    from kg.base.errors import ModelAccessError, ModelCallError

    async with ModelClient.open(options, max_tokens=_MAX_TOKENS) as client:
        _print_line("server", client.params()["endpoint"])
        listed: list[str] | None = None
        try:
            listed = await client.list_models()
        except (ModelAccessError, ModelCallError) as error:
            _print_access(error)
            if _get_http_status(error) in {None, 401, 402, 403}:
                raise
        else:
            _print_line("reachable", "yes")
            _print_line("authorised", "yes")
        _print_line("models", _join_names(listed))
        try:
            reply = await client.complete([{"role": "user", "content": "Say hello."}])
        except (ModelAccessError, ModelCallError):
            _print_line("model known", _describe_listing(client, listed) or "not listed")
            _print_line("answers", "no")
            raise
        _print_line(
            "model known", _describe_listing(client, listed) or "not listed, but it answers"
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
            priced = reply.usage.cost_usd is not None
            _print_line(
                "price", "known" if priced else "unknown: costs will be null (--prices FILE)"
            )


async def _test_structured_output(options: ClientOptions, mode: Mode) -> str:
    """Tests whether the server enforces a reply form that the prompt does not mention."""
    import msgspec

    from eval.llm import ModelClient
    from eval.model.caller import UNREADABLE_FINISH_REASON
    from eval.model.reply_form import get_form
    from kg.base.errors import ModelAccessError, ModelCallError

    class Greeting(msgspec.Struct):
        greeting: str

    # Servers refuse json_object if the prompt does not mention JSON.
    prompt = "Say hello." if mode == "json_schema" else "Say hello, in JSON."
    turns: list[Message] = [{"role": "user", "content": prompt}]
    try:
        async with ModelClient.open(options, max_tokens=_MAX_TOKENS, structured=mode) as client:
            reply = await client.complete(turns, schema=Greeting)
    except (ModelAccessError, ModelCallError) as error:
        return f"no: {error.what}"
    if reply.finish_reason in {"length", UNREADABLE_FINISH_REASON}:
        return "accepted; the reply was too long to tell whether it is followed"
    if mode == "json_object":
        import json

        try:
            followed = isinstance(json.loads(reply.text), dict)
        except ValueError:
            followed = False
    else:
        followed = get_form(Greeting).read_reply(reply.text).exact
    return "yes" if followed else "ignored silently; replies are validated here in any case"


async def _test_streaming(client: ModelClient) -> str:
    from kg.base.errors import ModelAccessError, ModelCallError

    turns: list[Message] = [{"role": "user", "content": "Say hello."}]
    try:
        pieces = [piece async for piece in client.stream(turns)]
    except (ModelAccessError, ModelCallError) as error:
        return f"no: {error.what}"
    return f"yes, {len(pieces)} pieces"


def _print_access(error: Exception) -> None:
    status = _get_http_status(error)
    _print_line("reachable", "no" if status is None else "yes")
    if status is not None:
        refused = status in {401, 402, 403}
        _print_line("authorised", f"no (HTTP {status})" if refused else f"unknown (HTTP {status})")


def _get_http_status(error: Exception) -> int | None:
    """Returns the HTTP status of a failure, or None if the server sent no response."""
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _join_names(listed: list[str] | None) -> str:
    if listed is None:
        return "the server does not list them"
    more = f" and {len(listed) - _MAX_SHOWN_MODELS} more" if len(listed) > _MAX_SHOWN_MODELS else ""
    return (", ".join(sorted(listed)[:_MAX_SHOWN_MODELS]) or "none") + more


def _describe_listing(client: ModelClient, listed: list[str] | None) -> str:
    name = client.model.partition("/")[2]
    return "yes" if listed is not None and name in listed else ""


def _print_line(label: str, value: str) -> None:
    print_text(f"{label:<12} {value}")


if __name__ == "__main__":
    run_script(main)
