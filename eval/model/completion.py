"""What goes to a model and what comes back: messages, completions, typed replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypedDict, TypeVar

from eval.result import Usage

T = TypeVar("T")

Mode: TypeAlias = Literal["json_schema", "json_object", "text", "guided_json"]
"""How a structured reply is asked for, from the strictest to the loosest. ``guided_json``, the
parameter of older vLLM servers, is used only where it is demanded: others ignore it."""

MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""What is tried in turn."""


class Message(TypedDict):
    """One turn of a conversation; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of a model, from the server or the cache.

    Attributes:
        text: what the model said; empty when it said nothing or refused.
        finish_reason: why it stopped: ``stop``, ``length`` (cut off at ``max_tokens``),
            ``content_filter``, …; null when the server does not say.
        refusal: the words with which model or server refused; null when it did not.
        mode: how a structured reply was asked for; null when none was.
        usage: tokens by the server's count, and their price; null when it gives no count.
        latency_s: seconds from sending the request to the last byte, without waiting for rate
            limits, a free connection or a retry; a cached reply has that of its first call.
        logprobs: tokens and their natural-log probabilities; null when the server gives none.
        cached: whether it came from the cache.
        ttft_s: seconds from sending the request to the first token; null unless it was streamed or
            the server tells how long it wrote.
        at_s: when it was complete, in Unix time; null where an old cache does not know.
        retries: attempts before it that failed.
        timeouts: those of them that were not complete in time.
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
    def refused(self) -> bool:
        """Whether the model refused or a filter held its reply back: no answer, no abstention."""
        return self.refusal is not None or self.finish_reason == "content_filter"


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A structured reply.

    Attributes:
        value: what was read, or null when it is unreadable even after the repair turn.
        text: the words it was (not) read from.
        completion: the call that gave them: the repair turn's, if there was one.
        problem: why it is unreadable; null when it was read.
        repaired: whether a repair turn was needed.
        earlier: the call whose reply could not be read, if there was one.
    """

    value: T | None
    text: str
    completion: Completion
    problem: str | None = None
    repaired: bool = False
    earlier: Completion | None = None
