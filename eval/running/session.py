"""One session of a run: from its first question to its last manifest, however it ends."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.model.calls import CallLog
from eval.running.journal import Journal
from eval.running.progress import RunProgress
from eval.running.totals import Meter
from eval.running.workers import Answered, Question, Stop, Workers
from kg.base.errors import CostLimitError, EpocheError, SettingError, TooManyErrorsError

RunStatus = Literal["running", "complete", "interrupted", "failed"]

CHECKPOINT_S = 10.0
"""So often the manifest is written while a run that waits for servers goes on."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How fast a session goes and when it gives up.

    Attributes:
        concurrency: questions asked at once, of those that wait for something.
        max_cost: US dollars; nothing more is asked once so much was paid. What is being asked
            then is still answered.
        max_consecutive_errors: errors in a row after which nothing more is asked; 0 for never.
    """

    concurrency: int = 16
    max_cost: float | None = None
    max_consecutive_errors: int = 50

    def __post_init__(self) -> None:
        if self.max_cost is not None and not math.isfinite(self.max_cost):
            raise SettingError("the limit is not a finite number", where="--max-cost")


class Session:
    """Asks what a journal lacks.

    Args:
        what: what is running, for the progress.
        journal: where the rows go.
        meter: what counts the calls.
        limits: when to give up.
        error: the outcome code that counts as a failure.
        missing: how many questions there are to ask.
        save: writes the manifest, with the status it is given.
    """

    def __init__(
        self,
        what: str,
        journal: Journal,
        meter: Meter,
        limits: Limits,
        *,
        error: int,
        missing: int,
        save: Callable[[RunStatus], None],
    ) -> None:
        self._what = what
        self._journal = journal
        self._meter = meter
        self._limits = limits
        self._error = error
        self._missing = missing
        self._save = save
        self._errors = 0
        """Errors since the last other answer."""
        self._has_called = False
        self._next_checkpoint = time.monotonic() + CHECKPOINT_S

    def run(
        self,
        questions: Iterator[Question],
        *,
        waits: bool,
        closing: Sequence[Callable[[], Awaitable[object]]] = (),
    ) -> None:
        """Asks, and leaves journal and manifest in order however it ends.

        Args:
            questions: what has no row yet.
            waits: whether any of them waits for something.
            closing: what to await at the end, even if nothing was asked.

        Raises:
            CostLimitError, TooManyErrorsError: a limit was reached with questions left.
            SettingError: there is a ``max_cost``, and the price of a call is not known.
            BaseException: whatever else ended it: a full disk, Ctrl-C, no access to the model.
        """
        self._save("running")
        status: RunStatus = "failed"
        try:
            self._refuse_if_spent()
            with RunProgress(self._what, self._missing) as self._progress:
                Workers(
                    questions,
                    self._take,
                    drop=self._meter.called,
                    concurrency=max(1, min(self._limits.concurrency, self._missing)),
                    looped=waits or bool(closing),
                    closing=closing,
                    tick=self._tick,
                ).run()
            self._journal.put_in_order()
            status = "complete"
        except (KeyboardInterrupt, SystemExit, CostLimitError):
            status = "interrupted"
            raise
        finally:
            # When the run fails because the disk is full the manifest cannot be written either;
            # it then still says "running", and the first error is the one to show.
            swallowed = () if status == "complete" else (EpocheError,)
            with contextlib.suppress(*swallowed):
                if status != "complete":
                    self._journal.put_in_order()
                self._save(status)

    def _take(self, question: Question, answered: Answered, calls: CallLog) -> None:
        """Keeps one answer, and ends the session if it is the one too many."""
        if calls.calls and not self._has_called:
            # Before its first row, so that what the server turned out to be outlives a kill.
            self._has_called = True
            self._save("running")
        self._journal.append(question.place, answered.outcome, answered.line)
        self._meter.answered(answered.outcome, answered.usage, calls)
        failed = answered.outcome == self._error
        self._errors = self._errors + 1 if failed else 0
        self._missing -= 1
        self._progress.advance(failed=failed, spent_usd=self._meter.spent_usd)
        if self._missing:
            self._stop_at_limits()

    def _stop_at_limits(self) -> None:
        where, most = str(self._journal.path), self._limits
        if most.max_consecutive_errors and self._errors >= most.max_consecutive_errors:
            raise Stop(
                TooManyErrorsError(
                    f"{self._errors} questions in a row ended in ERROR; "
                    f"{self._missing} have no answer yet",
                    where=where,
                    hint="See `error` in its last rows. When it is mended, give the same command "
                    "with --retry-errors",
                )
            )
        if most.max_cost is None:
            return
        if self._meter.spent_usd is None:
            raise Stop(
                SettingError(
                    "a call has no known price, so the cost cannot be held to --max-cost",
                    where=where,
                    hint="State the price of the model in a file and name it with --prices, or "
                    "leave --max-cost out",
                ),
                drain=True,
            )
        if self._meter.spent_usd >= most.max_cost:
            raise Stop(self._too_costly(), drain=True)

    def _refuse_if_spent(self) -> None:
        """Asks nothing at all where earlier sessions have spent what is allowed."""
        most, spent = self._limits.max_cost, self._meter.spent_usd
        if self._missing and most is not None and spent and spent >= most:
            raise self._too_costly()

    def _too_costly(self) -> CostLimitError:
        return CostLimitError(
            f"{self._meter.spent_usd:.4f} USD are spent and --max-cost is "
            f"{self._limits.max_cost:g}",
            where=str(self._journal.path),
            hint="What was answered is kept; give the same command with a higher "
            "--max-cost to go on",
        )

    def _tick(self) -> None:
        self._progress.tick()
        if time.monotonic() > self._next_checkpoint:
            self._save("running")
            self._next_checkpoint = time.monotonic() + CHECKPOINT_S
