"""Asks a model's server what it can do: ``epoche test-connection``, or this file as a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.completion import Message, Mode
    from eval.model.options import ClientOptions

RETRIES = 2
"""Fewer than in a run: whoever tests a connection waits for it."""
_MAX_TOKENS = 256
_SHOWN_MODELS = 20


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
    """Says in one line each whether a server can be used and what it supports.

    Costs about five short calls. Nothing is cached. The exit code is 0 if the model answers.
    """
    import asyncio

    from eval.model.options import ClientOptions

    options = ClientOptions(model=model, timeout_s=timeout, max_retries=RETRIES)
    asyncio.run(check(options))


async def check(options: ClientOptions) -> None:
    """Asks a server, and prints what it can do.

    Args:
        options: which model, and how patiently.

    Raises:
        ModelAccessError, ModelCallError: the model does not answer.
    """
    from eval.llm import ModelClient
    from kg.base.errors import ModelAccessError, ModelCallError

    async with ModelClient.open(options, max_tokens=_MAX_TOKENS) as client:
        _line("server", client.params()["endpoint"])
        listed: list[str] | None = None
        try:
            listed = await client.models()
        except (ModelAccessError, ModelCallError) as error:
            _say_access(error)
            if _status(error) in {None, 401, 402, 403}:
                raise
        else:
            _line("reachable", "yes")
            _line("authorised", "yes")
        _line("models", _names(listed))
        try:
            reply = await client.complete([{"role": "user", "content": "Say hello."}])
        except (ModelAccessError, ModelCallError):
            _line("model known", _known(client, listed) or "not listed")
            _line("answers", "no")
            raise
        _line("model known", _known(client, listed) or "not listed, but it answers")
        _line("answers", f"yes, in {reply.latency_s:.2f} s")
        for mode in ("json_schema", "json_object"):
            _line(mode, await _structured(options, mode))
        _line("logprobs", "yes" if reply.logprobs else "no: confidence will be the stated one")
        _line("streaming", await _streaming(client))
        _line("usage", "yes" if reply.usage else "no: tokens and costs will be null")
        if reply.usage is not None:
            priced = reply.usage.cost_usd is not None
            _line("price", "known" if priced else "unknown: costs will be null (--prices FILE)")


async def _structured(options: ClientOptions, mode: Mode) -> str:
    """Whether the server makes the model keep to a form the prompt does not speak of."""
    import msgspec

    from eval.llm import ModelClient
    from eval.model.calling import UNREADABLE
    from eval.model.structured import form_of
    from kg.base.errors import ModelAccessError, ModelCallError

    class Greeting(msgspec.Struct):
        greeting: str

    # Servers refuse json_object where the prompt does not speak of JSON.
    prompt = "Say hello." if mode == "json_schema" else "Say hello, in JSON."
    turns: list[Message] = [{"role": "user", "content": prompt}]
    try:
        async with ModelClient.open(options, max_tokens=_MAX_TOKENS, structured=mode) as client:
            reply = await client.complete(turns, schema=Greeting)
    except (ModelAccessError, ModelCallError) as error:
        return f"no: {error.what}"
    if reply.finish_reason in {"length", UNREADABLE}:
        return "accepted; the reply was too long to tell whether it is followed"
    if mode == "json_object":
        import json

        try:
            followed = isinstance(json.loads(reply.text), dict)
        except ValueError:
            followed = False
    else:
        followed = form_of(Greeting).read(reply.text).exact
    return "yes" if followed else "ignored without a word: replies are checked here all the same"


async def _streaming(client: ModelClient) -> str:
    from kg.base.errors import ModelAccessError, ModelCallError

    turns: list[Message] = [{"role": "user", "content": "Say hello."}]
    try:
        pieces = [piece async for piece in client.stream(turns)]
    except (ModelAccessError, ModelCallError) as error:
        return f"no: {error.what}"
    return f"yes, {len(pieces)} pieces"


def _say_access(error: Exception) -> None:
    status = _status(error)
    _line("reachable", "no" if status is None else "yes")
    if status is not None:
        refused = status in {401, 402, 403}
        _line("authorised", f"no (HTTP {status})" if refused else f"unknown (HTTP {status})")


def _status(error: Exception) -> int | None:
    """The HTTP status a failure came with; null when nothing was heard of the server."""
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _names(listed: list[str] | None) -> str:
    if listed is None:
        return "the server does not list them"
    more = f" and {len(listed) - _SHOWN_MODELS} more" if len(listed) > _SHOWN_MODELS else ""
    return (", ".join(sorted(listed)[:_SHOWN_MODELS]) or "none") + more


def _known(client: ModelClient, listed: list[str] | None) -> str:
    name = client.model.partition("/")[2]
    return "yes" if listed is not None and name in listed else ""


def _line(what: str, found: str) -> None:
    say(f"{what:<12} {found}")


if __name__ == "__main__":
    run_script(main)
