"""Defines the result of comparing two values, and the type of matchers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eval.extraction.settings import Matching

Similarity = tuple[float, float, float]
"""Token F1, Levenshtein similarity, containment; each in [0, 1]."""

MatchResult = tuple[bool, float, Similarity | None]
"""Whether the values are equal, a score in [0, 1] (1 if equal), and, for texts, the similarities.
"""

Matcher = Callable[[Any, Any, Matching, float | None], MatchResult]
"""Takes the expected value, the predicted value, the settings and the field's own tolerance."""

EQUAL: MatchResult = (True, 1.0, None)
UNEQUAL: MatchResult = (False, 0.0, None)


def cap_below_exact(score: float, matching: Matching) -> float:
    """Caps ``score`` just below the exact threshold, for values that are not equal."""
    return min(score, matching.exact - 1e-4)
