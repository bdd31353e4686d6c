"""What is made of a run's rows: the published benchmark's six files, by their names."""

from __future__ import annotations

from pathlib import Path

from kg.base.files import write_errors_named

SEARCHES = "search_results.json"
EXTRACTIONS = "extractions.json"
RESPONSES = "agent_responses.json"
DETAILS = "detailed_results.json"
METRICS = "metrics.json"
SUMMARY = "summary.txt"

OUTPUTS = (SEARCHES, EXTRACTIONS, RESPONSES, DETAILS, METRICS, SUMMARY)
"""In the order of the steps."""


def forget_outputs(folder: Path) -> None:
    """Removes what was made of rows that are about to change.

    Raises:
        WriteError: one cannot be removed.
    """
    for name in OUTPUTS:
        with write_errors_named(folder / name):
            (folder / name).unlink(missing_ok=True)
