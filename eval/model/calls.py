"""Records the model calls made while one question is answered, for usage, latency and cost.

A system may call a model any number of times, also through helpers that know nothing of rows. To
spare these from returning usage, latency and retries, the open log is a context variable: the
runner opens a ``CallLog`` around each question (``record_calls``), the client adds to it
(``current_calls``), and asyncio copies the context into every task that the system starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from eval.model.usage import Usage


@dataclass
class CallLog:
    """The model calls of one question.

    Attributes:
        repeat: number of the repeat of the question, from 0; part of the cache key, so that each
            repeat gets its own reply.
        calls: replies received, from the server or the cache.
        cached: number of these replies that came from the cache.
        retries: attempts that failed and were retried.
        timeouts: attempts that timed out, including the last one.
        repairs: repair turns, which request the reply again in a readable form.
        fallbacks: structured-output modes that the server did not support, in order of occurrence.
        latency_s: seconds spent waiting for servers, without back-off and rate limiting. Parallel
            calls add up; a cached call counts the seconds of the original call.
        uncounted: number of replies without token counts, for which the sums are incomplete.
        prompt_tokens, completion_tokens: sums of the servers' counts.
        cost_usd: by the price table; None as soon as one call has no known price.
        paid_usd: the part of ``cost_usd`` that this run paid, that is, without cached calls.
    """

    repeat: int = 0
    calls: int = 0
    cached: int = 0
    retries: int = 0
    timeouts: int = 0
    repairs: int = 0
    fallbacks: list[str] = field(default_factory=list)
    latency_s: float = 0.0
    uncounted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    paid_usd: float | None = 0.0

    def add_reply(self, *, latency_s: float, usage: Usage | None, cached: bool) -> None:
        """Adds one reply."""
        self.calls += 1
        self.cached += cached
        self.latency_s += latency_s
        if not cached and self.paid_usd is not None:
            price = None if usage is None else usage.cost_usd
            self.paid_usd = None if price is None else self.paid_usd + price
        if usage is None:
            self.uncounted += 1
            self.cost_usd = None
            return
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if self.cost_usd is not None:
            self.cost_usd = None if usage.cost_usd is None else self.cost_usd + usage.cost_usd

    def sum_usage(self) -> Usage | None:
        """Returns the sum over all calls, or None if no model was called."""
        if not self.calls:
            return None
        return Usage(self.prompt_tokens, self.completion_tokens, self.cost_usd)


_current_log: ContextVar[CallLog | None] = ContextVar("epoche_calls", default=None)


def current_calls() -> CallLog:
    """Returns the log of the question being answered; outside of a question, a discarded one."""
    return _current_log.get() or CallLog()


@contextmanager
def record_calls(repeat: int = 0) -> Iterator[CallLog]:
    """Opens a log for the calls made in a ``with`` block, including tasks started in it."""
    log = CallLog(repeat)
    token = _current_log.set(log)
    try:
        yield log
    finally:
        _current_log.reset(token)
