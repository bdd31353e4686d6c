"""Compares names of which one puts the family name first, before a comma."""

from __future__ import annotations

import re
from typing import Final

from eval.extraction.matchers.normalisation import fold_case
from eval.extraction.matchers.spellings import fold_punctuation
from kg.base.plain_text import list_words

MAX_NAME_WORDS: Final = 6
"""Maximum number of words of an inverted name."""

_TWO_WORDS: Final = re.compile(r"([^\W\d_][\w'’-]+),\s*([^\W\d_][\w'’-]+)")
_AFTER_NAME: Final = frozenset(
    list_words("inc llc llp ltd plc corp co gmbh ag kg sa srl bv ab as oy jr sr md phd esq")
)
"""Forms of companies and suffixes, which may follow a name with or without a comma."""


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


def loses_order(first: str, second: str) -> bool:
    """Returns whether a comma, which one of two texts lacks, may say which name comes first.

    "Paul, Henry" is Henry Paul, and "Paul Henry" is not. It is so of two words with capitals of
    which the second is no abbreviation: "Washington, DC" and "Acme, Inc" are as without a comma.
    """
    if ("," in first) == ("," in second):
        return False
    words = _TWO_WORDS.fullmatch(first if "," in first else second)
    if words is None or not words[1][0].isupper() or not words[2][0].isupper():
        return False
    is_short = len(words[2]) == 2 and words[2].isupper()
    return not is_short and words[2].lower() not in _AFTER_NAME
