"""Whether an answer in free text declines to answer: by what it says, and by the seed's words."""

from __future__ import annotations

from eval.replies.cleaning import (
    normalised,
    without_latex,
    without_markup,
    without_quotations,
    without_thoughts,
)
from eval.replies.prose import signs_of

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
"""The 31 substrings by which the published benchmark reads an abstention."""


def published_abstained(answer: str) -> bool:
    """Whether one of the 31 substrings stands in the answer, however it is meant."""
    lowered = answer.lower()
    return any(phrase in lowered for phrase in PUBLISHED_PHRASES)


def abstained(answer: str) -> bool:
    """Whether an answer in free text says that it cannot tell, in its own words.

    Quotations, questions and conditions say nothing about who writes them.
    """
    own = without_markup(without_quotations(without_latex(without_thoughts(normalised(answer)))))
    signs = signs_of(own)
    return signs.abstains or signs.silent
