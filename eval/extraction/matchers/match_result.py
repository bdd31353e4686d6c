"""Defines the result of comparing two values, and the type of matchers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eval.extraction.settings import Matching

Similarity = tuple[float, float, float]
"""Token F1, Levenshtein similarity, containment; each in [0, 1]."""

MatchResult = tuple[bool, float, Similarity | None, str]
"""Whether the values are the same, a score in [0, 1] (1 if they are), for texts the similarities,
and the rule by which they are the same: empty if they are so in the strict reading too."""

Matcher = Callable[[Any, Any, Matching, float | None], MatchResult]
"""Takes the expected value, the predicted value, the settings and the field's own tolerance."""

FULL_SIMILARITY: Similarity = (1.0, 1.0, 1.0)
EQUAL: MatchResult = (True, 1.0, None, "")
UNEQUAL: MatchResult = (False, 0.0, None, "")

TOLERANCE = "tolerance"
"""Named instead of a rule where the values are within the tolerance or the threshold that the
schema asks for."""
NEAR = "near"
LENIENT_RULES = frozenset((TOLERANCE, NEAR))
"""Rules that accept unequal values: such a field is right, but not strictly."""


def accept_within(score: float, similarity: Similarity | None = None) -> MatchResult:
    """Returns the result of values that are unequal but within what the schema allows."""
    return True, score, similarity, TOLERANCE


def cap_below_exact(score: float, matching: Matching) -> float:
    """Caps ``score`` just below the exact threshold, for values that are not equal."""
    return min(score, matching.exact - 1e-4)
