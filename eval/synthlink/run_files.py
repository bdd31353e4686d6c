"""Names the files of a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from eval.synthlink.outputs import OUTPUT_FILES as SCORE_FILES

ROWS: Final = "rows.jsonl"
RUN_MANIFEST: Final = "run_manifest.json"
"""The run's manifest; ``manifest.json`` is that of the scores."""
PREDICTIONS: Final = "predictions.json"
RECORDED_SEARCHES: Final = "search.jsonl"
"""The live searches with their results, from which a run can be replayed."""

OUTPUT_FILES: Final = (PREDICTIONS, *SCORE_FILES)
"""The files derived from the rows."""


def list_run_files(folder: Path) -> list[Path]:
    """Returns the path of every file that a run in ``folder`` writes, except cache and report."""
    return [folder / name for name in (ROWS, RUN_MANIFEST, RECORDED_SEARCHES, *OUTPUT_FILES)]
