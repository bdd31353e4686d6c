"""A request as it is sent: the part that never changes, and what each call adds to it."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.model.completion import Mode
from eval.model.providers import Endpoint
from eval.model.structured import Asked

STREAMED = b',"stream":true,"stream_options":{"include_usage":true}'


def request_head(
    endpoint: Endpoint, temperature: float | None, top_p: float, max_tokens: int
) -> bytes:
    """The part of every request that never changes, as JSON without its closing brace."""
    # OpenAI's newer models refuse the older name, most other servers know only that one.
    length = "max_completion_tokens" if endpoint.provider == "openai" else "max_tokens"
    head: dict[str, Any] = {"model": endpoint.model, length: max_tokens}
    if temperature is not None:
        head["temperature"] = temperature
    if top_p != 1.0:
        head["top_p"] = top_p
    return msgspec.json.encode(head)[:-1]


def request_body(
    head: bytes,
    turns: bytes,
    *,
    seed: int | None = None,
    logprobs: bool = False,
    form: Asked[Any] | None = None,
    mode: Mode | None = None,
    streamed: bool = False,
) -> bytes:
    """A whole request.

    Args:
        head: as ``request_head`` makes it.
        turns: the messages as JSON.
        seed: of this call's sampling.
        logprobs: whether log-probabilities are asked for.
        form: what the reply must be like, if anything.
        mode: how that is asked for.
        streamed: whether the reply comes piece by piece.
    """
    parts = [head]
    if seed is not None:
        parts.append(b',"seed":%d' % seed)
    if logprobs:
        # The chosen token only; llama.cpp gives twenty unless told.
        parts.append(b',"logprobs":true,"top_logprobs":1')
    if streamed:
        parts.append(STREAMED)
    if form is not None and mode is not None:
        parts.append(form.body_part(mode))
    parts += (b',"messages":', turns, b"}")
    return b"".join(parts)
