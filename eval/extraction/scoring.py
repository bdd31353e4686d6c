"""One extraction against what was expected: every field's verdict, and the counts made of them."""

from __future__ import annotations

from eval.extraction.sample_score import (
    CATEGORIES,
    ERROR_PATTERNS,
    SIMILARITIES,
    Category,
    FieldMatch,
    Mode,
    SampleScore,
    Scored,
    Similarity,
    Tally,
)

__all__ = [
    "CATEGORIES",
    "ERROR_PATTERNS",
    "SIMILARITIES",
    "Category",
    "FieldMatch",
    "Mode",
    "SampleScore",
    "Scored",
    "Similarity",
    "Tally",
]
