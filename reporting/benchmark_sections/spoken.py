"""What a command that runs a benchmark says of its notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kg.base.console import say
from kg.words.plain_text import one_line

_SPOKEN = 8


def say_notes(notes: Sequence[str], summary: Path) -> None:
    """Prints the first notes of a report, and where the others stand.

    Args:
        notes: all of them.
        summary: the file that holds them all.
    """
    for note in notes[:_SPOKEN]:
        say(f"note: {one_line(note)}")
    if (more := len(notes) - _SPOKEN) > 0:
        say(f"note: {more} more in {summary}")
