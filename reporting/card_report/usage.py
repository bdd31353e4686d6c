"""Sums what the systems' answers cost: tokens, money, time and repairs, from rows and manifests."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from eval.abstention.manifest import PREDICTIONS_SYSTEM, RunManifest
from eval.blocks.text_format import UNDEFINED_TEXT, format_name, format_number, format_percent
from eval.harness.totals import CallTotals
from eval.model.usage import Usage
from kg.base.plain_text import format_count, join_first
from reporting.visible_text import make_visible


class RowCalls(msgspec.Struct, frozen=True):
    """A row's record of problems with its calls: repairs and fallbacks."""

    repairs: int = 0
    fallbacks: tuple[str, ...] = ()


@dataclass
class UsageTally:
    """The sums over one system's rows.

    Attributes:
        rows: number of rows.
        replies: number of rows with usage.
        prompt_tokens, completion_tokens: sums.
        costs: USD, one value per priced row. They are not added up row by row, so that ``fsum``
            gives the same total for any order of rows.
        unpriced: number of rows with usage but without a known price.
        latencies: seconds, one value per row with a remote call.
        repairs: number of second calls, which ask for a correctly formatted reply.
        fallbacks: mode of structured output that the server refused → number of rows.
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

    def add_row(self, usage: Usage | None, latency_s: float | None, calls: RowCalls | None) -> None:
        """Adds one row to the sums."""
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
    def is_remote(self) -> bool:
        """Whether any row made a remote call."""
        return bool(self.replies or self.latencies)

    @property
    def cost_usd(self) -> float | None:
        """The total cost; ``None`` if a row has no known price, or no row has usage."""
        return None if self.unpriced or not self.replies else math.fsum(self.costs)

    def to_record(self) -> dict[str, float | int | dict[str, int] | None]:
        """Returns the sums for JSON; unknown values are null."""
        return {
            "rows": self.rows,
            "prompt_tokens": self.prompt_tokens if self.replies else None,
            "completion_tokens": self.completion_tokens if self.replies else None,
            "cost_usd": self.cost_usd,
            "latency_median_s": compute_quantile(self.latencies, 0.5),
            "latency_95_s": compute_quantile(self.latencies, 0.95),
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
    percentile_95: str
    repairs: str
    retries: str
    cached: str
    fallbacks: str


@dataclass(frozen=True)
class UsageTable:
    """The systems that make remote calls, and the names of those that do not, by their runs."""

    lines: tuple[UsageLine, ...]
    local: tuple[str, ...]


def build_usage_table(
    tallies: Mapping[str, UsageTally], systems: Iterable[str], manifests: Iterable[RunManifest]
) -> UsageTable:
    """Builds the table of costs.

    Args:
        tallies: system → its tally.
        systems: names of the systems, in the order of the tables, without controls.
        manifests: manifests of the runs; only they contain retries and the model's name.
    """
    manifest_by_system = {name: manifest for manifest in manifests for name in manifest.systems}
    lines, local = [], []
    for name in systems:
        tally = tallies.get(name, UsageTally())
        if tally.is_remote:
            lines.append(_build_line(name, tally, manifest_by_system.get(name)))
        elif name in manifest_by_system and not _is_given(manifest_by_system[name]):
            local.append(format_name(name))
    return UsageTable(tuple(lines), tuple(local))


_MAX_DESCRIBED_SYSTEMS = 3


def describe_cost(
    tallies: Mapping[str, UsageTally], names: Mapping[str, str], manifests: Iterable[RunManifest]
) -> str:
    """Says in a sentence or two what the answers cost: calls, tokens, money and time per system.

    Args:
        tallies: system → its tally.
        names: systems to name, in order, with the form of their name to show.
        manifests: manifests of the runs, which count the calls.
    """
    manifest_by_system = {name: manifest for manifest in manifests for name in manifest.systems}
    remote = [name for name in names if tallies.get(name, UsageTally()).is_remote]
    # Only the manifest of a run says that a system without usage called no model.
    others = {
        n: manifest_by_system[n] for n in names if n not in remote and n in manifest_by_system
    }
    given = [names[n] for n, manifest in others.items() if _is_given(manifest)]
    local = [names[n] for n, manifest in others.items() if not _is_given(manifest)]
    if len(given) == len(names):
        return "Not known: the answers were given as files."
    if len(local) == len(names):
        subject = {1: "it", 2: "both systems"}.get(len(local), f"all {len(local)} systems")
        return f"No model calls: {subject} ran on this machine."
    parts = [
        _describe_calls(names[name], tallies[name], manifest_by_system.get(name))
        for name in remote[:_MAX_DESCRIBED_SYSTEMS]
    ]
    if len(remote) > len(parts):
        parts.append(f"{len(remote) - len(parts)} more in the table")
    sentences = [f"{'; '.join(parts)}."] if parts else []
    if local:
        sentences.append(f"No model calls by {join_first(local, _MAX_DESCRIBED_SYSTEMS)}.")
    if given:
        shown = join_first(given, _MAX_DESCRIBED_SYSTEMS)
        sentences.append(f"Answers given as files, at a cost not known: {shown}.")
    unknown = [shown for n, shown in names.items() if n not in (*remote, *manifest_by_system)]
    if unknown:
        shown = join_first(unknown, _MAX_DESCRIBED_SYSTEMS)
        sentences.append(f"The results do not say what {shown} cost.")
    return " ".join(sentences)


def _is_given(manifest: RunManifest) -> bool:
    """Whether the answers were given as files, so that nothing is known of how they were made."""
    return manifest.system == PREDICTIONS_SYSTEM


def _get_own_calls(manifest: RunManifest | None) -> CallTotals | None:
    """Returns the calls of a run of one system; a manifest counts those of all together."""
    return manifest.calls if manifest is not None and len(manifest.systems) == 1 else None


def _describe_calls(name: str, tally: UsageTally, manifest: RunManifest | None) -> str:
    calls = _get_own_calls(manifest)
    n_calls = calls.replies if calls is not None and calls.replies else tally.rows + tally.repairs
    parts = [format_count(n_calls, "call")]
    n_tokens = tally.prompt_tokens + tally.completion_tokens
    parts.append(f"{n_tokens:,} tokens" if n_tokens else "tokens not counted")
    cost = tally.cost_usd
    parts.append("no known price" if cost is None else format_dollars(cost))
    if tally.latencies:
        parts.append(f"{_format_latency(tally.latencies, 0.5)} per card")
    return f"{name}: {', '.join(parts)}"


def _build_line(name: str, tally: UsageTally, manifest: RunManifest | None) -> UsageLine:
    tokens = per_card = UNDEFINED_TEXT
    if tally.replies:
        tokens = f"{tally.prompt_tokens:,} + {tally.completion_tokens:,}"
        mean = (tally.prompt_tokens + tally.completion_tokens) / tally.replies
        per_card = f"{mean:,.0f}"
    cost = tally.cost_usd
    fallbacks = [
        f"{make_visible(mode)} ({count:,})" for mode, count in sorted(tally.fallbacks.items())
    ]
    calls = _get_own_calls(manifest)
    retries, cached_text = UNDEFINED_TEXT, ""
    if calls is not None:
        retries = f"{calls.retries:,}"
        if calls.cached:
            cached_text = f"{format_percent(calls.cached / calls.replies)} from the cache"
    return UsageLine(
        name=format_name(name),
        model=format_name(manifest.model) if manifest is not None and manifest.model else "",
        tokens=tokens,
        per_card=per_card,
        cost=UNDEFINED_TEXT if cost is None else format_dollars(cost),
        per_thousand=_format_cost_per_thousand(cost, tally),
        median=_format_latency(tally.latencies, 0.5),
        percentile_95=_format_latency(tally.latencies, 0.95),
        repairs=f"{tally.repairs:,} ({format_percent(tally.repairs / tally.rows)})"
        if tally.repairs
        else "0",
        retries=retries,
        cached=cached_text,
        fallbacks=", ".join(fallbacks) or "none",
    )


def _format_cost_per_thousand(cost: float | None, tally: UsageTally) -> str:
    if cost is None:
        return "no known price" if tally.replies else ""
    return f"{format_dollars(1000 * cost / tally.rows)} per 1,000 replies"


def format_dollars(value: float) -> str:
    """Formats an amount with cents, or with four significant digits below a dollar."""
    return f"{value:,.2f} USD" if value >= 1 or value == 0 else f"{value:.4g} USD"


def compute_quantile(values: Iterable[float], share: float) -> float | None:
    """Computes a quantile by the nearest-rank method.

    The result is the smallest value ``v`` such that at least ``share`` of all values are ≤ ``v``.
    """
    sorted_values = sorted(values)
    if not sorted_values:
        return None
    return sorted_values[max(math.ceil(share * len(sorted_values)) - 1, 0)]


def _format_latency(latencies: Iterable[float], share: float) -> str:
    value = compute_quantile(latencies, share)
    if value is None:
        return UNDEFINED_TEXT
    return f"{format_number(value, 3 if value < 1 else 2)} s"
