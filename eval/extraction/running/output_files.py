"""What stands in a run's folder beside its rows and manifest."""

from __future__ import annotations

from pathlib import Path

from eval.extraction.row import ROWS

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


def written_by(folder: Path) -> list[Path]:
    """Every file that a run in ``folder`` writes, but for a cache and a page."""
    return [folder / name for name in (ROWS, MANIFEST, SAMPLES, *OUTPUTS)]
