"""Reads SKN as models write it, and says of every deviation where it is."""

from __future__ import annotations

from eval.skn.parsed import Parsed
from eval.skn.strict_reading import read_strictly


def read_tolerantly(text: str) -> Parsed:
    """Reads what can be read of ``text``."""
    return read_strictly(text.strip())
