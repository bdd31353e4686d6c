"""Values of JSON as models write them: keys in another dress, scores and levels as text.

SKN is read tolerantly where a score is ``90%`` and a heading ``## Facts``; JSON is let pass as
much, or a difference between the two would be one between their readers. Nothing is dropped and
nothing guessed: what says no score stays as it is, and is then refused.
"""

from __future__ import annotations

import re
from typing import Any

from eval.skn.grammar.tolerant_values import level_of, score_of

_SCORES = frozenset({"confidence", "strength", "reliability"})
_LEVELS = frozenset({"fresh", "misdirection", "missing_context"})
_FREE = frozenset({"attributes"})
"""Whose keys are data."""
_KEYS = frozenset({
    *_SCORES, *_LEVELS, *_FREE, "source", "facts", "causal", "gaps", "risk", "domain", "priority",
    "text", "cause", "effect", "entities", "relationships", "claims", "name", "type", "relation",
    "target", "statement", "category",
})  # fmt: skip
_BETWEEN = re.compile(r"[\s-]+")


def eased(value: Any) -> Any:
    """``value`` with known keys in lower case, scores as numbers and levels as they are spelled.

    Args:
        value: as a reader of JSON gives it, nested no deeper than that reader lets it be.
    """
    if isinstance(value, list):
        return [eased(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for written, inner in value.items():
        key = _BETWEEN.sub("_", written.strip().lower())
        if key not in _KEYS or (key != written and key in value):
            key = written
        if key in found:  # "Facts" and "FACTS": neither is taken for the other
            return value
        found[key] = inner if key in _FREE else _eased_field(key, inner)
    return found


def _eased_field(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return eased(value)
    if key in _SCORES:
        score = score_of(value)
        return value if score is None or score.guessed else score.number
    if key in _LEVELS:
        level, loss = level_of(value)
        return value if loss else level
    return value.strip().lower() if key == "category" else value
