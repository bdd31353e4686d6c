"""What a run writes, and what is made of its rows, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.synthlink.outputs import OUTPUT_FILES

ROWS: Final = "rows.jsonl"
RUN_MANIFEST: Final = "run_manifest.json"
"""Beside the ``manifest.json`` of the scores."""
PREDICTIONS: Final = "predictions.json"
RECORDED: Final = "search.jsonl"
"""Live searches, as they were answered."""

MADE_OF_ROWS: Final = (PREDICTIONS, *OUTPUT_FILES)


def written_by(folder: Path) -> list[Path]:
    """Every file that a run in ``folder`` writes, but for a cache and a page."""
    return [folder / name for name in (ROWS, RUN_MANIFEST, RECORDED, *MADE_OF_ROWS)]
