"""How far a run is: a bar on a terminal, a plain line every ten seconds elsewhere.

Runs that are over in two seconds show nothing at all, and scripts see no output that depends on
how fast they ran.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kg.base.closing import Closing
from kg.base.console import progress_bar
from kg.words.plain_text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

QUIET_S = 2.0
LINE_S = 10.0
REDRAW_S = 0.2


class RunProgress(Closing):
    """Counts answers and shows them from time to time.

    Args:
        what: what is running.
        total: answers to come.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._errors = 0
        self._cost: float | None = None
        self._bar: Progress | None = None
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started + (QUIET_S if self._terminal else LINE_S)

    def close(self) -> None:
        """Takes the bar off the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, *, failed: bool, spent_usd: float | None) -> None:
        """Counts one answer.

        Args:
            failed: whether it is an error.
            spent_usd: what the whole run has cost up to now; null where that is unknown.
        """
        self._done += 1
        self._errors += failed
        self._cost = spent_usd
        self.tick()

    def tick(self) -> None:
        """Shows how far it is, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._terminal:
            self._next = now + REDRAW_S
            self._draw()
        else:
            self._next = now + LINE_S
            print(one_line(self.line(now - self._started)), file=sys.stderr, flush=True)

    def line(self, seconds: float) -> str:
        """Everything in one line, after so many seconds."""
        rate = self._done / seconds if seconds > 0 else 0.0
        parts = [f"{self._what}: {self._done:,}/{self._total:,}", f"{rate:.1f}/s", *self._notes()]
        if rate:
            parts.append(f"{_clock((self._total - self._done) / rate)} left")
        return " · ".join(parts)

    def _notes(self) -> list[str]:
        notes = []
        if self._errors:
            notes.append(f"{self._errors:,} error{'s' if self._errors > 1 else ''}")
        if self._cost:
            notes.append(f"{self._cost:.4f} USD")
        return notes

    def _draw(self) -> None:
        if self._bar is None:
            self._bar = progress_bar("notes")
            self._task = self._bar.add_task(self._what, total=self._total, notes="")
            self._bar.start()
        self._bar.update(self._task, completed=self._done, notes=" · ".join(self._notes()))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
