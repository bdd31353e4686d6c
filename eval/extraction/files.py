"""Names the files of a run folder."""

from __future__ import annotations

from pathlib import Path

from eval.extraction.row import ROWS

MANIFEST = "manifest.json"
SAMPLES = "samples.jsonl"
"""The samples that were asked, in the order of the rows."""

METRICS = "metrics.json"
COMPARISON = "comparison.json"
PREDICTIONS = "predictions.jsonl"
PER_SAMPLE = "per_sample.csv"
SUMMARY = "summary.txt"

OUTPUT_FILES = (METRICS, COMPARISON, PREDICTIONS, PER_SAMPLE, SUMMARY)
"""The files derived from the rows."""


def list_run_files(folder: Path) -> list[Path]:
    """Returns the path of every file that a run in ``folder`` writes, except cache and report."""
    return [folder / name for name in (ROWS, MANIFEST, SAMPLES, *OUTPUT_FILES)]
