"""Restricts scores to the questions that runs asked.

Scores cover the whole catalogue, and a question that was not asked counts as 0 in them like one
that was asked and not answered. When runs are measured together, only the former is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from eval.synthlink.answer_source import read_source_manifest
from eval.synthlink.scoring.outputs import ScoredPredictions
from eval.synthlink.scoring.record import ModeRepeats, ModeScores, SynthLinkReport
from eval.synthlink.scoring.scores import list_count_notes
from kg.base.errors import SettingError


def find_asked_questions(predictions: Path, n_questions: int) -> range:
    """Returns the numbers, from 0, of the questions that the writer of predictions was asked.

    These are all questions if no run of ours wrote the predictions, or one over another catalogue.

    Args:
        predictions: the file of predictions.
        n_questions: number of questions of the catalogue that it was scored with.

    Raises:
        RecordError: the manifest in the same folder is not that of a run.
    """
    manifest = read_source_manifest(predictions)
    if manifest is None or manifest.item_count != n_questions:
        return range(n_questions)
    return manifest.layout.asked_items


def require_asked_questions(files: Iterable[Path], n_scored: int, n_questions: int) -> None:
    """Checks that the first ``n_scored`` questions were asked in the runs that wrote these files.

    Raises:
        SettingError: a run was not asked all of them.
        RecordError: as ``find_asked_questions``.
    """
    for file in files:
        asked = find_asked_questions(file, n_questions)
        if not set(range(n_scored)) <= set(asked):
            raise SettingError(
                f"the run that wrote this file was asked {len(asked)} of {n_questions} questions, "
                f"and {n_scored} are scored",
                where=str(file),
                hint="Compare the folders of the runs with `epoche compare`: it compares them on "
                "the questions that both were asked.",
            )


def select_questions(scored: ScoredPredictions, numbers: Sequence[int]) -> ScoredPredictions:
    """Restricts the scores of questions to some of them, with notes on these only.

    The means of the report and of the repeats remain those over all questions: they are computed
    again where questions are resampled.

    Args:
        scored: the scores.
        numbers: numbers of the questions, from 0, in the order of the catalogue.
    """
    report, repeats = scored.report, scored.repeats
    if len(numbers) == report.n_questions:
        return scored
    modes = {mode: _select_scores(scores, numbers) for mode, scores in report.modes.items()}
    statuses = [row.status for row in next(iter(modes.values())).questions]
    n_answered = statuses.count("answered")
    selected = msgspec.structs.replace(
        report,
        n_questions=len(numbers),
        n_answered=n_answered,
        n_abstained=statuses.count("abstained"),
        coverage=n_answered / len(numbers),
        modes=modes,
    )
    other_notes = [note for note in report.notes if note not in _list_count_notes(report)]
    return msgspec.structs.replace(
        scored,
        report=msgspec.structs.replace(
            selected, notes=(*_list_count_notes(selected), *other_notes)
        ),
        repeats=None
        if repeats is None
        else msgspec.structs.replace(
            repeats,
            modes={mode: _select_repeats(item, numbers) for mode, item in repeats.modes.items()},
        ),
    )


def _list_count_notes(report: SynthLinkReport) -> list[str]:
    n_missing = report.n_questions - report.n_answered - report.n_abstained
    return list(list_count_notes(report.n_questions, n_missing, report.n_abstained))


def _select_scores(scores: ModeScores, numbers: Sequence[int]) -> ModeScores:
    questions = tuple(scores.questions[number] for number in numbers)
    return msgspec.structs.replace(scores, questions=questions)


def _select_repeats(repeats: ModeRepeats, numbers: Sequence[int]) -> ModeRepeats:
    questions = tuple(repeats.questions[number] for number in numbers)
    return msgspec.structs.replace(repeats, questions=questions)
