"""Counts what one part of a row costs, without hiding it from the log of the whole row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eval.model.calls import CallLog, current_calls, recording
from eval.result import Usage


@contextmanager
def counted() -> Iterator[CallLog]:
    """A log of the calls made inside; at its end they are entered into the open log too."""
    outer = current_calls()
    with recording(outer.repeat) as log:
        try:
            yield log
        finally:
            _enter(log, outer)


def _enter(log: CallLog, outer: CallLog) -> None:
    outer.calls += log.calls
    outer.cached += log.cached
    outer.retries += log.retries
    outer.timeouts += log.timeouts
    outer.repairs += log.repairs
    outer.fallbacks += [told for told in log.fallbacks if told not in outer.fallbacks]
    outer.latency_s += log.latency_s
    outer.uncounted += log.uncounted
    outer.prompt_tokens += log.prompt_tokens
    outer.completion_tokens += log.completion_tokens
    outer.cost_usd = _sum(outer.cost_usd, log.cost_usd)
    outer.paid_usd = _sum(outer.paid_usd, log.paid_usd)


def _sum(first: float | None, second: float | None) -> float | None:
    """Null as soon as one part has no known price."""
    return None if first is None or second is None else first + second


def usage_of(log: CallLog) -> Usage | None:
    """The tokens of a log; null unless every call was counted, or half would pass for all."""
    usage = log.usage()
    return None if usage is None or log.uncounted or not usage.prompt_tokens else usage
