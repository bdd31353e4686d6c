"""What one question costs: every model call made while a card is being answered, by whomever.

A system may call a model once, five times or not at all, and through helpers that know nothing of
cards. So that none of them has to hand usage, latency and retries upwards, the runner opens a
``CallLog`` around each question (``recording``), the client adds to whatever log is open
(``current_calls``), and asyncio carries it along into every task that the system starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from eval.result import Usage


@dataclass
class CallLog:
    """The model calls of one question.

    Attributes:
        repeat: which repeat of the question this is, from 0; part of the response cache's key, so
            that a repeat is never answered by the first reply.
        calls: replies received, from the server or the cache.
        cached: those of them that came from the cache.
        retries: attempts that failed and were made again.
        timeouts: those of them that were not complete in time, and the last one if it was not.
        repairs: second turns that asked for a readable reply.
        fallbacks: structured-output modes that had to be left, in the order it happened.
        latency_s: seconds spent waiting for servers, without back-off and rate limiting. Parallel
            calls add up; a cached call counts the seconds it took when it was first made.
        uncounted: replies whose tokens the server did not count, so that sums are no totals.
        prompt_tokens, completion_tokens: as the servers counted them.
        cost_usd: by the price table; null as soon as one call has no known price.
        paid_usd: the part of it that was paid now, that is, not answered by the cache.
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

    def add(self, *, latency_s: float, usage: Usage | None, cached: bool) -> None:
        """Enters one reply."""
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

    def usage(self) -> Usage | None:
        """The sum over all calls; null when no model was called."""
        if not self.calls:
            return None
        return Usage(self.prompt_tokens, self.completion_tokens, self.cost_usd)


_open: ContextVar[CallLog | None] = ContextVar("epoche_calls", default=None)


def current_calls() -> CallLog:
    """The log of the question being answered; one that nobody reads outside of a question."""
    return _open.get() or CallLog()


@contextmanager
def recording(repeat: int = 0) -> Iterator[CallLog]:
    """Opens a log for one question; calls made inside, also in tasks started inside, go there."""
    log = CallLog(repeat)
    token = _open.set(log)
    try:
        yield log
    finally:
        _open.reset(token)
