"""Normalises JSON as models write it: keys in other spellings, scores and levels as text.

The tolerant SKN parser accepts ``90%`` as a score and ``## Facts`` as a heading. JSON is read with
the same tolerance; otherwise a comparison of the formats would compare the strictness of their
parsers. No value is dropped or guessed: an invalid score is left unchanged and rejected later.
"""

from __future__ import annotations

import re
from typing import Any

from eval.skn.grammar.tolerant_values import parse_level, parse_score

_SCORE_KEYS = frozenset({"confidence", "strength", "reliability"})
_LEVEL_KEYS = frozenset({"fresh", "misdirection", "missing_context"})
_FREE_FORM_KEYS = frozenset({"attributes"})
"""Keys whose value is an object with arbitrary keys; these are data and are not normalised."""
_KNOWN_KEYS = frozenset({
    *_SCORE_KEYS, *_LEVEL_KEYS, *_FREE_FORM_KEYS, "source", "facts", "causal", "gaps", "risk",
    "domain", "priority", "text", "cause", "effect", "entities", "relationships", "claims", "name",
    "type", "relation", "target", "statement", "category",
})  # fmt: skip
_WORD_BREAK = re.compile(r"[\s-]+")


def normalise_value(value: Any) -> Any:
    """Returns ``value`` with known keys in lower case, scores as numbers and levels in lower case.

    Args:
        value: a parsed JSON value. Its depth is not checked here; the parser limits it.
    """
    if isinstance(value, list):
        return [normalise_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    normalised: dict[str, Any] = {}
    for original_key, field in value.items():
        key = _WORD_BREAK.sub("_", original_key.strip().lower())
        # A key that is unknown, or whose normal spelling is a key of this object too, is left
        # unchanged; the parser then rejects it.
        if key not in _KNOWN_KEYS or (key != original_key and key in value):
            key = original_key
        if key in normalised:  # "Facts" and "FACTS": ambiguous, so the object is left unchanged
            return value
        normalised[key] = field if key in _FREE_FORM_KEYS else _normalise_field(key, field)
    return normalised


def _normalise_field(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return normalise_value(value)
    if key in _SCORE_KEYS:
        score = parse_score(value)
        return value if score is None or score.is_guess else score.value
    if key in _LEVEL_KEYS:
        level, guess_note = parse_level(value)
        return value if guess_note else level
    return value.strip().lower() if key == "category" else value
