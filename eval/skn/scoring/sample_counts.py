"""Counts the rows of a run by sample and resamples them once for all metrics and pipelines.

Whole samples are resampled, together with all pipelines' rows on them. That makes every comparison
of two pipelines paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eval.skn.scoring.metric_definitions import COLUMNS, count_row
from eval.skn.scoring.observation import Observation
from eval.stats.bootstrap import (
    RESAMPLES,
    SEED,
    ClusterResamples,
    Distribution,
    Floats,
    ResampledCounts,
    Weights,
    resample_blocks,
)
from eval.stats.estimates import compute_ratios
from eval.stats.ratio_metrics import RatioMetric, build_weight_matrices

CONFIDENCE = 0.95


@dataclass(frozen=True)
class MeasurementPlan:
    """Settings that determine the metrics of a run.

    Attributes:
        resamples: number of bootstrap resamples, at least 1.
        seed: seed of the resamples, of random signs and of simulated calibrated systems.
        confidence: nominal coverage of the intervals.
        same_judge: whether the same model answered and judged, for the record and its notes.
        unjudged: the pipelines whose answers nobody judged.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = CONFIDENCE
    same_judge: bool = False
    unjudged: frozenset[str] = frozenset()

    def describe_judge(self, pipelines: Iterable[str]) -> str:
        """Returns the kind of judge of some pipelines, for the signature."""
        if self.unjudged.issuperset(pipelines):
            return "none"
        return "same" if self.same_judge else "other"


class ResampledSubset(ClusterResamples):
    """The same resamples, restricted to some of the clusters.

    Args:
        resamples: the resamples of all clusters.
        positions: indexes of the clusters, shape (n,).
    """

    def __init__(self, resamples: ClusterResamples, positions: NDArray[np.int64]) -> None:
        super().__init__(len(positions), resamples.n_resamples, resamples.seed)
        self._all_resamples = resamples
        self._positions = positions

    def iter_weights(self) -> Iterator[tuple[slice, Weights]]:
        """Yields batches of consecutive resamples with the weights of these clusters."""
        for batch, weights in self._all_resamples.iter_weights():
            yield batch, weights[:, self._positions]


class SampleCounts:
    """The rows of some pipelines on the same samples.

    Args:
        rows: pipeline → rows. In each pipeline, all samples have the same number of rows, one per
            repeat.
        plan: settings of the resampling.
    """

    def __init__(self, rows: Mapping[str, Sequence[Observation]], plan: MeasurementPlan) -> None:
        self.rows = rows
        self.plan = plan
        first = next(iter(rows.values()))
        category = {row.sample: row.category for row in first}
        self.names = sorted(category)
        self.repeats = max(len(first) // max(len(self.names), 1), 1)
        self.resamples = ClusterResamples(len(self.names), plan.resamples, plan.seed)
        self.sample_index = {name: index for index, name in enumerate(self.names)}
        self.categories = {
            label: np.array(
                [index for index, name in enumerate(self.names) if category[name] == label]
            )
            for label in sorted(set(category.values()))
        }

    @cached_property
    def counts(self) -> dict[str, Floats]:
        """Pipeline → sums of its rows by sample, shape (samples, len(COLUMNS))."""
        column_index = {name: index for index, name in enumerate(COLUMNS)}
        sums: dict[str, Floats] = {}
        for pipeline, rows in self.rows.items():
            table = np.zeros((len(self.names), len(COLUMNS)))
            for row in rows:
                sample_index = self.sample_index[row.sample]
                for name, amount in count_row(row).items():
                    table[sample_index, column_index[name]] += amount
            sums[pipeline] = table
        return sums

    @cached_property
    def _category_counts(self) -> dict[tuple[str, str], ResampledCounts]:
        """(Pipeline, category) → resampled counts over the samples of the category."""
        resampled: dict[tuple[str, str], ResampledCounts] = {}
        for category, sample_indexes in self.categories.items():
            blocks = [table[sample_indexes] for table in self.counts.values()]
            parts = resample_blocks(blocks, ResampledSubset(self.resamples, sample_indexes))
            resampled |= {
                (name, category): part for name, part in zip(self.counts, parts, strict=True)
            }
        return resampled

    def get_resampled_counts(self, pipeline: str, category: str = "") -> ResampledCounts:
        """Returns the counts by sample and their resampled sums.

        Args:
            pipeline: name of the pipeline.
            category: the category whose samples are used; empty for all samples.
        """
        if category:
            return self._category_counts[pipeline, category]
        # The categories have no sample in common, so their sums add up to the total sums.
        sums = [self._category_counts[pipeline, label].sums for label in self.categories]
        return ResampledCounts(self.counts[pipeline], np.sum(sums, axis=0))

    def compute_distribution(
        self, metrics: Sequence[RatioMetric], pipeline: str, category: str = ""
    ) -> Distribution:
        """Computes the bootstrap distribution of some metrics, one column each.

        Args:
            metrics: the metrics.
            pipeline: name of the pipeline.
            category: the category whose samples are used; empty for all samples.
        """
        return compute_ratios(
            self.get_resampled_counts(pipeline, category), *build_weight_matrices(metrics, COLUMNS)
        )

    def sum_columns(self, pipeline: str, category: str = "") -> dict[str, float]:
        """Returns column → sum over the samples of a category, or over all samples by default."""
        table = self.counts[pipeline]
        if category:
            table = table[self.categories[category]]
        return dict(zip(COLUMNS, table.sum(axis=0).tolist(), strict=True))

    def compute_sample_values(self, metric: RatioMetric, pipeline: str) -> Floats:
        """Computes one value per sample, pooled over its repeats; NaN where it is undefined."""
        table = self.counts[pipeline]
        numerator, denominator = (table @ weights for weights in metric.build_weights(COLUMNS))
        undefined = np.full(len(numerator), np.nan)
        values: Floats = np.divide(numerator, denominator, out=undefined, where=denominator > 0)
        return values
