"""Names the files of a run folder."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from eval.harness.reply import REPLIES
from eval.synthlink.scoring.outputs import OUTPUT_FILES as SCORE_FILES

ROWS: Final = "rows.jsonl"
RUN_MANIFEST: Final = "run_manifest.json"
"""The run's manifest; ``manifest.json`` is that of the scores."""
PREDICTIONS: Final = "predictions.json"
"""The predictions of the first repeat."""
_REPEAT_PATTERN: Final = "predictions.repeat*.json"
"""The predictions of further repeats; see ``name_predictions``."""
RECORDED_SEARCHES: Final = "search.jsonl"
"""The live searches with their results, from which a run can be replayed."""

OUTPUT_FILES: Final = (PREDICTIONS, _REPEAT_PATTERN, *SCORE_FILES)
"""Names and patterns of the files derived from the rows."""


def name_predictions(repeat: int) -> str:
    """Returns the file name of the predictions of a repeat, counted from 0 as in the rows."""
    return PREDICTIONS if repeat == 0 else f"predictions.repeat{repeat}.json"


def is_predictions_name(name: str) -> bool:
    """Returns whether a run may write a file of this name as predictions."""
    return name == PREDICTIONS or fnmatchcase(name, _REPEAT_PATTERN)


def list_run_files(folder: Path) -> list[Path]:
    """Returns the path of every file that a run in ``folder`` writes, except cache and report."""
    names = (REPLIES, ROWS, RUN_MANIFEST, RECORDED_SEARCHES, *OUTPUT_FILES)
    repeats = sorted(folder.glob(_REPEAT_PATTERN))
    return [folder / name for name in names if name != _REPEAT_PATTERN] + repeats
