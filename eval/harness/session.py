"""Runs one session of a run: asks questions, stores rows, and always saves the manifest."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.harness.journals.journal import Journal
from eval.harness.progress import RunProgress
from eval.harness.reply import REPLIES, VOTES
from eval.harness.totals import CallMeter
from eval.harness.workers import AnsweredRow, Question, StopRun, Workers
from eval.model.calls import CallLog
from kg.base.errors import CostLimitError, EpocheError, SettingError, TooManyErrorsError

RunStatus = Literal["running", "complete", "interrupted", "failed"]

CHECKPOINT_INTERVAL_S = 10.0
"""Seconds between two writes of the manifest while asynchronous questions are asked."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """The concurrency of a session, and the limits at which it is aborted.

    Attributes:
        concurrency: maximum number of asynchronous questions asked at once.
        max_cost: in US dollars; once this much was paid no new question is asked, but questions
            under way are still answered.
        max_consecutive_errors: errors in a row after which the run is aborted; 0 for no limit.
    """

    concurrency: int = 16
    max_cost: float | None = None
    max_consecutive_errors: int = 50

    def __post_init__(self) -> None:
        if self.max_cost is not None and not math.isfinite(self.max_cost):
            raise SettingError("the limit is not a finite number", where="--max-cost")


class Session:
    """Asks the questions for which a journal has no row.

    Args:
        title: name of the run, for the progress display.
        journal: the file to which rows are appended.
        meter: adds up the model calls.
        limits: the limits at which the session is aborted.
        error_outcome: the outcome code that counts as a failure.
        n_missing: number of questions to ask.
        save_manifest: writes the manifest with the given status.
    """

    def __init__(
        self,
        title: str,
        journal: Journal,
        meter: CallMeter,
        limits: RunLimits,
        *,
        error_outcome: int,
        n_missing: int,
        save_manifest: Callable[[RunStatus], None],
    ) -> None:
        self._title = title
        self._journal = journal
        self._meter = meter
        self._limits = limits
        self._error = error_outcome
        self._missing = n_missing
        self._save_manifest = save_manifest
        self._consecutive_errors = 0
        """Number of errors since the last successful answer."""
        self._has_called = False
        self._next_checkpoint = time.monotonic() + CHECKPOINT_INTERVAL_S

    def run(
        self,
        questions: Iterator[Question],
        *,
        has_async: bool,
        on_close: Sequence[Callable[[], Awaitable[object]]] = (),
    ) -> None:
        """Asks the questions; sorts the journal and saves the manifest even if the run fails.

        Args:
            questions: the questions that have no row yet.
            has_async: whether any of them is asynchronous.
            on_close: functions to await at the end, even if nothing was asked.

        Raises:
            CostLimitError, TooManyErrorsError: a limit was reached with questions left.
            SettingError: there is a ``max_cost``, and the price of a call is not known.
            BaseException: anything else that ended the run: a full disk, Ctrl-C, no access to the
                model.
        """
        self._save_manifest("running")
        status: RunStatus = "failed"
        try:
            self._refuse_if_spent()
            with RunProgress(self._title, self._missing) as self._progress:
                Workers(
                    questions,
                    self._store_answer,
                    on_dropped=self._meter.add_calls,
                    concurrency=max(1, min(self._limits.concurrency, self._missing)),
                    use_loop=has_async or bool(on_close),
                    on_close=on_close,
                    on_tick=self._update_progress,
                ).run()
            self._journal.sort_rows()
            status = "complete"
        except (KeyboardInterrupt, SystemExit, CostLimitError):
            status = "interrupted"
            raise
        finally:
            # If the disk is full, the manifest cannot be written either. It then still says
            # "running", and the first error is the one to raise, so later ones are suppressed.
            swallowed = () if status == "complete" else (EpocheError,)
            with contextlib.suppress(*swallowed):
                if status != "complete":
                    self._journal.sort_rows()
                self._save_manifest(status)

    def _store_answer(self, question: Question, answered: AnsweredRow, calls: CallLog) -> None:
        """Stores one answer, and stops the session if a limit is reached."""
        if calls.calls and not self._has_called:
            # Before the first row, so that what the server supports is on disk if we are killed.
            self._has_called = True
            self._save_manifest("running")
        self._journal.append(question.position, answered.outcome, answered.line)
        self._meter.add_answer(answered.outcome, answered.usage, calls)
        failed = answered.outcome == self._error
        self._consecutive_errors = self._consecutive_errors + 1 if failed else 0
        self._missing -= 1
        self._progress.count_answer(failed=failed, spent_usd=self._meter.spent_usd)
        if self._missing:
            self._stop_at_limits()

    def _stop_at_limits(self) -> None:
        where, limits = str(self._journal.path), self._limits
        field = "problem" if self._journal.path.name in (REPLIES, VOTES) else "error"
        if (
            limits.max_consecutive_errors
            and self._consecutive_errors >= limits.max_consecutive_errors
        ):
            raise StopRun(
                TooManyErrorsError(
                    f"{self._consecutive_errors} questions in a row ended in ERROR; "
                    f"{self._missing} have no answer yet",
                    where=where,
                    hint=f"See `{field}` in the rows that failed. When the cause is fixed, give "
                    "the same command with --retry-errors",
                )
            )
        if limits.max_cost is None:
            return
        if self._meter.spent_usd is None:
            raise StopRun(
                SettingError(
                    "--max-cost needs the price of every call, and a call has no known price",
                    where=where,
                    hint="Write the price of the model to a file and name it with --prices, or "
                    "leave --max-cost out",
                ),
                drain=True,
            )
        if self._meter.spent_usd >= limits.max_cost:
            raise StopRun(self._make_cost_error(), drain=True)

    def _refuse_if_spent(self) -> None:
        """Stops before the first question if earlier sessions have already spent ``max_cost``."""
        max_cost, spent = self._limits.max_cost, self._meter.spent_usd
        if self._missing and max_cost is not None and spent and spent >= max_cost:
            raise self._make_cost_error()

    def _make_cost_error(self) -> CostLimitError:
        return CostLimitError(
            f"{self._meter.spent_usd:.4f} USD are spent and --max-cost is "
            f"{self._limits.max_cost:g}",
            where=str(self._journal.path),
            hint="Answers so far are kept; give the same command with a higher --max-cost to "
            "resume",
        )

    def _update_progress(self) -> None:
        self._progress.show_if_due()
        if time.monotonic() > self._next_checkpoint:
            self._save_manifest("running")
            self._next_checkpoint = time.monotonic() + CHECKPOINT_INTERVAL_S
