"""Behaviours of a scripted server: normal replies, and the failures of real servers.

A behaviour is an async function that takes a request and returns the response. The functions that
return a ``Behaviour`` make one; ``FAULTS`` lists the failures that a client must survive.
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
class ChatRequest:
    """One request for a completion.

    Attributes:
        number: number of earlier requests.
        attempt: number of earlier requests with the same body.
        body: the JSON of the request.
        key: the API key of the request.
        received_at: when the request arrived, in seconds of the server's monotonic clock.
        web: the request object of the web framework.
    """

    number: int
    attempt: int
    body: dict[str, Any]
    key: str
    received_at: float
    web: web.Request = field(repr=False, compare=False)

    @property
    def prompt(self) -> str:
        """The texts of all messages, joined by line feeds."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])

    @property
    def response_format(self) -> str:
        """Type of the requested structure: ``json_schema``, ``json_object`` or ``text``."""
        return str(self.body.get("response_format", {}).get("type", "text"))


Behaviour = Callable[[ChatRequest], Awaitable[web.StreamResponse]]
ReplyWriter = Callable[[ChatRequest], str]
"""Writes the text of the reply to a request."""


def write_verdict(request: ChatRequest) -> str:
    """Writes a structured YES, NO or UNKNOWN answer that depends only on the last message."""
    last_message = str(request.body["messages"][-1]["content"])
    digest = hashlib.sha256(last_message.encode()).digest()
    return json.dumps(
        {
            "answer": ("YES", "NO", "UNKNOWN")[digest[0] % 3],
            "confidence": round(digest[1] / 255, 3),
            "reason": f"drawn from {digest[2:5].hex()}",
        }
    )


def completion_body(request: ChatRequest, content: object, **message: object) -> dict[str, Any]:
    """Makes a complete ``chat.completion`` with this message."""
    reply_message: dict[str, Any] = {"role": "assistant", "content": content, **message}
    choice: dict[str, Any] = {"index": 0, "message": reply_message, "finish_reason": "stop"}
    if request.body.get("logprobs"):
        choice["logprobs"] = {
            "content": [_logprob_entry(piece) for piece in _split_pieces(str(content))]
        }
    reply_length = len(str(content).split())
    prompt_length = len(request.prompt.split())
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.body.get("model", MODEL),
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt_length,
            "completion_tokens": reply_length,
            "total_tokens": prompt_length + reply_length,
        },
    }


def error_body(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """Makes the JSON body of an error, as OpenAI-compatible servers write it."""
    error_type = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": error_type, "param": None, "code": code}}


# --- normal replies -------------------------------------------------------------------------


def normal_reply(write_text: ReplyWriter = write_verdict, *, delay: float = 0.0) -> Behaviour:
    """A normal reply after ``delay`` seconds, streamed if the request asks for a stream."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        await asyncio.sleep(delay)
        text = write_text(request)
        if request.body.get("stream"):
            return await _stream_reply(request, text)
        return web.json_response(completion_body(request, text))

    return respond


def reply_without_usage(write_text: ReplyWriter = write_verdict) -> Behaviour:
    """A normal reply without token counts."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        body = completion_body(request, write_text(request))
        del body["usage"]
        return web.json_response(body)

    return respond


def reject_structured_output(
    write_text: ReplyWriter = write_verdict, *, rejected_formats: tuple[str, ...] = ("json_schema",)
) -> Behaviour:
    """Status 400 for the formats in ``rejected_formats``; a normal reply for all others."""
    normal = normal_reply(write_text)

    async def respond(request: ChatRequest) -> web.StreamResponse:
        if request.response_format in rejected_formats:
            message = f"response_format type {request.response_format!r} is not supported"
            return web.json_response(error_body(400, message), status=400)
        return await normal(request)

    return respond


def write_prose(request: ChatRequest) -> str:
    """Writes prose, as a server does that silently ignores ``response_format``."""
    return f"{json.loads(write_verdict(request))['answer']}. That follows from what was said."


# --- failures -------------------------------------------------------------------------------


def http_error(
    code: int,
    message: str = "the server cannot answer",
    *,
    error_code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """An HTTP error with a JSON body."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        body = error_body(code, message, error_code)
        return web.json_response(body, status=code, headers=headers)

    return respond


def rate_limit_error(retry_after_s: float | None = None, *, as_date: bool = False) -> Behaviour:
    """Status 429, with ``Retry-After`` in seconds or as an HTTP date, or without it."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        headers = {}
        if retry_after_s is not None:
            date = formatdate(time() + retry_after_s, usegmt=True)
            headers["Retry-After"] = date if as_date else f"{retry_after_s:g}"
        body = error_body(429, "Rate limit reached for requests", "rate_limit_exceeded")
        return web.json_response(body, status=429, headers=headers)

    return respond


def quota_error() -> Behaviour:
    """Status 429 because the quota is used up, so that waiting does not help."""
    return http_error(429, "You exceeded your current quota.", error_code="insufficient_quota")


def expired_key_error() -> Behaviour:
    """Status 401 for every key."""
    return http_error(401, "Your API key has expired.", error_code="invalid_api_key")


def unknown_model_error() -> Behaviour:
    """Status 404 for every model."""
    return http_error(404, "The model does not exist.", error_code="model_not_found")


def reset_connection() -> Behaviour:
    """Resets the connection before any reply."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        transport = request.web.transport
        assert transport is not None
        linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
        return web.Response()

    return respond


def never_reply() -> Behaviour:
    """Never replies and keeps the connection open."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return respond


def drip_reply(
    write_text: ReplyWriter = write_verdict, *, interval: float = 0.05, size: int = 1
) -> Behaviour:
    """A correct reply, ``size`` bytes every ``interval`` seconds: no single read times out."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        body = json.dumps(completion_body(request, write_text(request))).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request.web)
        for start in range(0, len(body), size):
            await response.write(body[start : start + size])
            await asyncio.sleep(interval)
        return response

    return respond


def truncated_reply(write_text: ReplyWriter = write_verdict) -> Behaviour:
    """Half of the promised bytes, then the connection closes."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        body = json.dumps(completion_body(request, write_text(request))).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request.web)
        await response.write(body[: len(body) // 2])
        assert request.web.transport is not None
        request.web.transport.close()
        return response

    return respond


def reply_with_bytes(
    make_body: Callable[[ChatRequest], bytes], content_type: str = "application/json"
) -> Behaviour:
    """Status 200 with exactly these bytes as its body."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        return web.Response(body=make_body(request), headers={"Content-Type": content_type})

    return respond


def half_json_reply(write_text: ReplyWriter = write_verdict) -> Behaviour:
    """A correctly framed body that ends in the middle of the JSON."""
    return reply_with_bytes(
        lambda request: json.dumps(completion_body(request, write_text(request))).encode()[:60]
    )


def invalid_json_reply() -> Behaviour:
    """A body that is labelled as JSON but is not valid JSON."""
    return reply_with_bytes(lambda request: b'{"choices": [{"message": nonsense}]}')


def html_reply() -> Behaviour:
    """Status 200 with an HTML page, as proxies and login portals send it."""
    return reply_with_bytes(
        lambda request: b"<html><body>Please log in.</body></html>", "text/html"
    )


def latin_1_reply() -> Behaviour:
    """JSON in Latin-1 where the client expects UTF-8."""

    def make_body(request: ChatRequest) -> bytes:
        body = completion_body(request, "UNKNOWN: das weiß ich nicht, naïv gefragt")
        return json.dumps(body, ensure_ascii=False).encode("latin-1")

    return reply_with_bytes(make_body)


def invalid_utf8_reply() -> Behaviour:
    """JSON with bytes that are not valid UTF-8."""

    def make_body(request: ChatRequest) -> bytes:
        body = json.dumps(completion_body(request, "UNKNOWN HERE"))
        return body.encode().replace(b"HERE", b"\xff\xfe\xc3")

    return reply_with_bytes(make_body)


def edited_reply(
    change: Callable[[dict[str, Any]], object], write_text: ReplyWriter = write_verdict
) -> Behaviour:
    """A normal reply whose JSON is changed in place."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        body = completion_body(request, write_text(request))
        change(body)
        return web.json_response(body)

    return respond


def reply_without_choices() -> Behaviour:
    """``choices`` is an empty list."""
    return edited_reply(lambda body: body.update(choices=[]))


def empty_text_reply() -> Behaviour:
    """The reply's text is empty."""
    return edited_reply(lambda body: None, lambda request: "")


def null_text_reply() -> Behaviour:
    """The reply's text is null."""
    return edited_reply(lambda body: body["choices"][0]["message"].update(content=None))


def listed_text_reply() -> Behaviour:
    """The reply's text is a list of parts instead of a string."""

    def edit_body(body: dict[str, Any]) -> None:
        message = body["choices"][0]["message"]
        message["content"] = [{"type": "text", "text": message["content"]}]

    return edited_reply(edit_body)


def refusal_reply() -> Behaviour:
    """The model refuses, in the field ``refusal`` instead of the text."""

    def edit_body(body: dict[str, Any]) -> None:
        text = "I'm sorry, I cannot help with that."
        body["choices"][0]["message"].update(content=None, refusal=text)

    return edited_reply(edit_body)


def filtered_reply() -> Behaviour:
    """A content filter removed the reply."""

    def edit_body(body: dict[str, Any]) -> None:
        body["choices"][0].update(finish_reason="content_filter")
        body["choices"][0]["message"].update(content="")

    return edited_reply(edit_body)


def cut_off_reply(n_chars: int = 14, write_text: ReplyWriter = write_verdict) -> Behaviour:
    """The token limit cut the reply in the middle of its JSON, by default in its first value."""

    def edit_body(body: dict[str, Any]) -> None:
        body["choices"][0].update(finish_reason="length")

    return edited_reply(edit_body, lambda request: write_text(request)[:n_chars])


def ended_stream(finish_reason: str, text: str = "It does") -> Behaviour:
    """A streamed reply that ends for this reason."""

    async def respond(request: ChatRequest) -> web.StreamResponse:
        return await _stream_reply(request, text, finish_reason)

    return respond


def huge_reply(megabytes: int = 10) -> Behaviour:
    """A reply with ``megabytes`` of prose."""
    text = "UNKNOWN or not " * (megabytes * 1_000_000 // 15)  # 15 bytes each time
    return edited_reply(lambda body: body["choices"][0]["message"].update(content=text))


FAULTS: dict[str, Callable[[], Behaviour]] = {
    "429 without Retry-After": rate_limit_error,
    "429 with Retry-After in seconds": lambda: rate_limit_error(0.05),
    "429 with Retry-After as a date": lambda: rate_limit_error(1, as_date=True),
    "429 for good": quota_error,
    "408": lambda: http_error(408),
    "500": lambda: http_error(500),
    "502": lambda: http_error(502),
    "503": lambda: http_error(503),
    "400": lambda: http_error(400, "the prompt is too long", error_code="context_length_exceeded"),
    "401": expired_key_error,
    "404": unknown_model_error,
    "reset": reset_connection,
    "hang": never_reply,
    "slow drip": drip_reply,
    "truncated": truncated_reply,
    "half JSON": half_json_reply,
    "invalid JSON": invalid_json_reply,
    "web page": html_reply,
    "latin-1": latin_1_reply,
    "invalid UTF-8": invalid_utf8_reply,
    "no choices": reply_without_choices,
    "empty text": empty_text_reply,
    "null text": null_text_reply,
    "list of parts": listed_text_reply,
    "refusal": refusal_reply,
    "content filter": filtered_reply,
    "cut off": cut_off_reply,
    "10 MB": huge_reply,
    "prose": lambda: normal_reply(write_prose),
    "no structured output": reject_structured_output,
    "no JSON at all": lambda: reject_structured_output(
        rejected_formats=("json_schema", "json_object")
    ),
    "no usage": reply_without_usage,
}
"""Every fault by name. A client must tell them apart; some still allow a correct answer."""


def _split_pieces(text: str) -> list[str]:
    """Splits a text like tokens: words with the space before them, at most 8 letters each."""
    words = [word if number == 0 else f" {word}" for number, word in enumerate(text.split(" "))]
    return [word[start : start + 8] for word in words for start in range(0, len(word), 8)]


def _logprob_entry(piece: str) -> dict[str, Any]:
    """Makes the entry of a token, with a log probability that depends only on its bytes."""
    value = -((sum(piece.encode()) % 50) + 1) / 100
    token = {"token": piece, "logprob": value, "bytes": list(piece.encode())}
    return {**token, "top_logprobs": [token]}


async def _stream_reply(
    request: ChatRequest, text: str, finish_reason: str = "stop"
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request.web)
    shared_fields = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": request.body.get("model", MODEL),
    }
    for piece in _split_pieces(text):
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
        line = json.dumps({**shared_fields, "choices": [choice]})
        await response.write(f"data: {line}\n\n".encode())
    choice = {"index": 0, "delta": {}, "finish_reason": finish_reason}
    await response.write(f"data: {json.dumps({**shared_fields, 'choices': [choice]})}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response
