"""Measures and compares results of cards through the interface that all benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from eval.comparison.gate import GATED_METRICS, collect_gated_values
from eval.comparison.pairs import compare_pairs
from eval.metrics.abstention import SYSTEM_METRICS, get_metric
from eval.metrics.comparison import Comparison
from eval.metrics.measurement import (
    MeasuredRuns,
    MeasuredSystem,
    Measurement,
    MetricInfo,
    ResamplingPlan,
    SystemPair,
)
from eval.metrics.observations import Observations, read_observations
from eval.metrics.record import PolicyName
from eval.metrics.report import measure
from eval.metrics.samples import Plan, Samples
from eval.stats.estimates import Estimate

_POLICY: Final[PolicyName] = "licensed"


class CardMeasurement(Measurement):
    """The metrics of results of cards under the policy ``licensed``.

    Args:
        runs: what is measured.
        plan: how cards are resampled.
        observations: the answers of all systems.
    """

    def __init__(
        self, runs: MeasuredRuns, plan: ResamplingPlan, observations: Observations
    ) -> None:
        super().__init__(runs, plan)
        self._plan = Plan((_POLICY,), plan.resamples, plan.seed, plan.confidence)
        self._observations = observations
        self._samples = Samples(observations, self._plan)
        self._systems = measure(observations, self._plan).policies[_POLICY].systems

    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """Returns the estimates of a system by metric."""
        return collect_gated_values(self._systems[system])

    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """Compares pairs of systems card by card; the difference is candidate − baseline."""
        return compare_pairs(
            self._samples, pairs, signature=self._samples.signature, metric_names=metric_names
        )


def measure_cards(paths: Sequence[Path], plan: ResamplingPlan) -> CardMeasurement:
    """Measures results files of one card set, on the cards that all systems answered.

    Raises:
        MissingFileError, RecordError, DuplicateIdError, CardSetMismatchError: as
            ``read_observations``.
    """
    observations = read_observations(paths, common=True, distinguish_equal_names=True)
    runs = MeasuredRuns(
        benchmark="abstention",
        noun="card",
        systems=tuple(_list_systems(observations, paths)),
        n_items=int(observations.headline_mask.sum()),
        n_left_out=observations.n_left_out,
        metrics={
            name: MetricInfo(
                get_metric(name, _POLICY).higher_is_better if name in SYSTEM_METRICS else None,
                is_compared=name in SYSTEM_METRICS,
            )
            for name in GATED_METRICS
        },
        headline=("AP", "CVRR", "FAR-NE", "LA", "accuracy"),
        items=observations.card_set[:12],
        details={"policy": _POLICY},
        notes=observations.notes,
    )
    return CardMeasurement(runs, plan, observations)


def _list_systems(observations: Observations, paths: Sequence[Path]) -> list[MeasuredSystem]:
    """Lists the systems of all files; controls are left out."""
    systems = []
    for name in observations.systems_under_test:
        for number, source in enumerate(observations.sources):
            if name in source.systems:
                own_name = name.removesuffix(f"@{paths[number].stem}")
                systems.append(MeasuredSystem(name, own_name, number))
    return systems
