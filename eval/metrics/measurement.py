"""The interface by which commands measure and compare the runs of any benchmark.

A benchmark implements ``Measurement`` for one or several of its run folders. The commands
``metrics``, ``compare``, ``gate``, ``power`` and ``report`` use only this interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from eval.metrics.comparison import Comparison
from eval.metrics.metric_value import ConfidenceCounts
from eval.stats.bootstrap import RESAMPLES, SEED
from eval.stats.estimates import Estimate
from eval.stats.paired_tests import choose_resamples
from kg.base.provenance import package_version

PolicyName = Literal["licensed", "published"]
"""What counts as an answer to a card and as an abstention."""

FAILURE_METRIC = "error_rate"
"""The share of rows that are missing or have no usable reply. A benchmark has it unless no system
of it can fail."""


@dataclass(frozen=True)
class ResamplingPlan:
    """How items are resampled.

    Attributes:
        resamples: number of bootstrap resamples.
        seed: seeds the resamples and the random signs of the sign-flip test.
        confidence: nominal coverage of the intervals.
        is_adaptive: whether more resamples are used where many differences are tested.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = 0.95
    is_adaptive: bool = False

    @classmethod
    def choose(cls, resamples: int | None, seed: int, confidence: float) -> ResamplingPlan:
        """Returns the plan with the resamples that a user gave, if any."""
        return cls(resamples or RESAMPLES, seed, confidence, is_adaptive=resamples is None)

    def adapt_to(self, n_tests: int) -> ResamplingPlan:
        """Returns the plan for a family of so many tests."""
        if not self.is_adaptive:
            return self
        return replace(self, resamples=choose_resamples(n_tests))


@dataclass(frozen=True)
class MetricInfo:
    """What commands must know of a metric.

    Attributes:
        higher_is_better: direction; ``None`` for descriptive metrics.
        is_share: whether values lie in [0, 1].
        is_compared: whether differences between systems can be tested.
        is_of_confidences: whether it is about the answers that carry a confidence only.
    """

    higher_is_better: bool | None
    is_share: bool = True
    is_compared: bool = True
    is_of_confidences: bool = False


SystemPair = tuple[str, str]
"""Candidate and baseline."""


@dataclass(frozen=True)
class MeasuredSystem:
    """A system of one of the measured runs.

    Attributes:
        name: name among all runs. A name that occurs in several runs is followed by ``@`` and the
            run's folder.
        own_name: name in its run.
        run: number of the run, from 0.
    """

    name: str
    own_name: str
    run: int


@dataclass(frozen=True, kw_only=True)
class MeasuredRuns:
    """What is measured.

    Attributes:
        benchmark: name of the benchmark.
        noun: what an item is called, for example ``sample``.
        systems: the systems of all runs.
        n_items: number of items on which all systems are measured.
        n_left_out: number of further items, which not all runs have.
        metrics: the metrics by name, in the order of tables.
        headline: names of the metrics that are printed and compared by default.
        items: hash of the items, the first 12 hexadecimal digits.
        details: further settings that decide the numbers, for the signature.
        notes: what a reader must know before quoting a number.
        warnings: what must be said wherever a number is shown.
        controls: systems that ignore their input and are not among ``systems``. They have
            estimates, and a condition of the gate may name them.
        asked: for each run, the items that it was asked: id → content or its hash; empty if the
            benchmark counts uncovered items itself.
    """

    benchmark: str
    noun: str
    systems: tuple[MeasuredSystem, ...]
    n_items: int
    n_left_out: int
    metrics: Mapping[str, MetricInfo]
    headline: tuple[str, ...]
    items: str
    details: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    asked: tuple[Mapping[str, object], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all systems."""
        return tuple(system.name for system in self.systems)


class Measurement(ABC):
    """Computes the metrics of the systems in some runs of one benchmark.

    Numbers are computed when they are asked for, from the same resamples for all systems.

    Args:
        runs: what is measured.
        plan: how items are resampled.
    """

    def __init__(self, runs: MeasuredRuns, plan: ResamplingPlan) -> None:
        self.runs = runs
        self.plan = plan

    @property
    def signature(self) -> str:
        """Settings and hashes in one line, to be quoted with a number."""
        parts = {
            "items": self.runs.items,
            "n": self.runs.n_items,
            **self.runs.details,
            "boot": self.plan.resamples,
            "seed": self.plan.seed,
            "conf": f"{self.plan.confidence:g}",
            "v": package_version(),
        }
        return "|".join([self.runs.benchmark, *(f"{key}:{part}" for key, part in parts.items())])

    def collect_notes(self) -> Sequence[str]:
        """Returns what a reader of the estimates must know before quoting one."""
        return self.runs.notes

    def count_uncovered(self, candidate: str, baseline: str) -> tuple[int, int]:
        """Counts items that the baseline was asked and the candidate was not, and all of these.

        (0, 0) if the benchmark does not say.
        """
        runs = {system.name: system.run for system in self.runs.systems}
        if not self.runs.asked:
            return 0, 0
        own, expected = (self.runs.asked[runs[name]] for name in (candidate, baseline))
        # An item of the same id and other content is another one.
        n_uncovered = sum(own.get(id_) != content for id_, content in expected.items())
        return n_uncovered, len(expected)

    def count_confidences(self) -> Mapping[str, ConfidenceCounts]:
        """Counts the answers with and without a confidence, by system.

        Empty if the benchmark has no metric of confidences.
        """
        return {}

    @abstractmethod
    def estimates(self, system: str) -> Mapping[str, Estimate]:
        """Returns the estimates of a system or control: one for each of ``runs.metrics``."""

    @abstractmethod
    def compare(
        self, pairs: Sequence[SystemPair], metric_names: Sequence[str]
    ) -> tuple[Comparison, ...]:
        """Compares pairs of systems, item by item.

        Args:
            pairs: candidate and baseline; the difference is candidate − baseline.
            metric_names: names of metrics with ``is_compared``.

        Returns:
            One comparison for each metric and pair, ordered by metric and then by pair.
        """
