"""A system's sums by sample, ready to be resampled and to be read as metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.extraction.measuring.columns import Columns
from eval.extraction.measuring.resampling import Part
from eval.extraction.record import Value
from eval.stats.intervals import Floats, Resampled
from eval.stats.measured import Measure, values


@dataclass(frozen=True)
class Sheet:
    """Sums by sample.

    Attributes:
        names: what the columns hold.
        table: shape (samples, columns).
    """

    names: tuple[str, ...]
    table: Floats

    @classmethod
    def of(
        cls,
        columns: Columns,
        every: Mapping[str, Floats],
        measures: Iterable[Measure],
        samples: int,
        *,
        besides: Iterable[str] = (),
    ) -> Sheet:
        """The columns that some measures need, summed by sample.

        Args:
            columns: the rows' samples.
            every: one number a row, by name.
            measures: which.
            samples: how many there are.
            besides: further columns to keep.
        """
        needed = {name for measure in measures for name in measure.columns} | set(besides)
        chosen = {name: every[name] for name in sorted(needed)}
        return cls(tuple(chosen), columns.by_sample(samples, chosen))

    @property
    def part(self) -> Part:
        """All samples, to be resampled."""
        return Part(None, self.table)

    @property
    def totals(self) -> dict[str, float]:
        """Sums over all samples, by column."""
        return dict(zip(self.names, self.table.sum(axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class Sums:
    """A sheet with its resampled sums.

    Attributes:
        sheet: the sums by sample.
        data: the same, and resampled.
        confidence: coverage that intervals aim at.
        repeated: whether samples were put more than once.
    """

    sheet: Sheet
    data: Resampled
    confidence: float
    repeated: bool

    def values(self, measures: Sequence[Measure]) -> dict[str, Value]:
        """Some metrics by name, with intervals and bounds."""
        return values(
            measures,
            self.sheet.names,
            self.data,
            confidence=self.confidence,
            repeated=self.repeated,
        )
