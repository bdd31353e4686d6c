"""Reads a folder of SynthLink scores, and checks that its files agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eval.synthlink.blocks.trails import Run, read_run
from eval.synthlink.metrics import AGGREGATE_WEIGHTS, Mode, QuestionScore
from eval.synthlink.row import SynthLinkRow
from eval.synthlink.scoring.manifest import SynthLinkManifest, read_manifest
from eval.synthlink.scoring.outputs import (
    ANSWERS_FILE,
    MANIFEST_FILE,
    AnswerView,
    ScoredPredictions,
    read_answers,
    read_scores,
)
from eval.synthlink.scoring.record import SCHEMA, ModeScores, SynthLinkReport
from eval.synthlink.scoring.tables import SCORES_JSON
from kg.base.errors import CardSetMismatchError, RecordError

_HINT = "`epoche synthlink score` writes all of them; score again."


@dataclass(frozen=True)
class ScoredFolder:
    """Everything the section shows.

    Attributes:
        manifest: how the scores were made.
        scored: every number.
        answers: question and answer for people to read, in the order of the catalogue.
        run: the run that wrote the predictions; None if no run of ours did.
        files: what all this was read from.
    """

    manifest: SynthLinkManifest
    scored: ScoredPredictions
    answers: tuple[AnswerView, ...]
    run: Run | None
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Of the system where that is known, of the file of predictions else."""
        return self.run.manifest.name if self.run is not None else self.scored.name

    @property
    def report(self) -> SynthLinkReport:
        """The scores of the file itself."""
        return self.scored.report

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The headline's first."""
        return self.manifest.modes

    @property
    def headline(self) -> ModeScores:
        """The scores of the first mode."""
        return self.report.modes[self.modes[0]]

    @property
    def corrected(self) -> ModeScores | None:
        """The corrected scores, where the file was scored so."""
        return self.report.modes.get("corrected")

    def correct_from(self, mode: Mode) -> float:
        """F1 from which an answer counts as correct in a mode."""
        if mode == "corrected":
            return self.report.thresholds.correct
        return self.manifest.readings.correct

    def rows(self, at: int) -> dict[Mode, QuestionScore]:
        """The scores of the question at a place of the catalogue, by mode."""
        return {mode: self.report.modes[mode].questions[at] for mode in self.modes}

    def row_of(self, question_id: str) -> SynthLinkRow | None:
        """What became of a question in the run; none where no run is known, or it was not asked."""
        return self.run.rows.get(question_id) if self.run is not None else None


def read_folder(folder: Path) -> ScoredFolder:
    """Reads and cross-checks a folder of scores.

    Raises:
        MissingFileError: a file is not there.
        RecordError: one is not what it should be.
        CardSetMismatchError: the files are of other questions or modes than each other.
    """
    manifest = read_manifest(folder)
    scored = read_scores(folder)
    report = scored.report
    if report.schema != SCHEMA:
        raise RecordError(
            f"schema {report.schema!r}, expected {SCHEMA!r}",
            where=str(folder / SCORES_JSON),
            hint=_HINT,
        )
    if report.weights != AGGREGATE_WEIGHTS:
        raise RecordError(
            "the parts of the score have other weights than specified",
            where=str(folder / SCORES_JSON),
            hint=_HINT,
        )
    if not manifest.modes or sorted(manifest.modes) != sorted(report.modes):
        raise CardSetMismatchError(
            "manifest and scores name other modes", where=str(folder), hint=_HINT
        )
    answers = read_answers(folder)
    if not answers:
        raise RecordError("no question", where=str(folder / ANSWERS_FILE), hint=_HINT)
    asked = [view.question_id for view in answers]
    for mode, scores in report.modes.items():
        if [row.question_id for row in scores.questions] != asked:
            raise CardSetMismatchError(
                f"the {mode} scores are of other questions than the answers",
                where=str(folder),
                hint=_HINT,
            )
    files = tuple(folder / name for name in (MANIFEST_FILE, SCORES_JSON, ANSWERS_FILE))
    run = read_run(folder, manifest, answers)
    return ScoredFolder(manifest, scored, answers, run, (*files, *(run.files if run else ())))
