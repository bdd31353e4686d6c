"""Stops work on hostile or unlucky input after a fixed processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

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
    """Restarts a timer for each piece of work; used within ``limit_time``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def restart(self) -> None:
        """Gives the next piece of work all of the time."""
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds)


class NoBudget(TimeBudget):
    """Limits nothing: where the system has no timers, and in threads, which cannot be stopped."""

    def restart(self) -> None:
        """Does nothing."""


@contextlib.contextmanager
def limit_time(
    make_error: Callable[[float], EpocheError], factor: float = 1
) -> Iterator[TimeBudget]:
    """Raises an error if the block, or a piece of work in it, takes too much processor time.

    Args:
        make_error: makes the error from the number of seconds.
        factor: how many times the usual seconds.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield NoBudget(0)
        return
    budget = TimeBudget(seconds := factor * read_seconds())

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _TimeUp

    old_handler = signal.signal(signal.SIGVTALRM, stop)
    try:
        budget.restart()
        yield budget
    except _TimeUp:
        raise make_error(seconds) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old_handler)
