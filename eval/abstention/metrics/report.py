"""Builds the full metrics report: tables, metrics, intervals, bounds, controls and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from eval.abstention.metrics.closed_book import compare_with_closed_book
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.confidence import ConfidenceReporter
from eval.abstention.metrics.definitions import (
    ALL_THREE,
    GEOMEAN_RECALL,
    METRICS,
    count_outcomes,
    get_metrics,
    list_metric_names,
    sort_metrics,
)
from eval.abstention.metrics.groups import CardGroups, add_memory_tests, compute_memory
from eval.abstention.metrics.mined_cards import count_mined_cards, describe_mined_cards
from eval.abstention.metrics.observations import Observations
from eval.abstention.metrics.outcomes import (
    Floats,
    compute_control_counts,
    count_cards_per_label,
    count_cells,
    counts_to_table,
)
from eval.abstention.metrics.pairs import compare_systems, describe_pair_resamples
from eval.abstention.metrics.record import GroupReport, MetricsReport, PolicyReport, SystemReport
from eval.abstention.metrics.repeats import compute_self_consistency
from eval.abstention.metrics.triplets import (
    compute_all_three,
    compute_control_value,
    describe_incomplete_triplets,
)
from eval.abstention.metrics.values import compute_metric_value, find_control_wins
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import MetricValue
from eval.metrics.record_digest import add_digest
from eval.metrics.signature import Signature
from eval.stats.bootstrap import MIN_CLUSTERS
from kg.claims import LABELS

MAX_COMPARED_SYSTEMS = 12
"""With more systems than this, pairs are not compared here; `epoche compare` takes a baseline."""

_MUCH_WIDER_RATIO = 1.25
"""A note is given if the bootstrap interval is wider than the Wilson interval by this factor."""


def measure(
    observations: Observations, plan: Plan | None = None, *, with_pairs: bool = True
) -> MetricsReport:
    """Computes the metrics report.

    Args:
        observations: as returned by ``read_observations``.
        plan: policies, resamples, seed and confidence.
        with_pairs: whether to compare the systems with each other.

    Returns:
        The record written to ``metrics.json``; equal input gives an equal record.
    """
    plan = plan or Plan()
    samples = Samples(observations, plan)
    base = samples.signature
    confidences = ConfidenceReporter(samples)
    policies: dict[str, PolicyReport] = {
        policy: _build_policy_report(
            samples, policy, msgspec.structs.replace(base, policy=policy), confidences
        )
        for policy in plan.policies
    }
    can_compare = 2 <= len(observations.systems_under_test) <= MAX_COMPARED_SYSTEMS
    comparisons = compare_systems(samples, signature=base) if with_pairs and can_compare else ()
    labels = samples.get_labels(plan.policies[0])
    report = MetricsReport(
        version=base.version,
        cards=observations.card_set,
        warnings=observations.warnings,
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        n_near_misses=_count_separate_cards(observations)["near-miss"],
        n_faithfulness=_count_separate_cards(observations)["context-faithfulness"],
        n_mined=count_mined_cards(observations),
        n_mined_left_out=observations.n_mined_left_out,
        label_counts={label: int((labels == code).sum()) for code, label in enumerate(LABELS)},
        confidence=plan.confidence,
        resamples=plan.n_resamples,
        seed=plan.seed,
        policies=policies,
        comparisons=comparisons,
        closed_book=compare_with_closed_book(samples, signature=base),
        notes=(
            *_collect_notes(observations, samples, policies),
            *describe_pair_resamples(comparisons, plan),
            *confidences.describe_bins(),
        ),
        sources=observations.sources,
    )
    return add_digest(report)


def _build_policy_report(
    samples: Samples, policy: PolicyName, base: Signature, confidences: ConfidenceReporter
) -> PolicyReport:
    """Reports all systems and the controls under one policy."""
    groups = CardGroups(samples, policy)
    reports = {
        name: _build_system_report(samples, policy, name, base, groups, confidences)
        for name in samples.observations.preds
    }
    systems = add_memory_tests(
        {name: reports[name] for name in samples.observations.systems_under_test}
    )
    # Cells are pairs of label and answer. Only labels are counted here, so all answers are equal.
    cards = count_cards_per_label(
        count_cells(samples.get_labels(policy), np.zeros(samples.n_cards, np.int8))
    )
    # A control that was run is reported like a system; the others are computed exactly.
    controls = {
        name: reports[name]
        if name in reports
        else SystemReport(
            n_cards=samples.n_cards,
            n_clusters=samples.n_clusters,
            table=counts_to_table(counts),
            counts=count_outcomes(counts, policy),
            metrics=_compute_control_metrics(samples, policy, name, counts, base),
        )
        for name, counts in compute_control_counts(cards).items()
    }
    # Controls of several files have the suffixes of these.
    controls |= {name: reports[name] for name in reports if name not in systems}
    return PolicyReport(
        systems=systems,
        controls=controls,
        won_by_controls=find_control_wins(
            *({name: r.metrics for name, r in group.items()} for group in (systems, controls))
        ),
    )


def _compute_control_metrics(
    samples: Samples, policy: PolicyName, control: str, counts: Floats, base: Signature
) -> dict[str, MetricValue]:
    metrics = {
        metric.name: compute_metric_value(metric, counts, base, interval=False)
        for metric in get_metrics(_list_metric_names(samples, policy), policy)
    }
    if policy == "licensed" and len(samples.triplets):
        metrics[ALL_THREE] = compute_control_value(control, len(samples.triplets), base)
    return sort_metrics(metrics)


def _list_metric_names(samples: Samples, policy: PolicyName) -> list[str]:
    """Lists the metrics computed from cells; all-three replaces the mean of the recalls."""
    has_triplets = len(samples.triplets) > 0
    return [n for n in list_metric_names(policy) if not (has_triplets and n == GEOMEAN_RECALL)]


def _build_system_report(
    samples: Samples,
    policy: PolicyName,
    system: str,
    base: Signature,
    groups: CardGroups,
    confidences: ConfidenceReporter,
) -> SystemReport:
    counts = samples.get_counts(policy, system)
    answers = samples.observations.preds[system]
    repeats = samples.observations.count_repeats(system)
    if repeats > 1:
        base = msgspec.structs.replace(base, details=(*base.details, f"repeats:{repeats}"))
    confidence = confidences.build_report(policy, system, base)
    set_aside = groups.report_section("set-aside", answers, base)
    return SystemReport(
        n_cards=samples.n_cards,
        n_clusters=samples.n_clusters,
        table=counts_to_table(counts),
        counts=count_outcomes(counts, policy),
        metrics=_bootstrap_metrics(samples, policy, system, base),
        per_label=groups.report_section("label", answers, base),
        per_kind=groups.report_section("kind", answers, base),
        per_difficulty={
            name: GroupReport(
                n_cards=int(samples.difficulty_mask(name).sum()),
                n_clusters=int(group_counts.per_cluster.any(axis=1).sum()),
                table=counts_to_table(group_counts.totals),
                metrics=_bootstrap_metrics(samples, policy, system, base, name),
            )
            for name in samples.difficulties
            for group_counts in (samples.get_resampled_counts(policy, system, name),)
        },
        near_misses=groups.report_section("near-misses", answers, base),
        faithfulness=groups.report_section("faithfulness", answers, base),
        set_aside=set_aside,
        memory=compute_memory(set_aside, base),
        repeats=repeats,
        self_consistency=compute_self_consistency(samples, system, base),
        confidence=confidence.counts,
        calibration=confidence.calibration,
        selective=confidence.selective,
        oracle=system in samples.observations.oracles,
    )


def _bootstrap_metrics(
    samples: Samples, policy: PolicyName, system: str, base: Signature, difficulty: str = ""
) -> dict[str, MetricValue]:
    """Computes all metrics with bootstrap intervals, over all headline cards or one difficulty."""
    metrics = get_metrics(_list_metric_names(samples, policy), policy)
    counts = samples.get_counts(policy, system, difficulty)
    # Merging clusters with equal counts is faster; only paired differences need them apart.
    distribution = samples.compute_distribution(metrics, policy, system, difficulty, merge=True)
    intervals = distribution.compute_intervals(samples.plan.confidence)
    group = f"difficulty:{difficulty}" if difficulty else ""
    signature = base.with_metric("", group=group)
    n_clusters_if_repeated = (
        samples.n_clusters if samples.observations.count_repeats(system) > 1 else 0
    )
    values = {
        metric.name: compute_metric_value(
            metric,
            counts,
            signature,
            intervals,
            column,
            n_clusters_if_repeated=n_clusters_if_repeated,
        )
        for column, metric in enumerate(metrics)
    }
    if policy == "licensed" and len(samples.triplets) and not difficulty:
        values[ALL_THREE] = compute_all_three(
            samples.triplets, samples.get_labels(policy), samples.get_preds(system), signature
        )
    return sort_metrics(values)


def _count_separate_cards(observations: Observations) -> dict[str, int]:
    """Counts the cards excluded from the headline, by set."""
    is_separate = ~observations.headline_mask
    n_near_misses = int((is_separate & observations.near_miss_mask).sum())
    return {
        "near-miss": n_near_misses,
        "context-faithfulness": int(is_separate.sum()) - n_near_misses,
    }


def _collect_notes(
    observations: Observations, samples: Samples, policies: Mapping[str, PolicyReport]
) -> Iterator[str]:
    """Yields the facts that a reader of the metrics must know, as sentences."""
    yield from observations.notes
    yield from describe_mined_cards(observations)
    yield from describe_incomplete_triplets(observations)
    for name, count in _count_separate_cards(observations).items():
        if count:
            yield f"{count} {name} cards are reported separately and enter no headline metric."
    if not samples.n_cards:
        yield "There are no headline cards, so every headline metric is null."
        return
    if samples.n_clusters < MIN_CLUSTERS:
        yield (
            f"There are only {samples.n_clusters} clusters: with fewer than {MIN_CLUSTERS}, "
            "bootstrap intervals are too narrow."
        )
    if len(observations.systems_under_test) > MAX_COMPARED_SYSTEMS:
        yield (
            f"{len(observations.systems_under_test)} systems: pairs are not compared here; use "
            "`epoche compare --baseline`."
        )
    for policy, report in policies.items():
        for name, system in report.systems.items():
            yield from _collect_system_notes(
                policy, name, system, is_first_policy=policy == next(iter(policies))
            )


def _collect_system_notes(
    policy: str, name: str, system: SystemReport, *, is_first_policy: bool
) -> Iterator[str]:
    unusable_counts = {pred: system.counts.get(pred, 0) for pred in ("INVALID", "ERROR")}
    if is_first_policy and any(unusable_counts.values()):
        parts = " and ".join(
            f"{number} {pred}" for pred, number in unusable_counts.items() if number
        )
        yield f"{name} has {parts} replies: see the worst and best bounds of its metrics."
    if is_first_policy and system.repeats > 1:
        yield (
            f"{name} answered each card {system.repeats} times: its counts are of replies, and its "
            "intervals resample all replies to the cards of a cluster together."
        )
    if is_first_policy and system.confidence and system.calibration and system.confidence.missing:
        yield f"Calibration of {name}: {system.confidence.reason}."
    if policy == "published" and unusable_counts["INVALID"] + unusable_counts["ERROR"]:
        yield f"Policy published counts the INVALID and ERROR replies of {name} as answers."
    widened = [metric for metric in METRICS if _is_widened_by_clusters(system.metrics[metric])]
    if widened:
        yield (
            f"Outcomes of {name} are correlated within clusters ({policy}: {', '.join(widened)}): "
            "Wilson intervals are too narrow there; use the cluster bootstrap intervals."
        )


def _is_widened_by_clusters(value: MetricValue) -> bool:
    """Whether Wilson's interval is shown and the cluster bootstrap interval is much wider."""
    bootstrap_interval = value.intervals.get("bootstrap-percentile")
    if (
        value.method != "wilson"
        or value.low is None
        or value.high is None
        or bootstrap_interval is None
    ):
        return False
    return bootstrap_interval[1] - bootstrap_interval[0] > _MUCH_WIDER_RATIO * (
        value.high - value.low
    )
