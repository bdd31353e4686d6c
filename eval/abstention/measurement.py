"""Measures and compares results of cards through the interface that all benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from eval.abstention.card_check import check_cards
from eval.abstention.gated_values import collect_gated_values, list_gated_metrics
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.definitions import (
    ALL_THREE,
    EXPLANATORY_METRICS,
    GEOMEAN_RECALL,
    PENALTIES,
    SKILL,
    get_metric,
    list_metric_names,
)
from eval.abstention.metrics.mined_cards import describe_mined_cards, leave_out_mined_cards
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.optional_metrics import CONFIDENCE_METRICS, MEMORY
from eval.abstention.metrics.outcomes import CONTROLS
from eval.abstention.metrics.pairs import compare_pairs
from eval.abstention.metrics.record import MetricsReport, SystemReport
from eval.abstention.metrics.report import measure
from eval.abstention.metrics.triplets import describe_incomplete_triplets, find_triplets
from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    MeasuredRuns,
    MeasuredSystem,
    Measurement,
    MetricInfo,
    PolicyName,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.metric_value import ConfidenceCounts
from eval.stats.estimates import Estimate

_BASELINE_SUFFIX: Final = " (baseline)"


class CardMeasurement(Measurement):
    """The metrics of results of cards under one policy.

    Args:
        runs: what is measured.
        plan: how cards are resampled.
        observations: the answers of all systems.
        policy: what counts as an answer and as an abstention.
    """

    def __init__(
        self,
        runs: MeasuredRuns,
        plan: ResamplingPlan,
        observations: Observations,
        policy: PolicyName,
    ) -> None:
        super().__init__(runs, plan)
        self._policy = policy
        self._plan = Plan((policy,), plan.resamples, plan.seed, plan.confidence)
        self._observations = observations

    @cached_property
    def _samples(self) -> Samples:
        return Samples(self._observations, self._plan)

    @cached_property
    def _report(self) -> MetricsReport:
        return measure(self._observations, self._plan, with_pairs=False)

    @cached_property
    def _reports(self) -> Mapping[str, SystemReport]:
        report = self._report.policies[self._plan.policies[0]]
        return report.systems | report.controls

    def collect_notes(self) -> Sequence[str]:
        """Returns the notes of `epoche metrics`, which also say what the estimates show."""
        return self._report.notes

    def count_uncovered(self, candidate: str, baseline: str) -> tuple[int, int]:
        """Counts the cards that the baseline answered and the candidate lacks, and all of it."""
        masks = self._observations.unanswered
        if candidate not in masks:
            return 0, 0
        is_missing = masks[candidate]
        is_answered = ~masks.get(baseline, np.zeros_like(is_missing))
        return int((is_missing & is_answered).sum()), int(is_answered.sum())

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """Returns the estimates of a system or control by metric."""
        return collect_gated_values(self._reports[system], self._policy)

    def count_confidences(self) -> Mapping[str, ConfidenceCounts]:
        """See ``Measurement``; a control that was not run has no answers."""
        counts = {name: report.confidence for name, report in self._reports.items()}
        return {name: count for name, count in counts.items() if count is not None}

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """Compares pairs of systems card by card; the difference is candidate − baseline."""
        return compare_pairs(
            self._samples, pairs, signature=self._samples.signature, metric_names=metric_names
        )


def measure_cards(
    paths: Sequence[Path],
    plan: ResamplingPlan,
    *,
    baseline: Sequence[Path] = (),
    policy: PolicyName = "licensed",
    cards: Sequence[Path] = (),
    common: bool = True,
    without_mined: bool = False,
    allow_changed: bool = False,
) -> CardMeasurement:
    """Measures result files of one card set.

    Args:
        paths: the result files. Equal names of their systems are distinguished by the files' names,
            if there is no baseline.
        plan: how cards are resampled.
        baseline: further result files, whose runs follow; their systems are marked as baseline. A
            system may be spread over several files.
        policy: what counts as an answer and as an abstention.
        cards: card files that the results must belong to; empty: not checked.
        common: leave out cards that a system was not to be asked, instead of raising.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.
        allow_changed: accept rows and cards that are not as their run left them.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError, ChangedRunError: as
            ``read_observations`` and ``check_cards``.
        SettingError: without the cards that rest on rules found in the data, none remains.
    """
    observations = read_observations(
        [*paths, *baseline],
        common="paired" if common else False,
        distinguish_equal_names=True,
        suffixes=dict.fromkeys(baseline, _BASELINE_SUFFIX),
        cards=cards,
        allow_changed=allow_changed,
    )
    if cards:
        observations = check_cards(observations, cards, allow_changed=allow_changed)
    if without_mined:
        observations = leave_out_mined_cards(observations)
    systems, controls = _list_systems(observations)
    runs = MeasuredRuns(
        benchmark="abstention",
        noun="card",
        systems=systems,
        n_items=int(observations.headline_mask.sum()),
        n_left_out=observations.n_left_out,
        metrics={name: _describe_metric(name, policy) for name in list_gated_metrics(policy)},
        headline=_list_headline(observations, policy),
        items=observations.card_set[:12],
        details={"policy": policy} | dict(d.split(":") for d in observations.signature_details),
        notes=(
            *observations.notes,
            *describe_mined_cards(observations),
            *describe_incomplete_triplets(observations),
        ),
        warnings=observations.warnings,
        controls=controls,
    )
    return CardMeasurement(runs, plan, observations, policy)


def _describe_metric(name: str, policy: PolicyName) -> MetricInfo:
    if name == ALL_THREE:
        return MetricInfo(True)
    is_computed = name in list_metric_names(policy)
    return MetricInfo(
        get_metric(name, policy).higher_is_better if is_computed else None,
        is_share=name not in (*PENALTIES, MEMORY),
        is_compared=is_computed,
        is_of_confidences=name in CONFIDENCE_METRICS,
    )


def _list_headline(observations: Observations, policy: PolicyName) -> tuple[str, ...]:
    """Lists the metrics on which runs are compared with a baseline."""
    others = (*EXPLANATORY_METRICS, "accuracy")
    if policy == "published":
        return others
    is_headline = observations.headline_mask
    triplets = find_triplets(observations.triplets[is_headline], observations.labels[is_headline])
    return (SKILL, ALL_THREE if len(triplets) else GEOMEAN_RECALL, *others)


def _list_systems(
    observations: Observations,
) -> tuple[tuple[MeasuredSystem, ...], tuple[str, ...]]:
    """Lists the systems of all files, each with the first of its files, and the controls."""
    found: dict[str, MeasuredSystem] = {}
    for number, source in enumerate(observations.sources):
        for name in source.systems:
            found.setdefault(name, MeasuredSystem(name, observations.own_names[name], number))
    under_test = observations.systems_under_test
    return (
        tuple(system for system in found.values() if system.name in under_test),
        tuple(
            system.name
            for control in CONTROLS
            for system in found.values()
            if system.own_name == control
        ),
    )
