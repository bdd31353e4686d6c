"""Names the files of a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.harness.reply import REPLIES, VOTES

ROWS: Final = "rows.jsonl"
MANIFEST: Final = "manifest.json"
SAMPLES: Final = "samples.jsonl"
"""The samples that are asked, one per line."""
SOURCES: Final = "sources.jsonl"
"""The search results of each of these samples, one per line."""

SEARCHES: Final = "search_results.json"
EXTRACTIONS: Final = "extractions.json"
RESPONSES: Final = "agent_responses.json"
DETAILS: Final = "detailed_results.json"
METRICS: Final = "metrics.json"
SUMMARY: Final = "summary.txt"
CATEGORIES: Final = "categories.csv"
"""Every metric by category; not a file of the published benchmark, as the six before it are."""

OUTPUT_FILES: Final = (
    *(SEARCHES, EXTRACTIONS, RESPONSES, DETAILS, METRICS, SUMMARY),
    CATEGORIES,
)
"""Files that are derived from the rows."""


def list_run_files(folder: Path) -> list[Path]:
    """Returns the paths of all files of a run, except cache, live searches and report."""
    names = (ROWS, REPLIES, VOTES, MANIFEST, SAMPLES, SOURCES, *OUTPUT_FILES)
    return [folder / name for name in names]
