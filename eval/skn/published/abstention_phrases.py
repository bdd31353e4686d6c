"""Recognises abstentions by the phrases of the published benchmark.

``eval.replies.abstention`` has our rules; ``docs/reference/skn.md`` gives the error rates of
both.
"""

from __future__ import annotations

PUBLISHED_PHRASES = (
    "insufficient information",
    "not enough information",
    "cannot determine",
    "cannot be determined",
    "unable to determine",
    "not specified",
    "not provided",
    "not enough data",
    "insufficient data",
    "no information",
    "cannot answer",
    "impossible to determine",
    "not available",
    "lack of information",
    "missing information",
    "does not contain",
    "do not contain",
    "cannot provide",
    "unable to provide",
    "cannot identify",
    "unable to identify",
    "no relevant information",
    "no specific information",
    "not contain any information",
    "i cannot",
    "i'm unable",
    "i am unable",
    "no details about",
    "no mention of",
    "does not include",
    "does not reference",
)
"""The 31 substrings by which the published benchmark recognises an abstention."""


def has_published_phrase(answer: str) -> bool:
    """Returns whether the answer contains one of the 31 published substrings."""
    lowered = answer.lower()
    return any(phrase in lowered for phrase in PUBLISHED_PHRASES)
