"""Asks many questions at once: a few workers take questions from one iterator.

One asyncio task per question would mean a million tasks; here there are only as many as questions
under way. If no question is asynchronous, no event loop is started, and a run costs as much as a
plain ``for`` loop. Otherwise the synchronous questions are asked in the loop's thread, between
the asynchronous ones.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from eval.model.calls import CallLog, record_calls
from eval.model.question_spans import trace_question
from eval.model.usage import Usage
from kg.base.console import print_warning
from kg.base.errors import EXIT_TERMINATED

if TYPE_CHECKING:  # asyncio is slow to import, and offline runs do not need it
    from asyncio import AbstractEventLoop

MAX_TURN_S = 0.01
"""Maximum seconds that synchronous questions block the event loop before others get a turn."""

TICK_INTERVAL_S = 0.5

GC_THRESHOLDS = (20_000, 20, 100)
"""Thresholds of the garbage collector while many questions are asked at once. With the default ones
it uses a tenth of the run time, mostly to traverse objects that client libraries never release."""


class AnsweredRow(NamedTuple):
    """The row that answers a question."""

    outcome: int
    """Outcome code, as stored by the journal."""
    line: bytes
    """The row as JSON, with its line end."""
    usage: Usage | None = None
    """The usage in the row."""


class Question(Protocol):
    """One question of a run, synchronous or asynchronous."""

    @property
    def position(self) -> int:
        """Position of the row."""
        ...

    @property
    def repeat(self) -> int:
        """Number of the repeat, from 0."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether the question is asynchronous, so that others can be asked meanwhile."""
        ...

    def ask_sync(self) -> AnsweredRow:
        """Asks a synchronous question."""
        ...

    async def ask_async(self) -> AnsweredRow:
        """Asks an asynchronous question."""
        ...


class StopRun(Exception):  # noqa: N818 - a request to stop, not an error
    """Stops a run from within ``on_answer``.

    Args:
        reason: the exception that the run then raises.
        drain: whether questions under way are answered first, instead of being cancelled.
    """

    def __init__(self, reason: BaseException, *, drain: bool = False) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.drain = drain


class Workers:
    """Asks questions until there are no more, or the run is stopped.

    Args:
        questions: the questions; each is taken from the iterator only when it is asked.
        on_answer: called with every answer as soon as it arrives; may raise ``StopRun``.
        on_dropped: called with the model calls of a question that gave no answer.
        concurrency: maximum number of questions asked at once.
        use_loop: whether an event loop is needed: for an asynchronous question or ``on_close``.
        on_close: functions to await at the end, in the same event loop, even if the run fails.
        on_tick: called about twice a second while an event loop is running.
    """

    def __init__(
        self,
        questions: Iterator[Question],
        on_answer: Callable[[Question, AnsweredRow, CallLog], None],
        *,
        on_dropped: Callable[[CallLog], None],
        concurrency: int,
        use_loop: bool,
        on_close: Sequence[Callable[[], Awaitable[object]]] = (),
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._questions = questions
        self._on_answer = on_answer
        self._on_dropped = on_dropped
        self._concurrency = concurrency
        self._use_loop = use_loop
        self._on_close = on_close
        self._on_tick = on_tick
        self._stop_reason: BaseException | None = None
        """The exception that stopped the run early."""
        self._cancelled = False
        self._cancel_all: Callable[[], None] = lambda: None
        self._blocking = False
        """Whether a synchronous question is being asked at this moment."""
        self._turn_ends = 0.0
        self._loop: AbstractEventLoop | None = None

    def run(self) -> None:
        """Asks all questions.

        Raises:
            BaseException: what stopped the run early: ``StopRun.reason``, an exception of a
                question, ``KeyboardInterrupt``, or ``SystemExit`` on SIGTERM.
        """
        if not self._use_loop:
            with self._handle_signals():
                _run_without_loop(self._run_worker())
        elif not _is_in_event_loop():
            self._run_in_loop()
        else:  # a notebook already runs a loop in this thread, so this one gets its own
            thread = threading.Thread(target=self._run_in_loop)
            thread.start()
            try:
                thread.join()
            except KeyboardInterrupt as stop:
                self.request_stop(stop)
                thread.join()
        if self._stop_reason is not None:
            raise self._stop_reason

    def request_stop(self, reason: BaseException) -> None:
        """Stops the run from a signal handler or another thread; cancels questions under way."""
        if self._loop is None:
            self._stop_workers(reason, drain=False)
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended in the meantime
            self._loop.call_soon_threadsafe(self._stop_workers, reason, False)

    def _run_in_loop(self) -> None:
        import asyncio

        with _relax_gc(), asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            with self._handle_signals():
                runner.run(self._run_workers())

    async def _run_workers(self) -> None:
        import asyncio

        workers = [asyncio.create_task(self._run_worker()) for _ in range(self._concurrency)]
        ticker = asyncio.create_task(self._run_ticker())

        def cancel_all() -> None:
            for worker in workers:
                if worker is not asyncio.current_task():
                    worker.cancel()

        self._cancel_all = cancel_all
        try:
            await asyncio.gather(*workers, return_exceptions=True)
        finally:
            ticker.cancel()
            for close in self._on_close:
                try:
                    await close()
                except Exception as error:  # third-party code; all answers are stored already
                    print_warning(f"a system could not be closed: {type(error).__name__}: {error}")

    async def _run_worker(self) -> None:
        """Runs one worker: takes questions, asks them and hands over the answers."""
        try:
            while self._stop_reason is None:
                question = next(self._questions, None)
                if question is None:
                    return
                await self._ask_question(question)
                if self._use_loop and time.monotonic() > self._turn_ends:
                    await self._yield_to_loop()
        except StopRun as stop:
            self._stop_workers(stop.reason, stop.drain)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            self._stop_workers(error, drain=False)

    async def _ask_question(self, question: Question) -> None:
        with record_calls(question.repeat) as calls, trace_question(calls) as store_row:
            try:
                answered = (
                    await question.ask_async()
                    if question.is_async
                    else self._ask_blocking(question)
                )
                store_row(answered.line)
            except BaseException:
                self._on_dropped(calls)
                raise
        if self._cancelled:
            # A cancelled system may have turned its cancellation into an ERROR answer; the question
            # must stay unasked instead.
            self._on_dropped(calls)
        else:
            self._on_answer(question, answered, calls)

    def _ask_blocking(self, question: Question) -> AnsweredRow:
        self._blocking = True
        try:
            return question.ask_sync()
        finally:
            self._blocking = False

    async def _yield_to_loop(self) -> None:
        import asyncio

        await asyncio.sleep(0)
        self._turn_ends = time.monotonic() + MAX_TURN_S

    async def _run_ticker(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(TICK_INTERVAL_S)
            try:
                self._on_tick()
            except Exception as error:
                self._stop_workers(error, drain=False)
                return

    def _stop_workers(self, reason: BaseException, drain: bool) -> None:
        if self._stop_reason is None:
            self._stop_reason = reason
        if not drain:
            self._cancelled = True
            self._cancel_all()

    @contextlib.contextmanager
    def _handle_signals(self) -> Iterator[None]:
        """Makes Ctrl-C, and SIGTERM if it has a handler, stop the run between two steps.

        So a row is never interrupted while it is written. A synchronous question is interrupted at
        once; so is everything on a second signal.
        """

        def handle_signal(number: int, _frame: FrameType | None) -> None:
            why = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(EXIT_TERMINATED)
            if self._blocking or self._cancelled:
                raise why
            self.request_stop(why)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = [
            (number, handler)
            for number in (signal.SIGINT, signal.SIGTERM)
            if callable(handler := signal.getsignal(number))
        ]
        for number, _ in handled:
            signal.signal(number, handle_signal)
        try:
            yield
        finally:
            for number, handler in handled:
                signal.signal(number, handler)


@contextlib.contextmanager
def _relax_gc() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _is_in_event_loop() -> bool:
    """Returns whether this thread already runs an event loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_without_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine that never suspends, without an event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("a question that is declared synchronous suspended")
