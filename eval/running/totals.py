"""What the model calls behind a result file came to, over all sessions that wrote it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from eval.model.calls import CallLog
from eval.result import Usage

_PARTS_A_DOLLAR = 10**12
"""Costs are added as whole numbers, so that the order in which answers come cannot matter."""


class CallTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The model calls of a run.

    Tokens and ``cost_usd`` are sums over the rows in the file, and hence the same for a run that
    was cut off, or asked in shards, as for one that was not. The other counts are of what was
    really done, in every session, for questions that were cancelled or asked again too; a session
    that was killed outright counts up to its last checkpoint.
    """

    replies: int = 0
    """Replies received, from servers or the cache."""
    cached: int = 0
    """Those of them that came from the cache."""
    retries: int = 0
    """Attempts that failed and were made again."""
    repairs: int = 0
    """Second turns that asked for a readable reply."""
    fallbacks: dict[str, int] = {}
    """Structured-output modes that had to be left, with how many questions saw it."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """What the rows cost by the price table; null as soon as one has no known price."""
    spent_usd: float | None = None
    """What was paid: without what the cache answered, with what ended in no row."""

    def in_words(self) -> str:
        """One line for the console."""
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        cost = "no known price" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        if self.replies and not self.prompt_tokens + self.completion_tokens:
            # No reply is without tokens: nobody said how many there were, or what they cost.
            tokens = "tokens not counted by the server"
            cost = "cost not known" if not self.cost_usd else cost
        if self.spent_usd is not None and self.spent_usd != self.cost_usd:
            cost += f" ({self.spent_usd:.4f} paid)"
        others = [
            f"{number:,} {what}"
            for number, what in (
                (self.cached, "from the cache"),
                (self.retries, "tried again"),
                (self.repairs, "asked to repeat themselves"),
            )
            if number
        ]
        replies = [f"{self.replies:,} replies"] if self.replies else []
        fallbacks = [f"{what} ({number:,})" for what, number in self.fallbacks.items()]
        return ", ".join([*replies, tokens, cost, *others, *fallbacks])


@dataclass
class _Sum:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    parts: int = 0
    unpriced: int = 0

    def add(self, usage: Usage) -> None:
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if usage.cost_usd is None:
            self.unpriced += 1
        else:
            self.parts += _parts(usage.cost_usd)


class Meter:
    """Counts while a run goes on."""

    def __init__(self) -> None:
        self._rows: dict[int, _Sum] = {}
        self._counts: Counter[str] = Counter()
        self._fallbacks: Counter[str] = Counter()
        self._spent = 0
        self._unpriced = 0

    def row(self, outcome: int, usage: Usage | None) -> None:
        """Enters a row that is in the file, by its outcome code."""
        if usage is not None:
            self._rows.setdefault(outcome, _Sum()).add(usage)

    def drop(self, outcome: int) -> None:
        """Forgets the rows of one outcome, which were taken out of the file."""
        self._rows.pop(outcome, None)

    def answered(self, outcome: int, usage: Usage | None, log: CallLog) -> None:
        """Enters a question that was answered now and has its row in the file."""
        self.row(outcome, usage)
        self.called(log)
        if usage is not None and not log.calls:  # a system that calls its model by itself
            self._pay(usage.cost_usd)

    def called(self, log: CallLog) -> None:
        """Enters the calls that were made now for one question, whether a row came of it or not."""
        if log.calls or log.retries:
            self._count(log)
            self._fallbacks.update(set(log.fallbacks))
            self._pay(log.paid_usd)

    def earlier(self, totals: CallTotals | None) -> None:
        """Enters what earlier sessions of this run did, once their rows were entered.

        What the rows cost beyond what the totals know of was written after the last checkpoint of
        a session that was killed, and is taken as paid.
        """
        known = 0.0 if totals is None else totals.cost_usd
        if known is not None:
            rows = sum(part.parts for part in self._rows.values())
            self._spent += max(0, rows - _parts(known))
        self.also(totals)

    def also(self, totals: CallTotals | None) -> None:
        """Enters calls that were counted elsewhere, by another shard for one."""
        if totals is not None:
            self._count(totals)
            self._fallbacks.update(totals.fallbacks)
            self._pay(totals.spent_usd)

    def _count(self, made: CallLog | CallTotals) -> None:
        replies = made.calls if isinstance(made, CallLog) else made.replies
        self._counts.update(
            replies=replies, cached=made.cached, retries=made.retries, repairs=made.repairs
        )

    def _pay(self, usd: float | None) -> None:
        if usd is None:
            self._unpriced += 1
        else:
            self._spent += _parts(usd)

    @property
    def spent_usd(self) -> float | None:
        """What was paid up to now; null as soon as one call had no known price."""
        return None if self._unpriced else self._spent / _PARTS_A_DOLLAR

    def totals(self) -> CallTotals | None:
        """Everything as the manifest states it; null when no model was ever called."""
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
            cost_usd=None if unpriced else sum(part.parts for part in rows) / _PARTS_A_DOLLAR,
            spent_usd=self.spent_usd,
        )


def _parts(usd: float) -> int:
    return round(usd * _PARTS_A_DOLLAR)
