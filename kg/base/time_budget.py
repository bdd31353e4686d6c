"""Stops work on hostile or unlucky input after a fixed processor time."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import ClassVar

from kg.base.errors import EpocheError, SettingError

VARIABLE = "EPOCHE_SHAPE_SECONDS"
"""Environment variable with the number of seconds."""
DEFAULT_SECONDS = 10.0


class _TimeUp(BaseException):
    """Not an ``Exception``, so that libraries do not catch it."""


def read_seconds() -> float:
    """Returns the number of seconds of processor time that one shape may take on one node.

    Raises:
        SettingError: the variable is not a positive number.
    """
    text = os.environ.get(VARIABLE, "")
    try:
        seconds = float(text or DEFAULT_SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise SettingError(f"not a positive number of seconds: {text!r:.40}", where=VARIABLE)
    return seconds


class TimeBudget:
    """Gives each piece of work within ``limit_time`` the same processor time.

    Starting a timer takes longer than most pieces of work. Therefore a timer that has just been
    started, also by an earlier budget, is used again: a piece may get a tenth less than all of the
    time.
    """

    _active: ClassVar[TimeBudget | None] = None
    """The budget whose work is being done."""
    _timer_seconds: ClassVar[float] = 0.0
    """The time that the running timer was given; 0 if none is running."""
    _timer_start: ClassVar[float] = 0.0

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def restart(self) -> None:
        """Gives the next piece of work all of the time."""
        cls, now = TimeBudget, time.perf_counter()
        # Processor time is at most the time on the clock, which is read faster.
        if cls._timer_seconds != self._seconds or now - cls._timer_start > self._seconds / 10:
            if signal.getsignal(signal.SIGVTALRM) is not _stop_work:
                signal.signal(signal.SIGVTALRM, _stop_work)
                # Python stops handling signals before it has ended; one would then kill it.
                atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds)
            cls._timer_seconds, cls._timer_start = self._seconds, now


def _stop_work(_number: int, _frame: FrameType | None) -> None:
    TimeBudget._timer_seconds = 0.0
    if TimeBudget._active is not None:  # Otherwise the work was done in time.
        raise _TimeUp


class NoBudget(TimeBudget):
    """Limits nothing: where the system has no timers, and in threads, which cannot be stopped."""

    def restart(self) -> None:
        """Does nothing."""


class _TimeLimit:
    """The block of ``limit_time``; a class, because a generator takes several times as long."""

    def __init__(self, seconds: float, make_error: Callable[[float], EpocheError]) -> None:
        self._seconds, self._make_error = seconds, make_error

    def __enter__(self) -> TimeBudget:
        budget = TimeBudget(self._seconds)
        budget.restart()
        self._outer, TimeBudget._active = TimeBudget._active, budget
        return budget

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        TimeBudget._active = self._outer
        if error_type is _TimeUp:
            raise self._make_error(self._seconds) from None


def limit_time(
    make_error: Callable[[float], EpocheError], factor: float = 1
) -> contextlib.AbstractContextManager[TimeBudget]:
    """Raises an error if the block, or a piece of work in it, takes too much processor time.

    Args:
        make_error: makes the error from the number of seconds.
        factor: how many times the usual seconds.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        return contextlib.nullcontext(NoBudget(0))
    return _TimeLimit(factor * read_seconds(), make_error)
