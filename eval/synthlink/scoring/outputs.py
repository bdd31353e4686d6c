"""The files in a folder of scores: their names, their records, and functions that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from eval.synthlink.items import Source
from eval.synthlink.metrics import AnswerStatus, Mode
from eval.synthlink.predictions import Iteration
from eval.synthlink.scoring.record import (
    GroupScores,
    QuestionComparison,
    RepeatScores,
    SynthLinkReport,
)
from eval.synthlink.scoring.tables import CATEGORY_SCORES_CSV, OVERALL_TEXT, SCORES_CSV, SCORES_JSON
from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines, require_file

ANSWERS_FILE: Final = "synthlink_answers.jsonl"
"""One ``AnswerView`` per line, in the order of the catalogue."""
COMPARISON_CSV: Final = "synthlink_comparison.csv"
COMPARISON_MARKDOWN: Final = "synthlink_comparison.md"
COMPARISON_FILES: Final = (COMPARISON_CSV, COMPARISON_MARKDOWN)
"""Written only if other files of predictions are compared with the first."""
MANIFEST_FILE: Final = "manifest.json"
OUTPUT_FILES: Final = (
    SCORES_CSV,
    CATEGORY_SCORES_CSV,
    OVERALL_TEXT,
    SCORES_JSON,
    ANSWERS_FILE,
    *COMPARISON_FILES,
    MANIFEST_FILE,
)


class ComparedScores(msgspec.Struct, frozen=True, kw_only=True):
    """Another file of predictions, scored with the same settings and compared with the first."""

    name: str
    """Name of the file, with as many folders as needed to distinguish it from the others."""
    sha256: str
    """SHA-256 of the file."""
    modes: dict[Mode, GroupScores]
    """Mode → the file's own scores over the whole catalogue."""
    differences: tuple[QuestionComparison, ...]
    """The differences first file − this file, from ``eval.synthlink.scoring.comparison``."""


class ScoredPredictions(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a file of predictions and of those it is compared with (``SCORES_JSON``)."""

    name: str
    """Name of the file, as in ``ComparedScores``."""
    report: SynthLinkReport
    """Of a run with repeats, the scores of the first repeat."""
    repeats: RepeatScores | None = None
    """The scores of all repeats; null without repeats. Comparisons use their means."""
    comparisons: tuple[ComparedScores, ...] = ()


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the answer to it, for people to read; without scores."""

    question_id: str
    category: str
    question: str
    expected: str
    instructions: tuple[str, ...]
    """Instruction of each step."""
    facts: tuple[str, ...]
    """Fact of each step; an empty string where the catalogue states none."""
    sources: tuple[Source, ...]
    status: AnswerStatus
    answer: str = ""
    docs: tuple[str, ...] = ()
    """Pages cited by the system, best first."""
    iterations: tuple[Iteration, ...] = ()


def read_scores(folder: Path | str) -> ScoredPredictions:
    """Reads the scores in a folder.

    Raises:
        MissingFileError: the folder has no score file.
        RecordError: the file is not a file of SynthLink scores.
    """
    path = require_file(Path(folder) / SCORES_JSON, "score file")
    try:
        return msgspec.json.decode(path.read_bytes(), type=ScoredPredictions)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"not a file of SynthLink scores: {error}",
            where=str(path),
            hint="Run `epoche synthlink score` again to replace it.",
        ) from error


def read_answers(folder: Path | str) -> tuple[AnswerView, ...]:
    """Reads the questions and answers in a folder, in the order of the catalogue.

    Raises:
        MissingFileError: the folder has no file of answers.
        RecordError: a line is not a question with its answer.
    """
    decoder = msgspec.json.Decoder(AnswerView)
    lines = iter_decoded_lines(Path(folder) / ANSWERS_FILE, "synthlink-answer", decoder.decode)
    return tuple(view for _, view in lines)
