"""Builds request bodies from a constant head and the parts that each call adds."""

from __future__ import annotations

from typing import Any

import msgspec

from eval.model.completion import Mode
from eval.model.providers import Endpoint
from eval.model.replies.reply_form import ReplyForm

STREAMED = b',"stream":true,"stream_options":{"include_usage":true}'


def build_request_head(
    endpoint: Endpoint, temperature: float | None, top_p: float, max_tokens: int
) -> bytes:
    """Builds the constant part of every request, as JSON without its closing brace."""
    # OpenAI's newer models refuse "max_tokens"; most other servers know only that name.
    length_key = "max_completion_tokens" if endpoint.provider == "openai" else "max_tokens"
    head: dict[str, Any] = {"model": endpoint.model, length_key: max_tokens}
    if temperature is not None:
        head["temperature"] = temperature
    if top_p != 1.0:
        head["top_p"] = top_p
    return msgspec.json.encode(head)[:-1]


def build_request_body(
    head: bytes,
    turns: bytes,
    *,
    seed: int | None = None,
    logprobs: bool = False,
    form: ReplyForm[Any] | None = None,
    mode: Mode | None = None,
    streamed: bool = False,
) -> bytes:
    """Builds a whole request.

    Args:
        head: result of ``build_request_head``.
        turns: the messages as JSON.
        seed: sampling seed of this call.
        logprobs: whether log-probabilities are requested.
        form: form of a structured reply, if one is requested.
        mode: how the form is requested.
        streamed: whether the reply is streamed.
    """
    parts = [head]
    if seed is not None:
        parts.append(b',"seed":%d' % seed)
    if logprobs:
        # Only the chosen token; llama.cpp returns twenty alternatives by default.
        parts.append(b',"logprobs":true,"top_logprobs":1')
    if streamed:
        parts.append(STREAMED)
    if form is not None and mode is not None:
        parts.append(form.render_body_part(mode))
    parts += (b',"messages":', turns, b"}")
    return b"".join(parts)
