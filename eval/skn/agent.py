"""The agent: answers a question from an extraction, the same for every format.

Its reply is typed: an answer, a confidence, the reasoning, and whether it abstains. A reply that
is not of that form (a list where a text is wanted, a missing field, "eight", a refusal) is
unreadable: neither an abstention nor an error.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from eval.result import Usage


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent made of one context and question.

    Attributes:
        answer: its answer; empty when the reply is unreadable.
        confidence: that the answer is right, 0 to 1, as stated; null when it states no share.
        reasoning: how it got there, in its words.
        abstained: whether it says that it does not answer; null where it is not asked
            (as published) or unreadable.
        raw: the reply before it was read.
        problem: what is wrong with it, in words; empty when nothing is.
        readable: whether the reply could be read.
        latency_s: seconds of all its calls; null where no call was made.
        usage: tokens of all its calls; null when a server does not count them.
    """

    answer: str
    confidence: float | None
    reasoning: str
    abstained: bool | None
    readable: bool
    raw: str = ""
    problem: str = ""
    latency_s: float | None = None
    usage: Usage | None = None


class Agent(Protocol):
    """Answers questions from extractions."""

    def params(self) -> dict[str, Any]:
        """Everything that decides its answers, as JSON values, for the manifest."""
        ...

    async def reason(self, context: str, question: str) -> Response:
        """Answers from ``context`` alone.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed for good.
        """
        ...
