"""Shows the progress of a run: a bar on a terminal, otherwise a plain line every ten seconds.

Nothing is shown for the first two seconds on a terminal and the first ten seconds elsewhere, so
that the output of scripts with short runs does not depend on their speed.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kg.base.closable import Closable
from kg.base.console import format_rate, make_progress_bar
from kg.base.plain_text import to_one_line

if TYPE_CHECKING:
    from rich.progress import Progress

FIRST_BAR_S = 2.0
LINE_INTERVAL_S = 10.0
REDRAW_INTERVAL_S = 0.2


class RunProgress(Closable):
    """Counts answers and shows the progress at intervals.

    Args:
        title: name of the run.
        total: number of answers expected.
    """

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._errors = 0
        self._cost: float | None = None
        self._bar: Progress | None = None
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started + (FIRST_BAR_S if self._terminal else LINE_INTERVAL_S)

    def close(self) -> None:
        """Stops the progress bar."""
        if self._bar is not None:
            self._bar.stop()

    def count_answer(self, *, failed: bool, spent_usd: float | None) -> None:
        """Counts one answer.

        Args:
            failed: whether the answer is an error.
            spent_usd: cost of the whole run so far; None if it is unknown.
        """
        self._done += 1
        self._errors += failed
        self._cost = spent_usd
        self.show_if_due()

    def show_if_due(self) -> None:
        """Shows the progress if the next update is due."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._terminal:
            self._next = now + REDRAW_INTERVAL_S
            self._draw_bar()
        else:
            self._next = now + LINE_INTERVAL_S
            print(to_one_line(self.format_line(now - self._started)), file=sys.stderr, flush=True)

    def format_line(self, seconds: float) -> str:
        """Formats the progress after the given seconds as one line."""
        rate = self._done / seconds if seconds > 0 else 0.0
        parts = [
            f"{self._title}: {self._done:,}/{self._total:,}",
            *([format_rate(rate)] if rate else []),
            *self._format_notes(),
        ]
        if rate:
            parts.append(f"{_format_duration((self._total - self._done) / rate)} left")
        return " · ".join(parts)

    def _format_notes(self) -> list[str]:
        notes = []
        if self._errors:
            notes.append(f"{self._errors:,} error{'s' if self._errors > 1 else ''}")
        if self._cost:
            notes.append(f"{self._cost:.4f} USD")
        return notes

    def _draw_bar(self) -> None:
        if self._bar is None:
            self._bar = make_progress_bar("notes")
            self._task = self._bar.add_task(self._title, total=self._total, notes="")
            self._bar.start()
        self._bar.update(self._task, completed=self._done, notes=" · ".join(self._format_notes()))


def _format_duration(seconds: float) -> str:
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"
