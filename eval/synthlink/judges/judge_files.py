"""Judges the claims of files of predictions, before they are scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.synthlink.answer_source import list_repeat_files
from eval.synthlink.corrected.answer_scores import keep_readers, open_guard, open_reader
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.file_scorer import References, read_references
from eval.synthlink.judges.judge_items import AnswerClaims, select_items_to_judge
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.scoring.scores import score_predictions
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement
from kg.base.console import show_stages
from kg.base.errors import SettingError
from kg.base.files import check_output, require_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.synthlink.corrected.thresholds import Thresholds
    from eval.synthlink.predictions import Predictions
    from eval.synthlink.scoring.options import ScoreOptions
    from kg.base.console import StageCallback

_UNUSED_RESAMPLES = 10
"""Number of resamples of the scoring that collects the claims; its intervals are not used."""


@keep_readers()
def judge_files(options: ScoreOptions, judge: JudgeOptions) -> Judgement:
    """Asks the judge about the unjudged claims of every file to be scored.

    Each verdict is appended to the journal in the output folder as it arrives. Calling this again
    with the same arguments asks only for the verdicts that the journal lacks.

    Args:
        options: the files to be scored, and the folder of the scores.
        judge: the judges and how they are called.

    Returns:
        All verdicts, to be passed to ``score_files`` as ``judged``.

    Raises:
        SettingError: the mode is ``literal``, in which no claims are judged.
        EpocheError: as ``score_files`` and ``collect_verdicts``.
    """
    if options.mode == "literal":
        raise SettingError(
            "--mode literal judges no claims, so a judge has no effect",
            where="--judge-model, --nli, --mode literal",
            hint="Drop one of the two options.",
        )
    repeats = list_repeat_files(options.predictions)
    files = (options.predictions, *repeats, *options.compare)
    for file in files:
        require_file(file, "predictions file")
    check_output(
        options.output_dir / JUDGED_FILE, [*files, *([options.catalog] if options.catalog else [])]
    )
    references = read_references(options)
    answers: list[AnswerClaims] = []
    with show_stages() as watch:
        for file in files:
            predictions = references.read_answers(file)
            answers += _iter_answer_claims(predictions, references, options.thresholds, watch)
    pages = None if references.pages is None else SourcePages(references.pages)
    items = select_items_to_judge(answers, references.catalog.questions, pages)
    return collect_verdicts(items, options.output_dir, judge)


def _iter_answer_claims(
    predictions: Predictions, references: References, thresholds: Thresholds, watch: StageCallback
) -> Iterator[AnswerClaims]:
    """Yields the answers of a file that claim something, with the verdicts on their claims.

    The answers of iterations follow where IE depends on them.
    """
    report = score_predictions(
        predictions,
        references.catalog,
        "corrected",
        knowledge=references.knowledge,
        pages=references.pages,
        thresholds=thresholds,
        resamples=_UNUSED_RESAMPLES,
        watch=lambda _, done, total: watch("claims", done, total),
    )
    rows = report.modes["corrected"].questions
    by_id = {row.question_id: row for row in predictions.rows}
    guard = open_guard(references.knowledge)
    pages = None if references.pages is None else SourcePages(references.pages)
    for question, row in zip(references.catalog.questions, rows, strict=True):
        parts = row.parts
        if parts.claims or parts.steps:
            answer = by_id[question.id].predicted_answer
            yield AnswerClaims(question, parts.claims, parts.steps, answer)
        if "ie" in parts.unjudged:
            reader = open_reader(question, guard, pages)
            for found in reader.list_iterations(by_id[question.id]):
                yield AnswerClaims(question, found.claims, found.steps, found.answer)
