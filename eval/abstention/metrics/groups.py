"""Computes metrics per group: by label, by kind, for near-misses, and for facts set aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.generation.kinds import FAITHFULNESS_KINDS
from eval.abstention.metrics.cluster_samples import Samples
from eval.abstention.metrics.definitions import REPLY_RATES, get_metrics
from eval.abstention.metrics.observations import Observations
from eval.abstention.metrics.outcomes import (
    LABEL_CODE,
    Codes,
    count_cards_per_label,
    count_cells,
    counts_to_table,
)
from eval.abstention.metrics.record import (
    GroupReport,
    MemoryFinding,
    MemoryTests,
    SystemReport,
)
from eval.abstention.metrics.values import compute_metric_value
from eval.metrics.measurement import PolicyName
from eval.metrics.metric_value import MetricValue
from eval.metrics.signature import Signature
from eval.stats.bootstrap import round_significant
from eval.stats.paired_tests import ALPHA, adjust_holm, compute_newcombe_p, square_and_add
from kg.claims import LABELS, Label

_GROUP_METRICS = (
    *("CVRR", "FAR-NE", "LA", "coverage", "accuracy"),
    *("false_denial_rate", "abstention_recall", *REPLY_RATES),
)
"""Metrics that are meaningful for cards of one label or kind; AP needs several labels."""


TRUE_IN_GRAPH = "true in the graph"
OTHERS = "others"
"""The groups of U cards by whether their claim was set aside."""
MEMORY_MARGIN = 0.1
"""A difference of ``memory`` that is too large to be called none. With 100 cards in each group, and
no YES, the test excludes it."""


@dataclass(frozen=True)
class _CardGroup:
    """A group of cards.

    Attributes:
        name: the label or kind, or the name of the set.
        signature_part: the group as named in signatures, such as ``label:E``.
        codes: a code for each card that was read.
        code: the code of the group's cards.
        n_cards: number of its cards.
        n_clusters: number of clusters that its cards belong to.
    """

    name: str
    signature_part: str
    codes: NDArray[Any]
    code: int
    n_cards: int
    n_clusters: int

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Mask of the group's cards among all cards that were read."""
        mask: NDArray[np.bool_] = self.codes == self.code
        return mask


class CardGroups:
    """Groups of cards by label, kind and set, in which every metric is a proportion of cards."""

    def __init__(self, samples: Samples, policy: PolicyName) -> None:
        observations = samples.observations
        self.group_metrics = get_metrics(_GROUP_METRICS, policy)
        self.labels = observations.golds if policy == "published" else observations.labels
        self.clusters = observations.clusters
        headline = observations.headline_mask
        headline_labels = np.where(headline, self.labels, np.int8(-1))
        kinds = [
            self._build_group(name, "kind", observations.kinds.codes, code)
            for code, name in enumerate(observations.kinds.names)
            if name
        ]
        kinds = [kind for kind in kinds if kind.n_cards]
        # In the order of their labels: kinds of E first, then C, then U.
        kinds.sort(key=lambda kind: (int(self.labels[kind.mask].min()), kind.name))
        self.sections = {
            "label": [
                self._build_group(label, "label", headline_labels, code)
                for code, label in enumerate(LABELS)
            ],
            "kind": [kind for kind in kinds if kind.name not in FAITHFULNESS_KINDS],
            "near-misses": [
                self._build_group("all near-misses", "set", observations.near_miss_mask, True)
            ],
            "faithfulness": [kind for kind in kinds if kind.name in FAITHFULNESS_KINDS],
            "set-aside": self._build_set_aside_groups(observations, headline),
        }

    def _build_set_aside_groups(
        self, observations: Observations, headline: NDArray[np.bool_]
    ) -> list[_CardGroup]:
        full_labels = observations.full_labels
        is_known = headline & (self.labels == LABEL_CODE["U"]) & full_labels.select(bool)
        is_true = full_labels.select(lambda label: label == "E")
        return [
            self._build_group(TRUE_IN_GRAPH, "set-aside", is_known & is_true, True),
            self._build_group(OTHERS, "set-aside", is_known & ~is_true, True),
        ]

    def report_section(
        self, section: str, answers: Codes, base: Signature
    ) -> dict[str, GroupReport]:
        """Reports on a system's answers in every non-empty group of a section."""
        return {
            group.name: self._report_group(group, answers, base)
            for group in self.sections[section]
            if group.n_cards
        }

    def _build_group(
        self, name: str, group_type: str, codes: NDArray[Any], code: int
    ) -> _CardGroup:
        mask = codes == code
        n_clusters = int(np.count_nonzero(np.bincount(self.clusters[mask])))
        return _CardGroup(name, f"{group_type}:{name}", codes, code, int(mask.sum()), n_clusters)

    def _report_group(self, group: _CardGroup, answers: Codes, base: Signature) -> GroupReport:
        """Reports the group's outcome table and the metrics that are defined on its labels."""
        mask = group.mask
        counts = count_cells(self.labels[mask], answers[mask])
        cards_per_label = count_cards_per_label(counts)
        labels: tuple[Label, ...] = tuple(label for label in LABELS if cards_per_label[label])
        signature = base.with_metric("", group=group.signature_part)
        n_clusters_if_repeated = group.n_clusters if answers.ndim == 2 else 0
        return GroupReport(
            n_cards=group.n_cards,
            n_clusters=group.n_clusters,
            table=counts_to_table(counts, labels=labels),
            metrics={
                metric.name: compute_metric_value(
                    metric, counts, signature, n_clusters_if_repeated=n_clusters_if_repeated
                )
                for metric in self.group_metrics
                if metric.compute_parts(counts)[1] > 0
            },
        )


def compute_memory(groups: Mapping[str, GroupReport], base: Signature) -> MetricValue | None:
    """Computes by how much more often a system says YES where the claim is true but not shown.

    A difference comes from memory, or from related facts that prove nothing.

    Args:
        groups: the U cards whose claim was set aside, and the others.
        base: signature of the computation.

    Returns:
        The difference of both shares, with Newcombe's interval for independent cards; ``None``
        where one of the groups has no card.
    """
    rates = [groups[name].metrics["yes_rate"] for name in (TRUE_IN_GRAPH, OTHERS) if name in groups]
    parts = [
        (rate.value, (rate.low, rate.high))
        for rate in rates
        if rate.value is not None and rate.low is not None and rate.high is not None
    ]
    if len(parts) < 2:
        return None
    first, second = parts
    low, high = (round_significant(end) for end in square_and_add(first, second))
    return MetricValue(
        value=round_significant(first[0] - second[0]),
        low=low,
        high=high,
        method="newcombe",
        n=sum(rate.n for rate in rates),
        higher_is_better=False,
        signature=str(base.with_metric("memory")),
        intervals={"newcombe": (low, high)},
    )


def add_memory_tests(systems: Mapping[str, SystemReport]) -> dict[str, SystemReport]:
    """Adds the tests of memory to the systems that have a value of it.

    Failed calls and unreadable replies are no evidence against memory, so the test against the
    margin takes those to claims that were set aside for YES. Each finding is about one system, so
    it does not depend on which other systems there are.
    """
    return {
        name: system
        if system.memory is None
        else msgspec.structs.replace(system, memory_tests=_test_memory(system, system.memory))
        for name, system in systems.items()
    }


def _test_memory(system: SystemReport, memory: MetricValue) -> MemoryTests:
    true, others = (
        _count_replies(system.set_aside[key], "U", system.repeats)
        for key in (TRUE_IN_GRAPH, OTHERS)
    )
    highest = true.yes + true.unusable
    is_below = highest / true.n - others.yes / others.n < MEMORY_MARGIN
    p_values = [
        compute_newcombe_p((true.yes, true.n), (others.yes, others.n)),
        # The test has one side: a difference above the margin does not count against it.
        compute_newcombe_p((highest, true.n), (others.yes, others.n), MEMORY_MARGIN)
        if is_below
        else 1.0,
    ]
    p_holm, p_margin_holm = (1.0 if p is None else p for p in adjust_holm(p_values))
    finding: MemoryFinding = "unclear"
    if memory.low is not None and memory.low > 0 and p_holm < ALPHA:
        finding = "memory"
    elif memory.high is not None and memory.high < MEMORY_MARGIN and p_margin_holm < ALPHA:
        finding = "none" if shows_reading(system) else "unclear"
    return MemoryTests(
        p=round_significant(p_values[0]),
        p_holm=round_significant(p_holm),
        margin=MEMORY_MARGIN,
        p_margin=round_significant(p_values[1]),
        p_margin_holm=round_significant(p_margin_holm),
        finding=finding,
    )


def shows_reading(system: SystemReport) -> bool:
    """Whether a system answers by the facts: without this, it is not cleared of memory.

    It says YES more often where the facts say so than elsewhere, by a test, and where cards were
    changed it is not shown to answer most of them against their facts.
    """
    if "E" not in system.per_label:
        return False
    stated = _count_replies(system.per_label["E"], "E", system.repeats)
    others = _count_replies(system.set_aside[OTHERS], "U", system.repeats)
    if stated.yes / stated.n <= others.yes / others.n:
        return False
    p_value = compute_newcombe_p((stated.yes, stated.n), (others.yes, others.n))
    accuracies = [group.metrics["accuracy"].high for group in system.faithfulness.values()]
    return p_value < ALPHA and not any(high is not None and high < 0.5 for high in accuracies)


@dataclass(frozen=True)
class _ReplyCounts:
    """Numbers of independent replies: all, YES, and unusable ones."""

    n: float
    yes: float
    unusable: float


def _count_replies(report: GroupReport, label: Label, repeats: int) -> _ReplyCounts:
    """Counts the replies to a group of cards of one label; several replies to a card are one."""
    row = report.table[label]
    n = sum(row.values())
    # Replies to one card are not independent; the interval of the share counts clusters, too.
    scale = report.n_clusters / n if repeats > 1 else 1.0
    unusable = row.get("INVALID", 0) + row.get("ERROR", 0)
    return _ReplyCounts(n * scale, row.get("YES", 0) * scale, unusable * scale)
