"""Counts the model calls made for one part of a row.

The calls are added to the log of the whole row too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eval.model.calls import CallLog, current_calls, record_calls
from eval.model.usage import Usage


@contextmanager
def count_calls() -> Iterator[CallLog]:
    """Opens a log for the calls in a ``with`` block, and adds them to the outer log at its end."""
    outer = current_calls()
    with record_calls(outer.repeat) as log:
        try:
            yield log
        finally:
            _add_calls(log, outer)


def _add_calls(log: CallLog, outer: CallLog) -> None:
    outer.calls += log.calls
    outer.cached += log.cached
    outer.retries += log.retries
    outer.timeouts += log.timeouts
    outer.repairs += log.repairs
    outer.fallbacks += [name for name in log.fallbacks if name not in outer.fallbacks]
    outer.latency_s += log.latency_s
    outer.uncounted += log.uncounted
    outer.prompt_tokens += log.prompt_tokens
    outer.completion_tokens += log.completion_tokens
    outer.cost_usd = _add_costs(outer.cost_usd, log.cost_usd)
    outer.paid_usd = _add_costs(outer.paid_usd, log.paid_usd)


def _add_costs(first: float | None, second: float | None) -> float | None:
    """Adds two costs; None if either is unknown."""
    return None if first is None or second is None else first + second


def get_complete_usage(log: CallLog) -> Usage | None:
    """Returns the token sums of a log; None if there were no calls or the sums are incomplete."""
    usage = log.sum_usage()
    # A server that reports no prompt tokens has not counted them.
    return None if usage is None or log.uncounted or not usage.prompt_tokens else usage
