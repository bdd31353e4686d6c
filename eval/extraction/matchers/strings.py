"""Texts: equal or not, alike by tokens, edits and containment, or alike enough."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

from eval.extraction.matchers.compared import EQUAL, UNEQUAL, Compared, Similarity
from eval.extraction.matchers.normalising import folded, spaced
from eval.extraction.settings import Matching

LONGEST = 10_000
"""Characters of each text that edits are counted in. Edits take time as the product of lengths."""

_SAME: Similarity = (1.0, 1.0, 1.0)
_TWINS: Compared = (True, 1.0, _SAME)


def exact_text(expected: str, came: str, matching: Matching, _: float | None = None) -> Compared:
    """Equal after normalisation, or nothing."""
    if expected == came:
        return EQUAL
    first, second = spaced(expected, matching), spaced(came, matching)
    if first == second or (not matching.case_sensitive and folded(first) == folded(second)):
        return EQUAL
    return UNEQUAL


def partial_text(expected: str, came: str, matching: Matching, _: float | None = None) -> Compared:
    """The specification's composite of token F1, Levenshtein similarity and containment."""
    if expected == came:
        return _TWINS
    first, second = spaced(expected, matching), spaced(came, matching)
    if first == second:
        return _TWINS
    first, second = folded(first), folded(second)
    if first == second:
        return (not matching.case_sensitive, 1.0, _SAME)
    alike = similarity(first, second)
    tokens, edits, contained = alike
    token, edit, containment = (
        matching.token_weight,
        matching.levenshtein_weight,
        matching.containment_weight,
    )
    score = (token * tokens + edit * edits + containment * contained) / (token + edit + containment)
    # Sums of shares miss their round values by 1e-16, and thresholds are round.
    return False, round(score, 12), alike


def fuzzy_text(expected: str, came: str, matching: Matching, _: float | None = None) -> Compared:
    """As good as equal from ``string_fuzzy_threshold`` on, else the Levenshtein similarity."""
    equal, score, alike = partial_text(expected, came, matching)
    if alike is None or score == 1.0:
        return equal, score, alike
    return False, 1.0 if alike[1] >= matching.string_fuzzy_threshold else alike[1], alike


def similarity(expected: str, came: str) -> Similarity:
    """Token F1, Levenshtein similarity and containment of two different, normalised texts.

    Tokens are what stands between white space, as sets. Containment is 1 where what came has all
    that was expected, the share of it that came where it is part of it, else 0; an empty text is
    contained in none.
    """
    tokens, others = set(expected.split()), set(came.split())
    both = len(tokens & others)
    token_f1 = 2 * both / (len(tokens) + len(others)) if both else 0.0
    longest = max(len(expected), len(came))
    edits = 1 - distance(expected, came) / longest if longest else 1.0
    if not expected or not came:
        contained = 0.0
    elif expected in came:
        contained = 1.0
    elif came in expected:
        contained = len(came) / len(expected)
    else:
        contained = 0.0
    return token_f1, edits, contained


def distance(expected: str, came: str) -> int:
    """Levenshtein's distance; of texts beyond ``LONGEST`` characters an upper bound of it.

    The bound is the distance of the heads, and all of the longer tail unless the tails are equal.
    """
    if len(expected) <= LONGEST and len(came) <= LONGEST:
        return Levenshtein.distance(expected, came)
    heads = Levenshtein.distance(expected[:LONGEST], came[:LONGEST])
    tails = expected[LONGEST:], came[LONGEST:]
    return heads + (0 if tails[0] == tails[1] else max(map(len, tails)))
