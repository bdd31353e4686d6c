"""What comes of comparing two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eval.extraction.settings import Matching

Similarity = tuple[float, float, float]
"""Token F1, Levenshtein similarity, containment; each within 0 and 1."""

Compared = tuple[bool, float, Similarity | None]
"""Whether they are equal, a score within 0 and 1 (1 if equal), and the similarities of texts."""

Matcher = Callable[[Any, Any, Matching, float | None], Compared]
"""Of what is expected, what came, the settings and the field's own tolerance."""

EQUAL: Compared = (True, 1.0, None)
UNEQUAL: Compared = (False, 0.0, None)


def below_exact(score: float, matching: Matching) -> float:
    """``score``, or just below an exact match's where it would be one: the values do differ."""
    return min(score, matching.exact - 1e-4)
