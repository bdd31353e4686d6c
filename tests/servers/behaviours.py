"""What a scripted server can do with a request: answer it well, or fail in a way servers fail.

A behaviour is an async function of the request that returns the response. Each name here makes
one; ``FAULTS`` lists those a client must survive.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from time import time
from typing import Any

from aiohttp import web

MODEL = "scripted-1"
API_KEY = "sk-loopback-scripted-9d27e4"


@dataclass(frozen=True)
class Asked:
    """One request for a completion.

    Attributes:
        number: how many came before it.
        attempt: how many of those had the very same body.
        body: the JSON sent.
        key: the API key sent.
        at: the server's monotonic clock when it came, in seconds.
        web: the request as the web framework has it.
    """

    number: int
    attempt: int
    body: dict[str, Any]
    key: str
    at: float
    web: web.Request = field(repr=False, compare=False)

    @property
    def prompt(self) -> str:
        """All messages' texts, one after the other."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])

    @property
    def response_format(self) -> str:
        """Type of the structure asked for: ``json_schema``, ``json_object`` or ``text``."""
        return str(self.body.get("response_format", {}).get("type", "text"))


Behaviour = Callable[[Asked], Awaitable[web.StreamResponse]]
Say = Callable[[Asked], str]
"""Makes the reply's text from the request."""


def verdict(asked: Asked) -> str:
    """A structured answer that depends on the last message alone."""
    last = str(asked.body["messages"][-1]["content"])
    digest = hashlib.sha256(last.encode()).digest()
    return json.dumps(
        {
            "answer": ("YES", "NO", "UNKNOWN")[digest[0] % 3],
            "confidence": round(digest[1] / 255, 3),
            "reason": f"drawn from {digest[2:5].hex()}",
        }
    )


def completion(asked: Asked, content: object, **message: object) -> dict[str, Any]:
    """A whole ``chat.completion`` with this message."""
    said: dict[str, Any] = {"role": "assistant", "content": content, **message}
    choice: dict[str, Any] = {"index": 0, "message": said, "finish_reason": "stop"}
    if asked.body.get("logprobs"):
        choice["logprobs"] = {"content": [_logprob(piece) for piece in _pieces(str(content))]}
    words = len(str(content).split())
    length = len(asked.prompt.split())
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked.body.get("model", MODEL),
        "choices": [choice],
        "usage": {
            "prompt_tokens": length,
            "completion_tokens": words,
            "total_tokens": length + words,
        },
    }


def error_body(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """An error as these servers word it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# --- good replies ---------------------------------------------------------------------------


def reply(say: Say = verdict, *, delay: float = 0.0) -> Behaviour:
    """A normal reply, streamed if asked, after ``delay`` seconds."""

    async def act(asked: Asked) -> web.StreamResponse:
        await asyncio.sleep(delay)
        text = say(asked)
        if asked.body.get("stream"):
            return await _streamed(asked, text)
        return web.json_response(completion(asked, text))

    return act


def without_usage(say: Say = verdict) -> Behaviour:
    """A normal reply that does not say how many tokens it took."""

    async def act(asked: Asked) -> web.StreamResponse:
        body = completion(asked, say(asked))
        del body["usage"]
        return web.json_response(body)

    return act


def without_structure(
    say: Say = verdict, *, refuses: tuple[str, ...] = ("json_schema",)
) -> Behaviour:
    """400 for the response formats in ``refuses``, as servers answer that do not know them."""
    normal = reply(say)

    async def act(asked: Asked) -> web.StreamResponse:
        if asked.response_format in refuses:
            message = f"response_format type {asked.response_format!r} is not supported"
            return web.json_response(error_body(400, message), status=400)
        return await normal(asked)

    return act


def prose(asked: Asked) -> str:
    """What a server says that ignores ``response_format`` without a word."""
    return f"{json.loads(verdict(asked))['answer']}. That follows from what was said."


# --- failures -------------------------------------------------------------------------------


def status(
    code: int,
    message: str = "the server cannot answer",
    *,
    error_code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """An HTTP error with a JSON body."""

    async def act(asked: Asked) -> web.StreamResponse:
        body = error_body(code, message, error_code)
        return web.json_response(body, status=code, headers=headers)

    return act


def rate_limited(after: float | None = None, *, as_date: bool = False) -> Behaviour:
    """429, with ``Retry-After`` in seconds or as an HTTP date, or without it."""

    async def act(asked: Asked) -> web.StreamResponse:
        headers = {}
        if after is not None:
            date = formatdate(time() + after, usegmt=True)
            headers["Retry-After"] = date if as_date else f"{after:g}"
        body = error_body(429, "Rate limit reached for requests", "rate_limit_exceeded")
        return web.json_response(body, status=429, headers=headers)

    return act


def out_of_quota() -> Behaviour:
    """429 that no waiting ends."""
    return status(429, "You exceeded your current quota.", error_code="insufficient_quota")


def expired_key() -> Behaviour:
    """401 for every key."""
    return status(401, "Your API key has expired.", error_code="invalid_api_key")


def no_such_model() -> Behaviour:
    """404 for every model."""
    return status(404, "The model does not exist.", error_code="model_not_found")


def reset() -> Behaviour:
    """The connection is reset before anything is said."""

    async def act(asked: Asked) -> web.StreamResponse:
        transport = asked.web.transport
        assert transport is not None
        linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
        return web.Response()

    return act


def hang() -> Behaviour:
    """Nothing is ever said, and the connection stays open."""

    async def act(asked: Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return act


def drip(say: Say = verdict, *, interval: float = 0.05, size: int = 1) -> Behaviour:
    """A right reply, ``size`` bytes every ``interval`` seconds: each read succeeds, none ends."""

    async def act(asked: Asked) -> web.StreamResponse:
        body = json.dumps(completion(asked, say(asked))).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(asked.web)
        for start in range(0, len(body), size):
            await response.write(body[start : start + size])
            await asyncio.sleep(interval)
        return response

    return act


def truncated(say: Say = verdict) -> Behaviour:
    """Half of the promised bytes, then the connection closes."""

    async def act(asked: Asked) -> web.StreamResponse:
        body = json.dumps(completion(asked, say(asked))).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(asked.web)
        await response.write(body[: len(body) // 2])
        assert asked.web.transport is not None
        asked.web.transport.close()
        return response

    return act


def raw_body(make: Callable[[Asked], bytes], content_type: str = "application/json") -> Behaviour:
    """200 with these very bytes as its body."""

    async def act(asked: Asked) -> web.StreamResponse:
        return web.Response(body=make(asked), headers={"Content-Type": content_type})

    return act


def half_json(say: Say = verdict) -> Behaviour:
    """A body that ends in the middle of the JSON, correctly framed."""
    return raw_body(lambda asked: json.dumps(completion(asked, say(asked))).encode()[:60])


def invalid_json() -> Behaviour:
    """A body that is no JSON though it says so."""
    return raw_body(lambda asked: b'{"choices": [{"message": nonsense}]}')


def web_page() -> Behaviour:
    """200 with a page, as proxies and portals give it."""
    return raw_body(lambda asked: b"<html><body>Please log in.</body></html>", "text/html")


def in_latin_1() -> Behaviour:
    """JSON in Latin-1 that claims to be UTF-8."""

    def make(asked: Asked) -> bytes:
        body = completion(asked, "UNKNOWN: das weiß ich nicht, naïv gefragt")
        return json.dumps(body, ensure_ascii=False).encode("latin-1")

    return raw_body(make)


def invalid_utf8() -> Behaviour:
    """JSON with bytes that no UTF-8 text holds."""

    def make(asked: Asked) -> bytes:
        body = json.dumps(completion(asked, "UNKNOWN HERE"))
        return body.encode().replace(b"HERE", b"\xff\xfe\xc3")

    return raw_body(make)


def edited(change: Callable[[dict[str, Any]], object], say: Say = verdict) -> Behaviour:
    """A normal reply whose JSON was changed in place."""

    async def act(asked: Asked) -> web.StreamResponse:
        body = completion(asked, say(asked))
        change(body)
        return web.json_response(body)

    return act


def no_choices() -> Behaviour:
    """``choices`` is an empty list."""
    return edited(lambda body: body.update(choices=[]))


def empty_text() -> Behaviour:
    """The reply's text is empty."""
    return edited(lambda body: None, lambda asked: "")


def null_text() -> Behaviour:
    """The reply's text is null."""
    return edited(lambda body: body["choices"][0]["message"].update(content=None))


def listed_text() -> Behaviour:
    """A list of parts where a string was expected."""

    def change(body: dict[str, Any]) -> None:
        message = body["choices"][0]["message"]
        message["content"] = [{"type": "text", "text": message["content"]}]

    return edited(change)


def refusal() -> Behaviour:
    """The model's refusal, in the field made for it."""

    def change(body: dict[str, Any]) -> None:
        text = "I'm sorry, I cannot help with that."
        body["choices"][0]["message"].update(content=None, refusal=text)

    return edited(change)


def filtered() -> Behaviour:
    """A content filter took the reply away."""

    def change(body: dict[str, Any]) -> None:
        body["choices"][0].update(finish_reason="content_filter")
        body["choices"][0]["message"].update(content="")

    return edited(change)


def cut_off() -> Behaviour:
    """The token limit ended the reply in the middle of its JSON."""

    def change(body: dict[str, Any]) -> None:
        body["choices"][0].update(finish_reason="length")

    return edited(change, lambda asked: verdict(asked)[:20])


def huge(megabytes: int = 10) -> Behaviour:
    """A reply of so many megabytes of prose."""
    text = "UNKNOWN or not " * (megabytes * 1_000_000 // 15)
    return edited(lambda body: body["choices"][0]["message"].update(content=text))


FAULTS: dict[str, Callable[[], Behaviour]] = {
    "429 without Retry-After": rate_limited,
    "429 with Retry-After in seconds": lambda: rate_limited(0.05),
    "429 with Retry-After as a date": lambda: rate_limited(1, as_date=True),
    "429 for good": out_of_quota,
    "408": lambda: status(408),
    "500": lambda: status(500),
    "502": lambda: status(502),
    "503": lambda: status(503),
    "400": lambda: status(400, "the prompt is too long", error_code="context_length_exceeded"),
    "401": expired_key,
    "404": no_such_model,
    "reset": reset,
    "hang": hang,
    "slow drip": drip,
    "truncated": truncated,
    "half JSON": half_json,
    "invalid JSON": invalid_json,
    "web page": web_page,
    "latin-1": in_latin_1,
    "invalid UTF-8": invalid_utf8,
    "no choices": no_choices,
    "empty text": empty_text,
    "null text": null_text,
    "list of parts": listed_text,
    "refusal": refusal,
    "content filter": filtered,
    "cut off": cut_off,
    "10 MB": huge,
    "prose": lambda: reply(prose),
    "no structured output": without_structure,
    "no JSON at all": lambda: without_structure(refuses=("json_schema", "json_object")),
    "no usage": without_usage,
}
"""Every way to fail, by name. Some leave a good answer possible; none may be read as another."""


def _pieces(text: str) -> list[str]:
    """A text cut like tokens: words with the space before them, at most 8 letters each."""
    words = [word if place == 0 else f" {word}" for place, word in enumerate(text.split(" "))]
    return [word[start : start + 8] for word in words for start in range(0, len(word), 8)]


def _logprob(piece: str) -> dict[str, Any]:
    value = -((sum(piece.encode()) % 50) + 1) / 100
    top = {"token": piece, "logprob": value, "bytes": list(piece.encode())}
    return {**top, "top_logprobs": [top]}


async def _streamed(asked: Asked, text: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(asked.web)
    shared = {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": asked.body.get("model", MODEL),
    }
    for piece in _pieces(text):
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
        line = json.dumps({**shared, "choices": [choice]})
        await response.write(f"data: {line}\n\n".encode())
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    await response.write(f"data: {json.dumps({**shared, 'choices': [choice]})}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response
