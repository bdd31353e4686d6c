"""Parses the bytes of a reply.

The text of a reply is required. Usage, log-probabilities and timings differ between servers, and
are treated as absent if they have an unknown form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec


class UnreadableBodyError(Exception):
    """The server's reply is cut off, not JSON, or not a chat completion; a retry may help."""


class ReportedError(Exception):
    """An error in the body of a response with status 200 (as OpenRouter does for its providers).

    Attributes:
        status: the HTTP status that the body names; 0 if it names none.
    """

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class ReceivedReply(msgspec.Struct, frozen=True):
    """The relevant parts of a chat completion; this is also what the cache stores.

    Attributes:
        text, finish_reason, refusal, logprobs: as in ``Completion``.
        prompt_tokens, completion_tokens: the server's count; null if it gives none.
        cost_usd: the cost as reported by the server; null if it does not report it.
        latency_s: seconds of the call.
        served: the name of the model as reported by the server.
        ttft_s: seconds to the first token; null unless streamed or reported by the server.
        at_s: Unix time at which the reply was complete; null in caches of older versions.
        retries: number of failed attempts before this reply.
        timeouts: number of failed attempts that timed out.
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


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_usage = msgspec.json.Decoder(_Usage).decode
_decode_timings = msgspec.json.Decoder(_Timings).decode
_decode_logprobs = msgspec.json.Decoder(_Logprobs).decode
_NULL = b"null"


def read_body(body: bytes, latency_s: float) -> ReceivedReply:
    """Parses a chat completion.

    Usage and log-probabilities are optional: in an unknown form they are treated as absent.

    Raises:
        UnreadableBodyError: the body is not a chat completion, or has no choice.
        ReportedError: the body reports an error instead.
    """
    try:
        parsed = _decode_body(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableBodyError(f"the reply is not a chat completion: {error}") from error
    if bytes(parsed.error) != _NULL:
        raise _parse_reported_error(parsed.error)
    if not parsed.choices or parsed.choices[0].message is None:
        raise UnreadableBodyError("the reply has no choices")
    choice, message = parsed.choices[0], parsed.choices[0].message
    if choice.finish_reason == "error":
        raise UnreadableBodyError("the server broke the reply off")
    prompt, completion, cost = read_usage(parsed.usage)
    return ReceivedReply(
        text=_join_text(message.content),
        finish_reason=choice.finish_reason,
        refusal=message.refusal or None,
        logprobs=_parse_logprobs(choice.logprobs),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost,
        latency_s=round(latency_s, 6),
        served=parsed.model,
        ttft_s=_compute_ttft(parsed.timings, latency_s),
    )


class ChunkParts(NamedTuple):
    """The relevant parts of one chunk of a streamed reply; usage is None where it has none."""

    text: str = ""
    refusal: str = ""
    finish_reason: str | None = None
    usage: tuple[int | None, int | None, float | None] | None = None


def read_chunk(chunk: Any) -> ChunkParts:
    """Returns the parts of a chunk, as parsed by the client library."""
    usage = chunk.usage and read_usage(msgspec.json.encode(chunk.usage.model_dump()))
    if not chunk.choices:
        return ChunkParts(usage=usage)
    choice = chunk.choices[0]  # only one is requested
    if choice.delta is None:
        return ChunkParts(finish_reason=choice.finish_reason, usage=usage)
    refusal = _join_text(getattr(choice.delta, "refusal", None))
    return ChunkParts(_join_text(choice.delta.content), refusal, choice.finish_reason, usage)


def read_chunks(chunks: Sequence[Any], latency_s: float, ttft_s: float | None) -> ReceivedReply:
    """Joins the chunks of a streamed chat completion.

    Args:
        chunks: all chunks, as parsed by the client library.
        latency_s: seconds to the last chunk.
        ttft_s: seconds to the first chunk with text.

    Raises:
        UnreadableBodyError: the stream was cut off before the model had finished.
    """
    texts: list[str] = []
    refusals: list[str] = []
    tokens: list[Any] = []
    finish_reason: str | None = None
    usage: tuple[int | None, int | None, float | None] = (None, None, None)
    served: str | None = None
    for chunk in chunks:
        served = served or (chunk.model if isinstance(chunk.model, str) else None)
        parts = read_chunk(chunk)
        texts.append(parts.text)
        refusals.append(parts.refusal)
        finish_reason = parts.finish_reason or finish_reason
        usage = parts.usage or usage
        for choice in (chunk.choices or ())[:1]:
            if choice.logprobs is not None:
                tokens += choice.logprobs.model_dump().get("content") or ()
    if finish_reason is None:
        raise UnreadableBodyError("the streamed reply was cut off")
    if finish_reason == "error":
        raise UnreadableBodyError("the server broke the reply off")
    prompt, completion, cost = usage
    return ReceivedReply(
        text="".join(texts),
        finish_reason=finish_reason,
        refusal="".join(refusals) or None,
        logprobs=_parse_logprobs(msgspec.Raw(msgspec.json.encode({"content": tokens}))),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost,
        latency_s=round(latency_s, 6),
        served=served,
        ttft_s=None if ttft_s is None else round(ttft_s, 6),
    )


def read_usage(raw: msgspec.Raw | bytes) -> tuple[int | None, int | None, float | None]:
    """Parses prompt tokens, completion tokens and cost; None where absent or invalid."""
    if bytes(raw) == _NULL:
        return None, None, None
    try:
        usage = _decode_usage(raw)
    except msgspec.DecodeError:
        return None, None, None
    if usage.prompt_tokens < 0 or usage.completion_tokens < 0:
        return None, None, None
    cost = usage.cost
    is_valid = cost is not None and math.isfinite(cost) and cost >= 0
    return usage.prompt_tokens, usage.completion_tokens, cost if is_valid else None


def _compute_ttft(raw: msgspec.Raw, latency_s: float) -> float | None:
    """Computes the seconds to the first token from the generation time that llama.cpp reports."""
    if bytes(raw) == _NULL:
        return None
    try:
        generation_s = _decode_timings(raw).predicted_ms / 1000
    except msgspec.DecodeError:
        return None
    return round(latency_s - generation_s, 6) if 0 <= generation_s <= latency_s else None


def _join_text(content: object) -> str:
    """Returns the text of a message; some servers send it in parts."""
    if isinstance(content, str):
        return content
    items = content if isinstance(content, list) else ()
    parts = [part.get("text") for part in items if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _parse_logprobs(raw: msgspec.Raw) -> tuple[tuple[str, float], ...] | None:
    if bytes(raw) == _NULL:
        return None
    try:
        tokens = _decode_logprobs(raw).content
    except msgspec.DecodeError:
        return None
    if not tokens or not all(token.logprob <= 0.0 for token in tokens):
        return None
    return tuple((token.token, token.logprob) for token in tokens)


def _parse_reported_error(raw: msgspec.Raw) -> ReportedError:
    try:
        error = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        error = None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 100 <= code < 600 else 0
    return ReportedError(status, bytes(raw)[:4000].decode("utf-8", "replace"))
