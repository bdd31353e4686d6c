"""From observations to the full report: tables, metrics, intervals, bounds, controls, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from eval.comparing.pairs import compare_systems
from eval.metrics.abstention import (
    METRICS,
    SYSTEM_METRICS,
    metrics,
    outcome_counts,
    won_by_controls,
)
from eval.metrics.confidence import Confidences
from eval.metrics.groups import Groups
from eval.metrics.observations import Observations
from eval.metrics.outcomes import (
    cards_per_label,
    control_counts,
    count_cells,
    table_of,
)
from eval.metrics.record import (
    GroupReport,
    MetricsReport,
    MetricValue,
    PolicyName,
    PolicyReport,
    SystemReport,
)
from eval.metrics.repeats import self_consistency
from eval.metrics.samples import Plan, Samples
from eval.metrics.signature import Signature
from eval.metrics.values import metric_value
from eval.stats.intervals import FEW_CLUSTERS
from kg.claims import LABELS

COMPARED_AT_MOST = 8
"""With more systems than this, all pairs are left to `epoche compare`, which takes a baseline."""

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
    base = samples.signature
    confidences = Confidences(samples)
    policies: dict[str, PolicyReport] = {
        policy: _policy_report(
            samples, policy, msgspec.structs.replace(base, policy=policy), confidences
        )
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


def _policy_report(
    samples: Samples, policy: PolicyName, base: Signature, confidences: Confidences
) -> PolicyReport:
    """All systems and the controls under one policy."""
    groups = Groups(samples, policy)
    reports = {
        name: _system_report(samples, policy, name, base, groups, confidences)
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
    samples: Samples,
    policy: PolicyName,
    system: str,
    base: Signature,
    groups: Groups,
    confidences: Confidences,
) -> SystemReport:
    counts = samples.counts(policy, system)
    answers = samples.observations.preds[system]
    repeats = samples.observations.repeats(system)
    if repeats > 1:
        base = msgspec.structs.replace(base, details=(f"repeats:{repeats}",))
    confidence = confidences.report(policy, system, base)
    return SystemReport(
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        table=table_of(counts),
        counts=outcome_counts(counts, policy),
        metrics=_bootstrapped(samples, policy, system, base),
        per_label=groups.report("label", answers, base),
        per_kind=groups.report("kind", answers, base),
        per_difficulty={
            name: GroupReport(
                n_cards=int(samples.of_difficulty(name).sum()),
                n_clusters=int(part.per_cluster.any(axis=1).sum()),
                table=table_of(part.totals),
                metrics=_bootstrapped(samples, policy, system, base, name),
            )
            for name in samples.difficulties
            for part in (samples.resampled(policy, system, name),)
        },
        near_misses=groups.report("near-misses", answers, base),
        faithfulness=groups.report("faithfulness", answers, base),
        repeats=repeats,
        self_consistency=self_consistency(samples, system, base),
        confidence=confidence.counts,
        calibration=confidence.calibration,
        selective=confidence.selective,
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
    repeated_in = samples.n_clusters if samples.observations.repeats(system) > 1 else 0
    return {
        metric.name: metric_value(
            metric, counts, signature, resampled, column, repeated_in=repeated_in
        )
        for column, metric in enumerate(wanted)
    }


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
    if first and system.repeats > 1:
        yield (
            f"{name} answered each card {system.repeats} times: its counts are of replies, and its "
            "intervals take all replies to the cards of a cluster together."
        )
    if first and system.confidence and system.calibration and system.confidence.missing:
        yield f"Calibration of {name}: {system.confidence.reason}."
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
