"""What a command that runs a benchmark says of its notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kg.base.console import print_text
from kg.words.plain_text import to_one_line

_SPOKEN = 8


def say_notes(notes: Sequence[str], summary: Path) -> None:
    """Prints the first notes of a report, and where the others stand.

    Args:
        notes: all of them.
        summary: the file that holds them all.
    """
    for note in notes[:_SPOKEN]:
        print_text(f"note: {to_one_line(note)}")
    if (more := len(notes) - _SPOKEN) > 0:
        print_text(f"note: {more} more in {summary}")
