"""What a system's answers cost: tokens, money, seconds, repairs, from its rows and manifest."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from eval.manifest import RunManifest
from eval.result import Usage
from reporting.charts import UNDEFINED, number, percent
from reporting.visible import shown_name, visible


class RowCalls(msgspec.Struct, frozen=True):
    """What a row says of the calls behind it, where they did not go smoothly."""

    repairs: int = 0
    fallbacks: tuple[str, ...] = ()


@dataclass
class UsageTally:
    """The sums over one system's rows.

    Attributes:
        rows: all of them.
        replies: rows with usage.
        prompt_tokens, completion_tokens: sums.
        costs: USD, one a priced row; summed exactly, whatever the order of rows.
        unpriced: rows with usage and no known price.
        latencies: seconds, one a row that made a remote call.
        repairs: second turns.
        fallbacks: modes of structured output that had to be left → rows.
    """

    rows: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: array[float] = field(default_factory=lambda: array("d"))
    unpriced: int = 0
    latencies: array[float] = field(default_factory=lambda: array("d"))
    repairs: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)

    def add(self, usage: Usage | None, latency_s: float | None, calls: RowCalls | None) -> None:
        """Enters one row."""
        self.rows += 1
        if usage is not None:
            self.replies += 1
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
            if usage.cost_usd is None:
                self.unpriced += 1
            else:
                self.costs.append(usage.cost_usd)
        if latency_s is not None:
            self.latencies.append(latency_s)
        if calls is not None:
            self.repairs += calls.repairs
            self.fallbacks.update(set(calls.fallbacks))

    @property
    def remote(self) -> bool:
        """Whether any row tells of a remote call."""
        return bool(self.replies or self.latencies)

    @property
    def cost_usd(self) -> float | None:
        """The sum; ``None`` as soon as one row has no known price, or none has usage."""
        return None if self.unpriced or not self.replies else math.fsum(self.costs)

    def record(self) -> dict[str, float | int | dict[str, int] | None]:
        """The sums for programs; null is what is not known."""
        return {
            "rows": self.rows,
            "prompt_tokens": self.prompt_tokens if self.replies else None,
            "completion_tokens": self.completion_tokens if self.replies else None,
            "cost_usd": self.cost_usd,
            "latency_median_s": quantile(self.latencies, 0.5),
            "latency_95_s": quantile(self.latencies, 0.95),
            "repairs": self.repairs,
            "fallbacks": dict(sorted(self.fallbacks.items())),
        }


@dataclass(frozen=True)
class UsageLine:
    """One system's line of the table, as text."""

    name: str
    model: str
    tokens: str
    per_card: str
    cost: str
    per_thousand: str
    median: str
    slow: str
    repairs: str
    retries: str
    cached: str
    fallbacks: str


@dataclass(frozen=True)
class UsageTable:
    """All systems that call something, and the names of those that do not."""

    lines: tuple[UsageLine, ...]
    local: tuple[str, ...]


def usage_table(
    tallies: Mapping[str, UsageTally], systems: Iterable[str], manifests: Iterable[RunManifest]
) -> UsageTable:
    """Puts the sums in words.

    Args:
        tallies: by system.
        systems: in the order of the tables, controls left out.
        manifests: of the runs; retries and the model's name stand only there.
    """
    of = {name: manifest for manifest in manifests for name in manifest.systems}
    lines, local = [], []
    for name in systems:
        tally = tallies.get(name, UsageTally())
        if tally.remote:
            lines.append(_line(name, tally, of.get(name)))
        else:
            local.append(shown_name(name))
    return UsageTable(tuple(lines), tuple(local))


def _line(name: str, tally: UsageTally, manifest: RunManifest | None) -> UsageLine:
    tokens = per_card = UNDEFINED
    if tally.replies:
        tokens = f"{tally.prompt_tokens:,} + {tally.completion_tokens:,}"
        mean = (tally.prompt_tokens + tally.completion_tokens) / tally.replies
        per_card = f"{mean:,.0f}"
    cost = tally.cost_usd
    fallbacks = [f"{visible(mode)} ({count:,})" for mode, count in sorted(tally.fallbacks.items())]
    calls = manifest.calls if manifest is not None and len(manifest.systems) == 1 else None
    retries, cached = UNDEFINED, ""
    if calls is not None:
        retries = f"{calls.retries:,}"
        if calls.cached:
            cached = f"{percent(calls.cached / calls.replies)} from the cache"
    return UsageLine(
        name=shown_name(name),
        model=shown_name(manifest.model) if manifest is not None and manifest.model else "",
        tokens=tokens,
        per_card=per_card,
        cost=UNDEFINED if cost is None else dollars(cost),
        per_thousand=_per_thousand(cost, tally),
        median=_seconds(tally.latencies, 0.5),
        slow=_seconds(tally.latencies, 0.95),
        repairs=f"{tally.repairs:,} ({percent(tally.repairs / tally.rows)})"
        if tally.repairs
        else "0",
        retries=retries,
        cached=cached,
        fallbacks=", ".join(fallbacks) or "none",
    )


def _per_thousand(cost: float | None, tally: UsageTally) -> str:
    if cost is None:
        return "no known price" if tally.replies else ""
    return f"{dollars(1000 * cost / tally.rows)} per 1,000 replies"


def dollars(value: float) -> str:
    """An amount with cents, or with four digits below a dollar."""
    return f"{value:,.2f} USD" if value >= 1 or value == 0 else f"{value:.4g} USD"


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def _seconds(latencies: Iterable[float], share: float) -> str:
    value = quantile(latencies, share)
    if value is None:
        return UNDEFINED
    return f"{number(value, 3 if value < 1 else 2)} s"
