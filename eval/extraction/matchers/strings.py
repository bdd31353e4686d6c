"""Matches texts: exactly, by similarity (tokens, edits, containment), or above a threshold."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

from eval.extraction.matchers.match_result import EQUAL, UNEQUAL, MatchResult, Similarity
from eval.extraction.matchers.normalisation import fold_case, normalise_spacing
from eval.extraction.settings import Matching

MAX_EDIT_LENGTH = 10_000
"""Number of characters per text for exact edit distances, whose time grows with the product of the
lengths."""

_FULL_SIMILARITY: Similarity = (1.0, 1.0, 1.0)
_IDENTICAL: MatchResult = (True, 1.0, _FULL_SIMILARITY)


def match_exact_text(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches texts exactly: equal after normalisation, or score 0."""
    if expected == predicted:
        return EQUAL
    first, second = normalise_spacing(expected, matching), normalise_spacing(predicted, matching)
    if first == second or (not matching.case_sensitive and fold_case(first) == fold_case(second)):
        return EQUAL
    return UNEQUAL


def match_partial_text(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Scores texts by token F1, Levenshtein similarity and containment, as specified."""
    if expected == predicted:
        return _IDENTICAL
    first, second = normalise_spacing(expected, matching), normalise_spacing(predicted, matching)
    if first == second:
        return _IDENTICAL
    first, second = fold_case(first), fold_case(second)
    if first == second:
        return (not matching.case_sensitive, 1.0, _FULL_SIMILARITY)
    alike = compute_similarity(first, second)
    tokens, edits, contained = alike
    token, edit, containment = (
        matching.token_weight,
        matching.levenshtein_weight,
        matching.containment_weight,
    )
    score = (token * tokens + edit * edits + containment * contained) / (token + edit + containment)
    # Rounded, because floating-point sums may miss round thresholds by 1e-16.
    return False, round(score, 12), alike


def match_fuzzy_text(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Scores 1 from Levenshtein similarity ``string_fuzzy_threshold`` on, else the similarity."""
    equal, score, alike = match_partial_text(expected, predicted, matching)
    if alike is None or score == 1.0:
        return equal, score, alike
    return False, 1.0 if alike[1] >= matching.string_fuzzy_threshold else alike[1], alike


def compute_similarity(expected: str, predicted: str) -> Similarity:
    """Computes token F1, Levenshtein similarity and containment of two different, normalised texts.

    Tokens are separated by white space and compared as sets. Containment is 1 if the predicted text
    contains the expected one, their ratio of lengths if it is the other way round, else 0; an empty
    text is contained in no other.
    """
    tokens, others = set(expected.split()), set(predicted.split())
    both = len(tokens & others)
    token_f1 = 2 * both / (len(tokens) + len(others)) if both else 0.0
    longest = max(len(expected), len(predicted))
    edits = 1 - edit_distance(expected, predicted) / longest if longest else 1.0
    if not expected or not predicted:
        contained = 0.0
    elif expected in predicted:
        contained = 1.0
    elif predicted in expected:
        contained = len(predicted) / len(expected)
    else:
        contained = 0.0
    return token_f1, edits, contained


def edit_distance(expected: str, predicted: str) -> int:
    """Computes Levenshtein's distance; for texts above ``MAX_EDIT_LENGTH`` an upper bound.

    The bound is the distance of the heads plus the length of the longer tail, unless the tails are
    equal.
    """
    if len(expected) <= MAX_EDIT_LENGTH and len(predicted) <= MAX_EDIT_LENGTH:
        return Levenshtein.distance(expected, predicted)
    heads = Levenshtein.distance(expected[:MAX_EDIT_LENGTH], predicted[:MAX_EDIT_LENGTH])
    tails = expected[MAX_EDIT_LENGTH:], predicted[MAX_EDIT_LENGTH:]
    return heads + (0 if tails[0] == tails[1] else max(map(len, tails)))
