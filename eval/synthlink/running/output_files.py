"""What a run writes, and what is made of its rows, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.synthlink.outputs import OUTPUTS
from kg.base.files import write_errors_named

ROWS: Final = "rows.jsonl"
RUN_MANIFEST: Final = "run_manifest.json"
"""Beside the ``manifest.json`` of the scores."""
PREDICTIONS: Final = "predictions.json"
RECORDED: Final = "search.jsonl"
"""Live searches, as they were answered."""

MADE_OF_ROWS: Final = (PREDICTIONS, *OUTPUTS)
_PAGES: Final = ("report.html", "report.md", "report.json", "report.*.csv", "report.*.parquet")


def written_by(folder: Path) -> list[Path]:
    """Every file that a run in ``folder`` writes, but for a cache and a page."""
    return [folder / name for name in (ROWS, RUN_MANIFEST, RECORDED, *MADE_OF_ROWS)]


def forget_outputs(folder: Path) -> None:
    """Removes what was made of rows that are about to change, the page with it.

    Raises:
        WriteError: one cannot be removed.
    """
    pages = (path.name for pattern in _PAGES for path in sorted(folder.glob(pattern)))
    for name in (*MADE_OF_ROWS, *pages):
        with write_errors_named(folder / name):
            (folder / name).unlink(missing_ok=True)
