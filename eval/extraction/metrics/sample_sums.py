"""Sums a system's columns by sample and evaluates metrics on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.extraction.metrics.columns import MetricColumns
from eval.extraction.metrics.resampler import RunPart
from eval.extraction.record import Estimate
from eval.stats.bootstrap import Floats, ResampledCounts
from eval.stats.ratio_metrics import RatioMetric, compute_estimates


@dataclass(frozen=True)
class SampleSums:
    """A system's columns, summed by sample.

    Attributes:
        names: names of the columns.
        table: the sums, shape (samples, columns).
    """

    names: tuple[str, ...]
    table: Floats

    @classmethod
    def from_columns(
        cls,
        columns: MetricColumns,
        row_values: Mapping[str, Floats],
        metrics: Iterable[RatioMetric],
        n_samples: int,
        *,
        extra_columns: Iterable[str] = (),
    ) -> SampleSums:
        """Sums the columns that some metrics need.

        Args:
            columns: columns of the system; they include each row's sample.
            row_values: name → one number per row.
            metrics: the metrics whose columns are needed.
            n_samples: number of samples.
            extra_columns: names of further columns to keep.
        """
        needed_names = {name for metric in metrics for name in metric.columns} | set(extra_columns)
        needed_values = {name: row_values[name] for name in sorted(needed_names)}
        return cls(tuple(needed_values), columns.sum_by_sample(n_samples, needed_values))

    @property
    def part(self) -> RunPart:
        """The sums as a part with all samples, for resampling."""
        return RunPart(None, self.table)

    @property
    def totals(self) -> dict[str, float]:
        """Sums over all samples, by column."""
        return dict(zip(self.names, self.table.sum(axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class ResampledSums:
    """Sums by sample together with their resampled sums.

    Attributes:
        sample_sums: the sums by sample.
        data: the sums by sample and their resampled sums.
        confidence: nominal coverage of intervals.
        repeated: whether samples have several repeats.
    """

    sample_sums: SampleSums
    data: ResampledCounts
    confidence: float
    repeated: bool

    def compute_estimates(self, metrics: Sequence[RatioMetric]) -> dict[str, Estimate]:
        """Evaluates metrics, with intervals and bounds; returns them by name."""
        return compute_estimates(
            metrics,
            self.sample_sums.names,
            self.data,
            confidence=self.confidence,
            repeated=self.repeated,
        )
