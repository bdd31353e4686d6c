"""Asking many questions at once: a few workers draw from one iterator.

A task per question would hold a million of them; here only as many exist as are being asked. Where
no question waits for anything, there is no event loop at all, and a run costs what a plain ``for``
would. Where some wait, those that do not are asked in the loop's own thread between the others.
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

from eval.model.calls import CallLog, recording
from eval.result import Usage
from kg.base.console import warn
from kg.base.errors import TERMINATED

if TYPE_CHECKING:  # it takes as long to import as an offline run has to wait for nothing else
    from asyncio import AbstractEventLoop

TURN_S = 0.01
"""So long may work that does not wait keep the event loop from everything else."""

TICK_S = 0.5

COLLECTOR = (20_000, 20, 100)
"""Thresholds of the garbage collector while many are asked at once. At its usual ones it takes a
tenth of the time, mostly to walk what client libraries hold for good."""


class Answered(NamedTuple):
    """What a question came to."""

    outcome: int
    """Its code, as the journal keeps it."""
    line: bytes
    """The row, with its line end."""
    usage: Usage | None = None
    """As it stands in the row."""


class Question(Protocol):
    """One thing to ask."""

    @property
    def place(self) -> int:
        """Where the answer belongs."""
        ...

    @property
    def repeat(self) -> int:
        """Which repeat it is, from 0."""
        ...

    @property
    def waits(self) -> bool:
        """Whether asking it waits for something, so that others can be asked meanwhile."""
        ...

    def ask(self) -> Answered:
        """Asks it, if it does not wait."""
        ...

    async def ask_async(self) -> Answered:
        """Asks it, if it waits."""
        ...


class Stop(Exception):  # noqa: N818 - it asks for an end, it reports no fault
    """Ends a run from within ``take``.

    Args:
        why: what the run then raises.
        drain: let what is being asked be answered, instead of cancelling it.
    """

    def __init__(self, why: BaseException, *, drain: bool = False) -> None:
        super().__init__(str(why))
        self.why = why
        self.drain = drain


class Workers:
    """Asks questions until there are no more, or something ends it.

    Args:
        questions: what to ask; drawn one by one, never ahead of need.
        take: is given every answer at once, in the order they come; may raise ``Stop``.
        drop: is given the calls of a question that came to no answer.
        concurrency: questions asked at once, at most.
        looped: whether any question waits, or there is something to await at the end.
        closing: what to await at the end, however it comes, in the same event loop.
        tick: called about twice a second while something waits.
    """

    def __init__(
        self,
        questions: Iterator[Question],
        take: Callable[[Question, Answered, CallLog], None],
        *,
        drop: Callable[[CallLog], None],
        concurrency: int,
        looped: bool,
        closing: Sequence[Callable[[], Awaitable[object]]] = (),
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._questions = questions
        self._take = take
        self._drop = drop
        self._concurrency = concurrency
        self._looped = looped
        self._closing = closing
        self._tick = tick
        self._why: BaseException | None = None
        """What ended the run before its time."""
        self._cancelled = False
        self._cancel_all: Callable[[], None] = lambda: None
        self._blocking = False
        """Whether a question that does not wait is being asked this instant."""
        self._turn_ends = 0.0
        self._loop: AbstractEventLoop | None = None

    def run(self) -> None:
        """Asks everything.

        Raises:
            BaseException: what ended it early: ``Stop.why``, what a question raised,
                ``KeyboardInterrupt``, or ``SystemExit`` on SIGTERM.
        """
        if not self._looped:
            with self._signals_heard():
                _without_loop(self._work())
        elif not _in_event_loop():
            self._run_loop()
        else:  # a notebook: its loop is taken, so ours has a thread of its own
            thread = threading.Thread(target=self._run_loop)
            thread.start()
            try:
                thread.join()
            except KeyboardInterrupt as stop:
                self.end_soon(stop)
                thread.join()
        if self._why is not None:
            raise self._why

    def end_soon(self, why: BaseException) -> None:
        """Ends the run from a signal handler or another thread; cancels what is being asked."""
        if self._loop is None:
            self._end(why, drain=False)
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself meanwhile
            self._loop.call_soon_threadsafe(self._end, why, False)

    def _run_loop(self) -> None:
        import asyncio

        with _collected_seldom(), asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            with self._signals_heard():
                runner.run(self._work_together())

    async def _work_together(self) -> None:
        import asyncio

        workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        ticker = asyncio.create_task(self._keep_ticking())

        def cancel_all() -> None:
            for worker in workers:
                if worker is not asyncio.current_task():
                    worker.cancel()

        self._cancel_all = cancel_all
        try:
            await asyncio.gather(*workers, return_exceptions=True)
        finally:
            ticker.cancel()
            for close in self._closing:
                try:
                    await close()
                except Exception as error:  # other people's code; the answers are in already
                    warn(f"a system could not be closed: {type(error).__name__}: {error}")

    async def _work(self) -> None:
        """One worker: draws, asks, hands over, until there is nothing more to draw."""
        try:
            while self._why is None:
                question = next(self._questions, None)
                if question is None:
                    return
                await self._ask(question)
                if self._looped and time.monotonic() > self._turn_ends:
                    await self._let_others_work()
        except Stop as stop:
            self._end(stop.why, stop.drain)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            self._end(error, drain=False)

    async def _ask(self, question: Question) -> None:
        with recording(question.repeat) as calls:
            try:
                answered = (
                    await question.ask_async() if question.waits else self._ask_here(question)
                )
            except BaseException:
                self._drop(calls)
                raise
        if self._cancelled:
            # A system may make a failure of being cancelled; and nothing says what it gave up.
            self._drop(calls)
        else:
            self._take(question, answered, calls)

    def _ask_here(self, question: Question) -> Answered:
        self._blocking = True
        try:
            return question.ask()
        finally:
            self._blocking = False

    async def _let_others_work(self) -> None:
        import asyncio

        await asyncio.sleep(0)
        self._turn_ends = time.monotonic() + TURN_S

    async def _keep_ticking(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(TICK_S)
            try:
                self._tick()
            except Exception as error:
                self._end(error, drain=False)
                return

    def _end(self, why: BaseException, drain: bool) -> None:
        if self._why is None:
            self._why = why
        if not drain:
            self._cancelled = True
            self._cancel_all()

    @contextlib.contextmanager
    def _signals_heard(self) -> Iterator[None]:
        """Lets Ctrl-C, and SIGTERM where it is handled, end the run between two steps.

        So no row is ever interrupted while it is written. A question that does not wait is cut off
        in the middle; so is everything on a second signal.
        """

        def hear(number: int, _frame: FrameType | None) -> None:
            why = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(TERMINATED)
            if self._blocking or self._cancelled:
                raise why
            self.end_soon(why)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = [
            (number, handler)
            for number in (signal.SIGINT, signal.SIGTERM)
            if callable(handler := signal.getsignal(number))
        ]
        for number, _ in handled:
            signal.signal(number, hear)
        try:
            yield
        finally:
            for number, handler in handled:
                signal.signal(number, handler)


@contextlib.contextmanager
def _collected_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTOR)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _in_event_loop() -> bool:
    """Whether this thread runs an event loop already."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _without_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("a question that was said not to wait does")
