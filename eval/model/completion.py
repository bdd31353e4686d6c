"""The types for talking to a model: messages, completions and structured replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypedDict, TypeVar

from eval.model.usage import Usage

T = TypeVar("T")

Mode: TypeAlias = Literal["json_schema", "json_object", "text", "guided_json"]
"""How a structured reply is requested, from the strictest mode to the loosest. ``guided_json``, the
parameter of older vLLM servers, is used only if it is named: other servers ignore it."""

MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""The modes that ``auto`` tries in turn."""


class Message(TypedDict):
    """One turn of a conversation; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of a model, from the server or the cache.

    Attributes:
        text: the text of the reply; empty if the model wrote nothing or refused.
        finish_reason: why it stopped: ``stop``, ``length`` (cut off at ``max_tokens``),
            ``content_filter``, …; None if the server does not state it.
        refusal: the refusal of the model or server in words; None if it did not refuse.
        mode: how a structured reply was requested; None if none was.
        usage: tokens by the server's count, and their price; None if the server gives no count.
        latency_s: seconds from sending the request to the last byte, without the time spent waiting
            for rate limits, a free connection or a retry. A cached reply has the latency of its
            original call.
        logprobs: tokens and their natural-log probabilities; None if the server gives none.
        cached: whether the reply came from the cache.
        ttft_s: seconds from sending the request to the first token; None unless the reply was
            streamed or the server reports the generation time.
        at_s: Unix time at which the reply was complete; None for replies from an old cache.
        retries: number of failed attempts before this reply.
        timeouts: number of these attempts that timed out.
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    mode: Mode | None = None
    usage: Usage | None = None
    latency_s: float = 0.0
    logprobs: tuple[tuple[str, float], ...] | None = None
    cached: bool = False
    ttft_s: float | None = None
    at_s: float | None = None
    retries: int = 0
    timeouts: int = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the model was still writing when it reached ``max_tokens``."""
        return self.finish_reason == "length"

    @property
    def is_refused(self) -> bool:
        """Whether the model refused, or a filter blocked the reply; not counted as abstention."""
        return self.refusal is not None or self.finish_reason == "content_filter"


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A structured reply.

    Attributes:
        value: the value read, or None if the reply is unreadable even after the repair turn.
        text: the text of the reply.
        completion: the call that returned the text: that of the repair turn, if there was one.
        problem: why the reply is unreadable; None if it was read.
        repaired: whether a repair turn was needed.
        earlier: the first call, if its reply could not be read.
    """

    value: T | None
    text: str
    completion: Completion
    problem: str | None = None
    repaired: bool = False
    earlier: Completion | None = None
