"""What a section of structured extraction is made of, wherever it was read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from eval.extraction.comparison_record import ExtractionComparison
from eval.extraction.record import ExtractionReport, SystemReport
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import Matching
from reporting.extraction_section.points import Point
from reporting.visible_text import format_name


@dataclass(frozen=True)
class Shown:
    """One run, or several that are compared.

    Attributes:
        report: every number; systems of all runs.
        points: by system, one for each of its rows.
        comparison: of the systems; ``None`` where there is only one.
        matching: how fields were compared.
        facts: how the run was made: name and value, in order.
        dataset: its name.
        date: when it ended, as ISO 8601; empty where nobody knows.
        offline: whether no model was called.
        notices: what must be read before the numbers.
        samples_of: the samples with these ids, read again from disk.
        rows_of: their rows, likewise.
        manifests: name of a run and its manifest as JSON text.
        files: what all this was read from.
    """

    report: ExtractionReport
    points: dict[str, list[Point]]
    comparison: ExtractionComparison | None
    matching: Matching
    facts: tuple[tuple[str, str], ...]
    dataset: str
    date: str
    offline: bool
    notices: tuple[str, ...]
    samples_of: Callable[[Collection[str]], Iterable[Sample]]
    rows_of: Callable[[Collection[str]], Iterable[ExtractionRow]]
    manifests: tuple[tuple[str, str], ...]
    files: tuple[Path, ...]

    @property
    def systems(self) -> tuple[tuple[str, SystemReport], ...]:
        """Name and numbers, the highest score first; those without one last, ties by name."""
        return tuple(
            sorted(
                self.report.systems.items(),
                key=lambda one: (-_score(one[1]), one[0]),
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems in that order."""
        return tuple(name for name, _ in self.systems)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The same, fit to be shown."""
        return tuple(map(format_name, self.names))


def _score(one: SystemReport) -> float:
    value = one.metrics["extraction_quality_score"].value
    return -1.0 if value is None else value
