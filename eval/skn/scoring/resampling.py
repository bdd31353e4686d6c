"""All rows of a run as counts per sample, resampled once for every metric, pipeline and category.

Whole samples are resampled, with every pipeline's rows on them: that is what makes each comparison
of two pipelines paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eval.skn.scoring.measures import COLUMNS, counted
from eval.skn.scoring.observing import Observed
from eval.stats.intervals import (
    RESAMPLES,
    SEED,
    Distribution,
    Draws,
    Floats,
    Resampled,
    Weights,
    resample_blocks,
)
from eval.stats.measured import Measure, sides
from eval.stats.shown import ratios

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Plan:
    """How a run is measured.

    Attributes:
        resamples: bootstrap resamples, at least 1.
        seed: of their draws, of random signs and of simulated calibrated systems.
        confidence: coverage that intervals aim at.
        same_judge: whether the model that answered also judged, for the record and its notes.
        by_rules: whether rules judged and no model, for the signature.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = CONFIDENCE
    same_judge: bool = False
    by_rules: bool = False

    @property
    def judge(self) -> str:
        """Who judged, for the signature."""
        if self.by_rules:
            return "rules"
        return "same" if self.same_judge else "other"


class Part(Draws):
    """The same draws, of some of the clusters only.

    Args:
        whole: the draws of all of them.
        places: which clusters, shape (part,).
    """

    def __init__(self, whole: Draws, places: NDArray[np.int64]) -> None:
        super().__init__(len(places), whole.resamples, whole.seed)
        self._whole = whole
        self._places = places

    def pieces(self) -> Iterator[tuple[slice, Weights]]:
        """Consecutive resamples and the weights of these clusters."""
        for rows, times in self._whole.pieces():
            yield rows, times[:, self._places]


class Samples:
    """The rows of some pipelines on the same samples.

    Args:
        rows: by pipeline; each has every sample equally often.
        plan: how to resample.
    """

    def __init__(self, rows: Mapping[str, Sequence[Observed]], plan: Plan) -> None:
        self.rows = rows
        self.plan = plan
        first = next(iter(rows.values()))
        category = {row.sample: row.category for row in first}
        self.names = sorted(category)
        self.repeats = max(len(first) // max(len(self.names), 1), 1)
        self.draws = Draws(len(self.names), plan.resamples, plan.seed)
        self.place = {name: place for place, name in enumerate(self.names)}
        self.categories = {
            one: np.array([p for p, name in enumerate(self.names) if category[name] == one])
            for one in sorted(set(category.values()))
        }

    @cached_property
    def counts(self) -> dict[str, Floats]:
        """What each pipeline's rows add up to by sample, shape (samples, len(COLUMNS))."""
        column = {name: place for place, name in enumerate(COLUMNS)}
        found: dict[str, Floats] = {}
        for pipeline, rows in self.rows.items():
            table = np.zeros((len(self.names), len(COLUMNS)))
            for row in rows:
                at = self.place[row.sample]
                for name, amount in counted(row).items():
                    table[at, column[name]] += amount
            found[pipeline] = table
        return found

    @cached_property
    def _parts(self) -> dict[tuple[str, str], Resampled]:
        """By pipeline and category, over the samples of the category alone."""
        found: dict[tuple[str, str], Resampled] = {}
        for category, places in self.categories.items():
            blocks = [table[places] for table in self.counts.values()]
            parts = resample_blocks(blocks, Part(self.draws, places))
            found |= {(name, category): part for name, part in zip(self.counts, parts, strict=True)}
        return found

    def resampled(self, pipeline: str, category: str = "") -> Resampled:
        """Counts by sample and their resampled sums; of one category if named."""
        if category:
            return self._parts[pipeline, category]
        # The categories share no sample, so their sums are the whole's.
        sums = [self._parts[pipeline, one].sums for one in self.categories]
        return Resampled(self.counts[pipeline], np.sum(sums, axis=0))

    def distribution(
        self, measures: Sequence[Measure], pipeline: str, category: str = ""
    ) -> Distribution:
        """The bootstrap distribution of some metrics, one column each."""
        return ratios(self.resampled(pipeline, category), *sides(measures, COLUMNS))

    def totals(self, pipeline: str, category: str = "") -> dict[str, float]:
        """Sums over all samples, by column; of one category if named."""
        table = self.counts[pipeline]
        if category:
            table = table[self.categories[category]]
        return dict(zip(COLUMNS, table.sum(axis=0).tolist(), strict=True))

    def per_sample(self, measure: Measure, pipeline: str) -> Floats:
        """One value a sample, the mean of its repeats; nan where there is none."""
        table = self.counts[pipeline]
        top, bottom = (table @ weights for weights in measure.weights(COLUMNS))
        values: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
        return values
