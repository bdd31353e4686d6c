"""What stands in a run's folder beside its rows and manifest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from eval.extraction.row import ROWS
from kg.base.files import write_errors_named

MANIFEST = "manifest.json"
SAMPLES = "samples.jsonl"
"""The samples as they were asked, in the order of the run."""

METRICS = "metrics.json"
COMPARISON = "comparison.json"
PREDICTIONS = "predictions.jsonl"
PER_SAMPLE = "per_sample.csv"
SUMMARY = "summary.txt"

OUTPUTS = (METRICS, COMPARISON, PREDICTIONS, PER_SAMPLE, SUMMARY)
"""What is made of the rows."""

_PAGES = ("report.html", "report.md", "report.json", "report.*.csv", "report.*.parquet")
"""The page and its tables."""


def written_by(folder: Path) -> list[Path]:
    """Every file that a run in ``folder`` writes, but for a cache and a page."""
    return [folder / name for name in (ROWS, MANIFEST, SAMPLES, *OUTPUTS)]


def forget_outputs(folder: Path, names: Iterable[str]) -> None:
    """Removes files that are not wanted any more.

    Raises:
        WriteError: one cannot be removed.
    """
    for name in names:
        with write_errors_named(folder / name):
            (folder / name).unlink(missing_ok=True)


def forget_all(folder: Path) -> None:
    """Removes everything that was made of the rows, the page and its tables with it.

    Raises:
        WriteError: one cannot be removed.
    """
    pages = (path.name for pattern in _PAGES for path in sorted(folder.glob(pattern)))
    forget_outputs(folder, (*OUTPUTS, *pages))
