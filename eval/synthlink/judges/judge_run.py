"""Asks judge models about claims, and writes their verdicts to a journal.

An interrupted run is resumed from the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.harness.grid import shuffle_positions
from eval.harness.journal import Journal
from eval.harness.session import RunLimits, Session
from eval.harness.totals import CallMeter, CallTotals
from eval.harness.workers import Question as RunQuestion
from eval.judges.panel import DEFAULT_REPEATS, check_panel
from eval.judges.selection import JudgeSelection, choose_judges
from eval.synthlink.answer_source import AnswerSource
from eval.synthlink.judges.claim_judge import ClaimJudge
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.judge_plan import NO_VERDICT, JudgePlan
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement, VerdictLine
from kg.base.errors import TooManyErrorsError
from kg.base.files import convert_write_errors

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Which models judge, and how they are called.

    Attributes:
        models: as given with ``--judge-model``.
        client: how models are called.
        repeats: votes of each model on every claim; None for the default number.
        answerers: for each file whose claims are judged, the model that answered. The first file is
            the one to be scored; the others are compared with it.
        limits: concurrency, maximum cost, and after how many errors to stop.
        earlier_totals: usage and cost of the answers before judging; it counts towards
            ``limits.max_cost``.
    """

    models: tuple[str, ...]
    client: ClientOptions
    repeats: int | None = None
    answerers: tuple[AnswerSource, ...] = (AnswerSource(),)
    limits: RunLimits = field(default_factory=RunLimits)
    earlier_totals: CallTotals | None = None

    def select_judges(self) -> JudgeSelection:
        """Resolves and checks the names of the judges.

        Raises:
            SettingError: no judge is named, a judge is named twice, a model that answered is named
                as a judge other than by ``--judge-model same``, or the number of votes is out of
                range.
            ModelAccessError: a name is not a known model, or its address or key is not set.
        """
        first, *other_answerers = self.answerers
        selection = choose_judges(self.models, first.model, answered_by_model=first.by_model)
        check_panel(len(selection.models), self.votes_per_judge)
        if not selection.same:  # The first answerer is not one of the judges.
            for answerer in other_answerers:
                choose_judges(selection.models, answerer.model, answered_by_model=answerer.by_model)
        return selection

    @property
    def votes_per_judge(self) -> int:
        """Votes of each judge on every claim."""
        return DEFAULT_REPEATS if self.repeats is None else self.repeats


def collect_verdicts(items: Sequence[JudgeItem], folder: Path, options: JudgeOptions) -> Judgement:
    """Judges the items that have no verdict yet in the journal in ``folder``.

    Each line is written as its verdict arrives. If the run is interrupted, the same call resumes
    it; items that got no verdict are judged again. Lines on other claims or by other judges are
    kept.

    Args:
        items: the items to be judged.
        folder: folder of the scores.
        options: which models judge, and how they are called.

    Returns:
        The verdicts on these items, in their order.

    Raises:
        SettingError, ModelAccessError: as ``JudgeOptions.select_judges``; or no call can succeed.
        RecordError, DuplicateIdError: the journal is damaged.
        WriteError: the journal cannot be written, or another run is writing it.
        CostLimitError, TooManyErrorsError: a limit was reached first.
    """
    selection = options.select_judges()
    with _open_judge(options, selection) as judge:
        return Judgement(
            models=selection.models,
            same=selection.same,
            planned=judge.planned_votes,
            params=judge.params(),
            lines=tuple(_judge_missing_items(items, folder, judge, options)),
        )


@contextmanager
def _open_judge(options: JudgeOptions, selection: JudgeSelection) -> Iterator[ClaimJudge]:
    """Opens the judge, and closes it even if an error occurs before the first call."""
    judge = ClaimJudge.open(options.client, selection.models, repeats=options.votes_per_judge)
    try:
        yield judge
    finally:
        # asyncio.run needs a thread without an event loop, but a notebook's thread has one.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(lambda: asyncio.run(judge.aclose())).result()


def _judge_missing_items(
    items: Sequence[JudgeItem], folder: Path, judge: ClaimJudge, options: JudgeOptions
) -> list[VerdictLine]:
    """Judges the items without a verdict, and returns the journal's lines of all items."""
    meter = CallMeter()
    path = folder / JUDGED_FILE
    plan = JudgePlan(items, judge, on_line=meter.add_row)
    with Journal(path, len(items) + _count_lines(path)) as journal:
        journal.load_rows(plan)
        journal.remove_outcome(NO_VERDICT)
        meter.remove_outcome(NO_VERDICT)
        # No manifest has totals of earlier sessions, so the costs in their lines count as paid.
        meter.add_earlier_sessions(None)
        if options.earlier_totals is not None:
            meter.add_totals(CallTotals(spent_usd=options.earlier_totals.spent_usd))
        missing_positions = [
            position for position in range(len(items)) if not journal.has_row(position)
        ]
        order = shuffle_positions(missing_positions, 0, "synthlink judge")

        def iter_questions() -> Iterator[RunQuestion]:
            return (plan.build_question(position) for position in order)

        try:
            Session(
                f"judge {', '.join(judge.models)}",
                journal,
                meter,
                options.limits,
                error_outcome=NO_VERDICT,
                n_missing=len(order),
                save_manifest=lambda _status: None,
            ).run(iter_questions(), has_async=True, on_close=[judge.aclose])
        except TooManyErrorsError as error:
            raise TooManyErrorsError(
                f"{options.limits.max_consecutive_errors} claims in a row got no verdict from the "
                "judge",
                where=str(path),
                hint="See `lost` in the file's last lines. Fix the cause, then run the same "
                "command again: existing verdicts are kept.",
            ) from error
        decode = msgspec.json.Decoder(VerdictLine).decode
        return [decode(line) for line in islice(journal.iter_lines(), len(items))]


def _count_lines(path: Path) -> int:
    """Counts the lines of a journal; 0 if there is no file."""
    if not path.is_file():
        return 0
    with convert_write_errors(path), path.open("rb") as handle:
        return sum(1 for _ in handle)
