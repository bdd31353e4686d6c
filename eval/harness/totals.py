"""Adds up the model calls behind a result file, over all sessions that wrote it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from eval.model.calls import CallLog
from eval.model.usage import Usage

_UNITS_PER_DOLLAR = 10**12
"""Costs are added as integers, so that the sum does not depend on the order of the answers."""


class CallTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The model calls of a run.

    Tokens and ``cost_usd`` are sums over the rows in the file, and hence do not depend on
    interruptions or shards. The other counts are of the calls actually made, in every session,
    including those for questions that were cancelled or asked again; calls of a killed session
    count up to its last checkpoint.
    """

    replies: int = 0
    """Replies received, from servers or the cache."""
    cached: int = 0
    """Number of these calls that were answered from the cache."""
    retries: int = 0
    """Attempts that failed and were retried."""
    repairs: int = 0
    """Repair turns, which request the reply again in a readable form."""
    fallbacks: dict[str, int] = {}
    """Structured-output modes that the server did not support, with the number of questions."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """Cost of the rows by the price table; null if any of them has no known price."""
    spent_usd: float | None = None
    """Cost actually paid: without cached replies, but with calls that gave no row."""

    def format_summary(self) -> str:
        """Formats the totals as one line for the console."""
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        cost = "no known price" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        if self.replies and not self.prompt_tokens + self.completion_tokens:
            # Every reply has tokens, so zero means that the server did not count them.
            tokens = "tokens not counted by the server"
            cost = "cost not known" if not self.cost_usd else cost
        if self.spent_usd is not None and self.spent_usd != self.cost_usd:
            cost += f" ({self.spent_usd:.4f} paid)"
        others = [
            f"{number:,} {what}"
            for number, what in (
                (self.cached, "from the cache"),
                (self.retries, "retries"),
                (self.repairs, "repair turns"),
            )
            if number
        ]
        replies = [f"{self.replies:,} replies"] if self.replies else []
        fallbacks = [f"{what} ({number:,})" for what, number in self.fallbacks.items()]
        return ", ".join([*replies, tokens, cost, *others, *fallbacks])


@dataclass
class _UsageSum:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_units: int = 0
    unpriced: int = 0

    def add_usage(self, usage: Usage) -> None:
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if usage.cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_units += _to_units(usage.cost_usd)


class CallMeter:
    """Adds up tokens, costs and calls during a run."""

    def __init__(self) -> None:
        self._rows: dict[int, _UsageSum] = {}
        self._counts: Counter[str] = Counter()
        self._fallbacks: Counter[str] = Counter()
        self._spent = 0
        self._unpriced = 0

    def add_row(self, outcome: int, usage: Usage | None) -> None:
        """Adds the usage of a row in the file, under its outcome code."""
        if usage is not None:
            self._rows.setdefault(outcome, _UsageSum()).add_usage(usage)

    def remove_outcome(self, outcome: int) -> None:
        """Removes the usage of one outcome's rows, which were removed from the file."""
        self._rows.pop(outcome, None)

    def add_answer(self, outcome: int, usage: Usage | None, log: CallLog) -> None:
        """Adds a question answered in this session, whose row is in the file."""
        self.add_row(outcome, usage)
        self.add_calls(log)
        if usage is not None and not log.calls:  # the system does not use our model client
            self._add_payment(usage.cost_usd)

    def add_calls(self, log: CallLog) -> None:
        """Adds the calls made in this session for one question, even if it gave no row."""
        if log.calls or log.retries:
            self._add_counts(log)
            self._fallbacks.update(set(log.fallbacks))
            self._add_payment(log.paid_usd)

    def add_earlier_sessions(self, totals: CallTotals | None) -> None:
        """Adds the totals of earlier sessions of this run; call it after their rows were added.

        If the rows cost more than the totals say, rows were written after the last checkpoint of a
        session that was killed; the difference is counted as paid.
        """
        known = 0.0 if totals is None else totals.cost_usd
        if known is not None:
            rows = sum(part.cost_units for part in self._rows.values())
            self._spent += max(0, rows - _to_units(known))
        self.add_totals(totals)

    def add_totals(self, totals: CallTotals | None) -> None:
        """Adds calls that were counted elsewhere, for example in another shard."""
        if totals is not None:
            self._add_counts(totals)
            self._fallbacks.update(totals.fallbacks)
            self._add_payment(totals.spent_usd)

    def _add_counts(self, made: CallLog | CallTotals) -> None:
        replies = made.calls if isinstance(made, CallLog) else made.replies
        self._counts.update(
            replies=replies, cached=made.cached, retries=made.retries, repairs=made.repairs
        )

    def _add_payment(self, usd: float | None) -> None:
        if usd is None:
            self._unpriced += 1
        else:
            self._spent += _to_units(usd)

    @property
    def spent_usd(self) -> float | None:
        """Cost paid so far; None if any call had no known price."""
        return None if self._unpriced else self._spent / _UNITS_PER_DOLLAR

    def compute_totals(self) -> CallTotals | None:
        """Returns the totals for the manifest, or None if no model was called."""
        rows = list(self._rows.values())
        if not (rows or self._counts):
            return None
        unpriced = any(part.unpriced for part in rows)
        return CallTotals(
            replies=self._counts["replies"],
            cached=self._counts["cached"],
            retries=self._counts["retries"],
            repairs=self._counts["repairs"],
            fallbacks=dict(sorted(self._fallbacks.items())),
            prompt_tokens=sum(part.prompt_tokens for part in rows),
            completion_tokens=sum(part.completion_tokens for part in rows),
            cost_usd=None
            if unpriced
            else sum(part.cost_units for part in rows) / _UNITS_PER_DOLLAR,
            spent_usd=self.spent_usd,
        )


def _to_units(usd: float) -> int:
    return round(usd * _UNITS_PER_DOLLAR)
