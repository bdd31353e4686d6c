"""What stands in a folder of scores: names of its files, and the records in them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from eval.synthlink.measures import Mode, Status
from eval.synthlink.predictions import Iteration
from eval.synthlink.question import Source
from eval.synthlink.record import Difference, Group, SynthLinkReport
from eval.synthlink.tables import CATEGORY_SCORES, OVERALL, RECORD, SCORES
from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines, require_file

ANSWERS: Final = "synthlink_answers.jsonl"
"""Holds an ``AnswerView`` a line, in the order of the catalogue."""
COMPARISON: Final = "synthlink_comparison.csv"
COMPARISON_WORDS: Final = "synthlink_comparison.md"
COMPARISONS: Final = (COMPARISON, COMPARISON_WORDS)
"""Written only where another file is compared."""
MANIFEST: Final = "manifest.json"
OUTPUTS: Final = (SCORES, CATEGORY_SCORES, OVERALL, RECORD, ANSWERS, *COMPARISONS, MANIFEST)


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Another file of predictions, scored in the same way and held against the first."""

    name: str
    """Of the file, with as much of its path as tells it from the others."""
    sha256: str
    """Of its bytes."""
    modes: dict[Mode, Group]
    """Its own scores over the whole catalogue."""
    differences: tuple[Difference, ...]
    """The first file less this one; as ``eval.synthlink.comparing`` gives them."""


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a file of predictions, and of those it is compared with; in ``RECORD``."""

    name: str
    """Of the file, as in ``Compared``."""
    report: SynthLinkReport
    comparisons: tuple[Compared, ...] = ()


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """A question beside what was answered to it, for people to read; holds no score."""

    question_id: str
    category: str
    question: str
    expected: str
    instructions: tuple[str, ...]
    """Of each step."""
    facts: tuple[str, ...]
    """Of each step; empty where the catalogue states none."""
    sources: tuple[Source, ...]
    status: Status
    answer: str = ""
    docs: tuple[str, ...] = ()
    """Pages that the system names, best first."""
    iterations: tuple[Iteration, ...] = ()


def read_scored(folder: Path | str) -> Scored:
    """The scores in a folder.

    Raises:
        MissingFileError: there are none.
        RecordError: the file is none of ours.
    """
    path = require_file(Path(folder) / RECORD, "score file")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scored)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"no scores of SynthLink: {error}",
            where=str(path),
            hint="`epoche synthlink score` writes it; score again.",
        ) from error


def read_answers(folder: Path | str) -> tuple[AnswerView, ...]:
    """The questions and answers in a folder, in the order of the catalogue.

    Raises:
        MissingFileError: there are none.
        RecordError: a line is none of ours.
    """
    decoder = msgspec.json.Decoder(AnswerView)
    lines = iter_decoded_lines(Path(folder) / ANSWERS, "synthlink-answer", decoder.decode)
    return tuple(view for _, view in lines)
