"""Compares names of which one puts the family name first, before a comma."""

from __future__ import annotations

from typing import Final

from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.spellings import fold_punctuation

MAX_NAME_WORDS: Final = 6
"""Maximum number of words of an inverted name."""


def is_inverted(first: str, second: str) -> bool:
    """Returns whether one of two texts is "Family, Given" and the other "Given Family".

    Exactly one of them has a comma, and just one, with capitals before and after it and no digits:
    "5, 10" is a list, and so is "left, right".
    """
    if (first.count(","), second.count(",")) not in ((0, 1), (1, 0)):
        return False
    inverted, plain = (first, second) if "," in first else (second, first)
    if any(map(str.isdigit, inverted)):
        return False
    parts = inverted.split(",")
    has_capitals = all(any(word[0].isupper() for word in part.split()) for part in parts)
    if not has_capitals or len(inverted.split()) > MAX_NAME_WORDS:
        return False
    family, given = (fold_case(fold_punctuation(part)) for part in parts)
    return len(family) > 1 and f"{given} {family}" == fold_case(fold_punctuation(plain))
