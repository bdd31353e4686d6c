"""From observations to the full report: tables, metrics, intervals, bounds, controls, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.kinds import FAITHFULNESS_KINDS
from eval.compare import compare_systems
from eval.metrics.abstention import (
    METRICS,
    REPLY_RATES,
    SYSTEM_METRICS,
    Metric,
    metrics,
    outcome_counts,
    won_by_controls,
)
from eval.metrics.observations import Observations
from eval.metrics.outcomes import (
    Codes,
    as_number,
    cards_per_label,
    control_counts,
    count_cells,
    table_of,
)
from eval.metrics.record import (
    GroupReport,
    IntervalMethod,
    MetricsReport,
    MetricValue,
    PolicyName,
    PolicyReport,
    SystemReport,
)
from eval.metrics.samples import Plan, Samples
from eval.metrics.signature import Signature
from eval.stats.intervals import FEW_CLUSTERS, BootstrapIntervals, Floats, tidy
from kg.base.proportions import wilson
from kg.base.provenance import package_version
from kg.claims import LABELS, Label

COMPARED_AT_MOST = 8
"""With more systems than this, all pairs are left to `epoche compare`, which takes a baseline."""

_GROUP_METRICS = (
    *("CVRR", "FAR-NE", "LA", "coverage", "accuracy"),
    *("false_denial_rate", "abstention_recall", *REPLY_RATES),
)
"""What means something for cards of one label or kind; AP needs several labels."""

_MUCH_WIDER = 1.25


def measure(observations: Observations, plan: Plan | None = None) -> MetricsReport:
    """Computes the whole report.

    Args:
        observations: what ``read_observations`` gave.
        plan: policies, resamples, seed and confidence.

    Returns:
        The record written to ``metrics.json``; equal input gives an equal record.
    """
    plan = plan or Plan()
    samples = Samples(observations, plan)
    base = Signature(
        metric="",
        cards=observations.cards,
        policy="",
        resamples=plan.resamples,
        seed=plan.seed,
        version=package_version(),
        confidence=plan.confidence,
    )
    policies: dict[str, PolicyReport] = {
        policy: _policy_report(samples, policy, msgspec.structs.replace(base, policy=policy))
        for policy in plan.policies
    }
    few = 2 <= len(observations.contenders) <= COMPARED_AT_MOST
    comparisons = compare_systems(samples, signature=base) if few else ()
    labels = samples.labels(plan.policies[0])
    return MetricsReport(
        version=base.version,
        cards=observations.cards,
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        n_near_misses=_apart(observations)["near-miss"],
        n_faithfulness=_apart(observations)["context-faithfulness"],
        label_counts={label: int((labels == code).sum()) for code, label in enumerate(LABELS)},
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        policies=policies,
        comparisons=comparisons,
        notes=tuple(_notes(observations, samples, policies)),
        sources=observations.sources,
    )


def metric_value(
    metric: Metric,
    counts: Floats,
    signature: Signature,
    resampled: BootstrapIntervals | None = None,
    column: int = 0,
    *,
    interval: bool = True,
) -> MetricValue:
    """One metric with bounds and every interval that can be had.

    Args:
        metric: what to compute.
        counts: cell counts.
        signature: of this computation; its metric is filled in.
        resampled: bootstrap intervals of several metrics, or ``None`` for Wilson alone.
        column: this metric's column in ``resampled``.
        interval: ``False`` for a control, whose cells are no sample.
    """
    top, bottom = metric.parts(counts)
    value = metric.value(counts)
    worst, best = metric.bounds(counts)
    found: dict[str, tuple[float, float]] = {}
    chosen: IntervalMethod = "none"
    if value is not None and interval:
        found, chosen = _intervals(
            metric.is_proportion(counts), top, bottom, signature.confidence, resampled, column
        )
    low, high = found.get(chosen, (None, None))
    return MetricValue(
        value=value,
        low=low,
        high=high,
        method=chosen,
        numerator=as_number(top),
        denominator=as_number(bottom),
        worst=worst,
        best=best,
        higher_is_better=metric.higher_is_better,
        signature=str(signature.of(metric.name, group=signature.group)),
        intervals=found,
    )


def _intervals(
    proportion: bool,
    top: float,
    bottom: float,
    confidence: float,
    resampled: BootstrapIntervals | None,
    column: int,
) -> tuple[dict[str, tuple[float, float]], IntervalMethod]:
    """All intervals by method, and the one to show: see ``docs/metrics.md``."""
    found: dict[str, tuple[float, float]] = {}
    if proportion or resampled is None:
        found["wilson"] = _pair(wilson(top, bottom, confidence))
    if resampled is not None and not resampled.degenerate[column]:
        found["bootstrap-percentile"] = _pair(resampled.percentile[:, column])
        if not np.isnan(resampled.bca[:, column]).any():
            found["bootstrap-bca"] = _pair(resampled.bca[:, column])
    elif resampled is not None and not proportion:
        # The resamples say nothing: the clusters that take part are all the evidence there is.
        clusters = float(resampled.support[column])
        found["wilson-edge"] = _pair(wilson(top / bottom * clusters, clusters, confidence))
    order: tuple[IntervalMethod, ...] = (
        *("wilson", "wilson-edge", "bootstrap-bca", "bootstrap-percentile"),
    )
    return found, next(method for method in order if method in found)


def _pair(interval: Sequence[float] | Floats) -> tuple[float, float]:
    return tidy(interval[0]), tidy(interval[1])


def _policy_report(samples: Samples, policy: PolicyName, base: Signature) -> PolicyReport:
    """All systems and the controls under one policy."""
    groups = _Groups(samples, policy, base)
    reports = {
        name: _system_report(samples, policy, name, base, groups)
        for name in samples.observations.preds
    }
    systems = {name: reports[name] for name in samples.observations.contenders}
    cards = cards_per_label(count_cells(samples.labels(policy), np.zeros(samples.n_cards, np.int8)))
    controls = control_counts(cards)
    return PolicyReport(
        systems=systems,
        # A control that was run has intervals and kinds of its own; the others are computed.
        controls={
            name: reports[name]
            if name in reports
            else SystemReport(
                n_cards=samples.n_cards,
                n_clusters=samples.n_clusters,
                table=table_of(counts),
                counts=outcome_counts(counts, policy),
                metrics={
                    metric.name: metric_value(metric, counts, base, interval=False)
                    for metric in metrics(SYSTEM_METRICS, policy)
                },
            )
            for name, counts in controls.items()
        },
        won_by_controls=won_by_controls(
            {name: samples.counts(policy, name) for name in systems}, controls, policy
        ),
    )


def _system_report(
    samples: Samples, policy: PolicyName, system: str, base: Signature, groups: _Groups
) -> SystemReport:
    counts = samples.counts(policy, system)
    answers = samples.observations.preds[system]
    return SystemReport(
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        table=table_of(counts),
        counts=outcome_counts(counts, policy),
        metrics=_bootstrapped(samples, policy, system, base),
        per_label=groups.report("label", answers),
        per_kind=groups.report("kind", answers),
        per_difficulty={
            name: GroupReport(
                n_cards=int((part := samples.resampled(policy, system, name)).totals.sum()),
                n_clusters=int(part.per_cluster.any(axis=1).sum()),
                table=table_of(part.totals),
                metrics=_bootstrapped(samples, policy, system, base, name),
            )
            for name in samples.difficulties
        },
        near_misses=groups.report("near-misses", answers),
        faithfulness=groups.report("faithfulness", answers),
        oracle=system in samples.observations.oracles,
    )


def _bootstrapped(
    samples: Samples, policy: PolicyName, system: str, base: Signature, difficulty: str = ""
) -> dict[str, MetricValue]:
    """All metrics over the headline cards, or those of one difficulty, with the bootstrap."""
    wanted = metrics(SYSTEM_METRICS, policy)
    counts = samples.counts(policy, system, difficulty)
    distribution = samples.distribution(wanted, policy, system, difficulty, merge=True)
    resampled = distribution.intervals(samples.plan.confidence)
    group = f"difficulty:{difficulty}" if difficulty else ""
    signature = base.of("", group=group)
    return {
        metric.name: metric_value(metric, counts, signature, resampled, column)
        for column, metric in enumerate(wanted)
    }


@dataclass(frozen=True)
class _Group:
    """Some cards, by their places among all that were read."""

    name: str
    signed: str
    places: NDArray[np.int64]
    labels: Codes
    n_clusters: int


class _Groups:
    """The cards of each label and kind, where every metric is a proportion of cards."""

    def __init__(self, samples: Samples, policy: PolicyName, base: Signature) -> None:
        seen = samples.observations
        self.wanted = metrics(_GROUP_METRICS, policy)
        self.base = base
        self.labels = seen.golds if policy == "published" else seen.labels
        self.clusters = seen.clusters
        headline = seen.headline
        kinds = np.array(seen.kinds, dtype=object)
        named = [(kind, np.flatnonzero(kinds == kind)) for kind in sorted({*seen.kinds} - {""})]
        # In the order of their labels: kinds of E first, then C, then U.
        named.sort(key=lambda group: (int(self.labels[group[1]].min()), group[0]))
        self.sections = {
            "label": [
                self._group(label, "label", np.flatnonzero(headline & (self.labels == code)))
                for code, label in enumerate(LABELS)
            ],
            "kind": [self._group(k, "kind", at) for k, at in named if k not in FAITHFULNESS_KINDS],
            "near-misses": [
                self._group("all near-misses", "set", np.flatnonzero(seen.near_misses))
            ],
            "faithfulness": [
                self._group(k, "kind", at) for k, at in named if k in FAITHFULNESS_KINDS
            ],
        }

    def report(self, section: str, answers: Codes) -> dict[str, GroupReport]:
        """A system's answers in every group of a section that has cards."""
        return {
            group.name: self._report(group, answers)
            for group in self.sections[section]
            if group.places.size
        }

    def _group(self, name: str, what: str, places: NDArray[np.int64]) -> _Group:
        n_clusters = int(np.unique(self.clusters[places]).size)
        return _Group(name, f"{what}:{name}", places, self.labels[places], n_clusters)

    def _report(self, group: _Group, answers: Codes) -> GroupReport:
        """The group's table, and the metrics that are defined on its labels."""
        counts = count_cells(group.labels, answers[group.places])
        present = cards_per_label(counts)
        held: tuple[Label, ...] = tuple(label for label in LABELS if present[label])
        signature = self.base.of("", group=group.signed)
        return GroupReport(
            n_cards=int(group.places.size),
            n_clusters=group.n_clusters,
            table=table_of(counts, labels=held),
            metrics={
                metric.name: metric_value(metric, counts, signature)
                for metric in self.wanted
                if metric.parts(counts)[1] > 0
            },
        )


def _apart(observations: Observations) -> dict[str, int]:
    """How many cards of which set stay out of the headline."""
    out = ~observations.headline
    near = int((out & observations.near_misses).sum())
    return {"near-miss": near, "context-faithfulness": int(out.sum()) - near}


def _notes(
    observations: Observations, samples: Samples, policies: Mapping[str, PolicyReport]
) -> Iterator[str]:
    """What a reader of the numbers must know, in plain sentences."""
    yield from observations.notes
    for what, apart in _apart(observations).items():
        if apart:
            yield f"{apart} {what} cards are reported apart and enter no headline number."
    if not samples.n_cards:
        yield "There are no headline cards, so every headline metric is null."
        return
    if samples.n_clusters < FEW_CLUSTERS:
        yield (
            f"Only {samples.n_clusters} clusters: bootstrap intervals are too narrow below "
            f"{FEW_CLUSTERS}."
        )
    if len(observations.contenders) > COMPARED_AT_MOST:
        yield (
            f"{len(observations.contenders)} systems: pairs are not compared here; use "
            "`epoche compare --baseline`."
        )
    for policy, report in policies.items():
        for name, system in report.systems.items():
            yield from _system_notes(policy, name, system, first=policy == next(iter(policies)))


def _system_notes(policy: str, name: str, system: SystemReport, *, first: bool) -> Iterator[str]:
    unread = {pred: system.counts.get(pred, 0) for pred in ("INVALID", "ERROR")}
    if first and any(unread.values()):
        parts = " and ".join(f"{number} {pred}" for pred, number in unread.items() if number)
        yield f"{name} has {parts} replies: read its metrics with their worst and best bounds."
    if policy == "published" and unread["INVALID"] + unread["ERROR"]:
        yield f"Policy published counts the INVALID and ERROR replies of {name} as answers."
    wide = [metric for metric in METRICS if _clusters_matter(system.metrics[metric])]
    if wide:
        yield (
            f"Cards of one cluster go together for {name} ({policy}: {', '.join(wide)}): Wilson "
            "is too narrow there; prefer the cluster bootstrap among the intervals."
        )


def _clusters_matter(value: MetricValue) -> bool:
    """Whether the cluster bootstrap is much wider than the Wilson interval shown."""
    resampled = value.intervals.get("bootstrap-percentile")
    if value.method != "wilson" or value.low is None or value.high is None or resampled is None:
        return False
    return resampled[1] - resampled[0] > _MUCH_WIDER * (value.high - value.low)
