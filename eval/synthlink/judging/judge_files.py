"""Judges the claims of files of predictions, before they are scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.judging.judging_run import JudgeOptions, judge_matters
from eval.synthlink.judging.matters import Answered, matters
from eval.synthlink.predictions import read_predictions
from eval.synthlink.scores import score
from eval.synthlink.scoring_files import Held, held_of
from eval.synthlink.verdicts.record import JUDGED, Judgement
from kg.base.console import shown_stages
from kg.base.errors import SettingError
from kg.base.files import check_output, require_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.synthlink.predictions import Predictions
    from eval.synthlink.score_options import ScoreOptions
    from kg.base.console import Watch

_FEW = 10
"""Resamples of a scoring whose intervals nobody sees."""


def judge_files(options: ScoreOptions, judge: JudgeOptions) -> Judgement:
    """Puts to the judge what the graph leaves open of every file that is to be scored.

    The journal in the folder is filled as verdicts come. The same call asks only what it lacks.

    Args:
        options: what is to be scored, and where the scores are to stand.
        judge: who judges.

    Returns:
        What ``write_scores`` takes.

    Raises:
        SettingError: no claims are judged in literal mode.
        EpocheError: as ``score_files`` and ``judge_matters``.
    """
    if options.mode == "literal":
        raise SettingError(
            "no claims are judged in literal mode",
            where="--judge-model, --mode literal",
            hint="Leave one of them out.",
        )
    files = (options.predictions, *options.compare)
    for file in files:
        require_file(file, "predictions file")
    check_output(
        options.output_dir / JUDGED, [*files, *([options.catalog] if options.catalog else [])]
    )
    held = held_of(options)
    bar = options.thresholds
    answers: list[Answered] = []
    with shown_stages() as watch:
        for file in files:
            read = read_predictions(file, held.catalog.ids)
            answers += _answered(read, held, bar, watch)
    pages = None if held.pages is None else SourcePages(held.pages)
    asked = matters(answers, held.catalog.questions, pages, bar)
    return judge_matters(asked, options.output_dir, judge)


def _answered(read: Predictions, held: Held, bar: Thresholds, watch: Watch) -> Iterator[Answered]:
    """The answers of a file with their claims, as graph and words judge them."""
    report = score(
        read,
        held.catalog,
        "corrected",
        knowledge=held.knowledge,
        pages=held.pages,
        thresholds=bar,
        resamples=_FEW,
        watch=lambda _, done, total: watch("claims", done, total),
    )
    given = {row.question_id: row.predicted_answer for row in read.rows}
    rows = report.modes["corrected"].questions
    for question, row in zip(held.catalog.questions, rows, strict=True):
        if row.parts.claims:
            yield Answered(question, given[question.id], row.parts.claims)
