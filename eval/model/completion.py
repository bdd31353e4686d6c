"""What goes to a model and what comes back: messages, completions, typed replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypedDict, TypeVar

from eval.result import Usage

T = TypeVar("T")

Mode: TypeAlias = Literal["json_schema", "json_object", "text"]
"""How a structured reply is asked for, from the strictest to the loosest."""

MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")


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
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    mode: Mode | None = None
    usage: Usage | None = None
    latency_s: float = 0.0
    logprobs: tuple[tuple[str, float], ...] | None = None
    cached: bool = False

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
    """

    value: T | None
    text: str
    completion: Completion
    problem: str | None = None
    repaired: bool = False
