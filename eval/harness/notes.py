"""Prints the notes of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kg.base.console import print_text
from kg.base.plain_text import to_one_line

_MAX_PRINTED = 8


def print_notes(notes: Sequence[str], summary: Path) -> None:
    """Prints the first notes of a report, and which file has the others.

    Args:
        notes: all of them.
        summary: the file that has all of them.
    """
    for note in notes[:_MAX_PRINTED]:
        print_text(f"note: {to_one_line(note)}")
    if (more := len(notes) - _MAX_PRINTED) > 0:
        print_text(f"note: {more} more in {summary}")
