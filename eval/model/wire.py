"""The bytes of a server's reply: read leniently where servers differ, strictly where it counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec


class UnreadableBodyError(Exception):
    """The server's reply is cut off, no JSON, or no chat completion; asking again may help."""


class ReportedError(Exception):
    """The server answered 200, and an error in the body (OpenRouter does, when a provider fails).

    Attributes:
        status: the HTTP status the body names; 0 when it names none.
    """

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class Received(msgspec.Struct, frozen=True):
    """What counts of a chat completion; also what the cache keeps.

    Attributes:
        text, finish_reason, refusal, logprobs: as in ``Completion``.
        prompt_tokens, completion_tokens: the server's count; null when it gives none.
        cost_usd: what the server says the call cost; null when it does not say.
        latency_s: seconds of the call.
        served: the name of the model that answered, as the server gives it.
        ttft_s: seconds to the first token; null unless streamed, or told by the server.
        at_s: Unix time at which the reply was complete; null in caches made before it was kept.
        retries: attempts before it that failed.
        timeouts: those of them that were not complete in time.
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    logprobs: tuple[tuple[str, float], ...] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float = 0.0
    served: str | None = None
    ttft_s: float | None = None
    at_s: float | None = None
    retries: int = 0
    timeouts: int = 0


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw(b"null")


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    model: str | None = None
    timings: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0
    cost: float | None = None


class _Timings(msgspec.Struct):
    predicted_ms: float


class _Token(msgspec.Struct):
    token: str
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


_read_body = msgspec.json.Decoder(_Body).decode
_read_usage = msgspec.json.Decoder(_Usage).decode
_read_timings = msgspec.json.Decoder(_Timings).decode
_read_logprobs = msgspec.json.Decoder(_Logprobs).decode
_NULL = b"null"


def read_body(body: bytes, latency_s: float) -> Received:
    """Reads a chat completion.

    Usage and log-probabilities are extras: a server that gives them in another form gives none.

    Raises:
        UnreadableBodyError: it is none, or has no choice.
        ReportedError: it reports an error instead.
    """
    try:
        read = _read_body(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableBodyError(f"the reply is no chat completion: {error}") from error
    if bytes(read.error) != _NULL:
        raise _reported(read.error)
    if not read.choices or read.choices[0].message is None:
        raise UnreadableBodyError("the reply has no choices")
    choice, message = read.choices[0], read.choices[0].message
    if choice.finish_reason == "error":
        raise UnreadableBodyError("the server broke the reply off")
    prompt, completion, cost = read_usage(read.usage)
    return Received(
        text=_text(message.content),
        finish_reason=choice.finish_reason,
        refusal=message.refusal or None,
        logprobs=_logprobs(choice.logprobs),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost,
        latency_s=round(latency_s, 6),
        served=read.model,
        ttft_s=_first_token(read.timings, latency_s),
    )


def read_chunks(chunks: Sequence[Any], latency_s: float, ttft_s: float | None) -> Received:
    """Puts a streamed chat completion together.

    Args:
        chunks: as the client library reads them, to the last.
        latency_s: seconds to the last of them.
        ttft_s: seconds to the first that held text.

    Raises:
        UnreadableBodyError: the stream broke off before the model had finished.
    """
    texts: list[str] = []
    refusals: list[str] = []
    tokens: list[Any] = []
    finish: str | None = None
    usage: tuple[int | None, int | None, float | None] = (None, None, None)
    served: str | None = None
    for chunk in chunks:
        served = served or (chunk.model if isinstance(chunk.model, str) else None)
        if chunk.usage is not None:
            usage = read_usage(msgspec.json.encode(chunk.usage.model_dump()))
        for choice in (chunk.choices or ())[:1]:
            finish = choice.finish_reason or finish
            if choice.delta is not None:
                texts.append(choice.delta.content or "")
                refusals.append(getattr(choice.delta, "refusal", None) or "")
            if choice.logprobs is not None:
                tokens += choice.logprobs.model_dump().get("content") or ()
    if finish is None:
        raise UnreadableBodyError("the streamed reply was cut off")
    if finish == "error":
        raise UnreadableBodyError("the server broke the reply off")
    prompt, completion, cost = usage
    return Received(
        text="".join(texts),
        finish_reason=finish,
        refusal="".join(refusals) or None,
        logprobs=_logprobs(msgspec.Raw(msgspec.json.encode({"content": tokens}))),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost,
        latency_s=round(latency_s, 6),
        served=served,
        ttft_s=None if ttft_s is None else round(ttft_s, 6),
    )


def read_usage(raw: msgspec.Raw | bytes) -> tuple[int | None, int | None, float | None]:
    """Prompt tokens, completion tokens, cost; nulls where the server tells none (or nonsense)."""
    if bytes(raw) == _NULL:
        return None, None, None
    try:
        usage = _read_usage(raw)
    except msgspec.DecodeError:
        return None, None, None
    if usage.prompt_tokens < 0 or usage.completion_tokens < 0:
        return None, None, None
    cost = usage.cost
    sensible = cost is not None and math.isfinite(cost) and cost >= 0
    return usage.prompt_tokens, usage.completion_tokens, cost if sensible else None


def _first_token(raw: msgspec.Raw, latency_s: float) -> float | None:
    """Seconds to the first token, by a server that says for how long it wrote (llama.cpp)."""
    if bytes(raw) == _NULL:
        return None
    try:
        wrote = _read_timings(raw).predicted_ms / 1000
    except msgspec.DecodeError:
        return None
    return round(latency_s - wrote, 6) if 0 <= wrote <= latency_s else None


def _text(content: str | list[Any] | None) -> str:
    """The text of a message; some servers give it in parts."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _logprobs(raw: msgspec.Raw) -> tuple[tuple[str, float], ...] | None:
    if bytes(raw) == _NULL:
        return None
    try:
        tokens = _read_logprobs(raw).content
    except msgspec.DecodeError:
        return None
    if not tokens or not all(token.logprob <= 0.0 for token in tokens):
        return None
    return tuple((token.token, token.logprob) for token in tokens)


def _reported(raw: msgspec.Raw) -> ReportedError:
    try:
        error = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        error = None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 100 <= code < 600 else 0
    return ReportedError(status, bytes(raw)[:4000].decode("utf-8", "replace"))
