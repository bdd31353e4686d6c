"""Matches texts: exactly, by similarity (tokens, edits, containment), or by a threshold."""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from eval.extraction.matchers.identifiers import (
    MAX_CODE_LENGTH,
    differs_in_path,
    is_cased_code,
    is_url,
)
from eval.extraction.matchers.match_result import (
    EQUAL,
    FULL_SIMILARITY,
    UNEQUAL,
    MatchResult,
    Similarity,
    accept_within,
)
from eval.extraction.matchers.normalisation import fold_case, normalise_spacing
from eval.extraction.matchers.units import (
    differs_in_unit,
    fold_case_but_units,
    is_cased_formula,
)
from eval.extraction.settings import Matching
from kg.base.plain_text import list_words

MAX_EDIT_LENGTH = 10_000
"""Maximum length of texts whose edit distance is computed exactly, because the time grows with the
product of the lengths."""

MAX_NEGATED_WORDS = 40
"""Number of words up to which a negation counts wherever it stands."""
MIN_SHARED_WORDS = 0.9
"""Share of words that longer texts must have in common for a negation to count."""

MAX_KEPT_LENGTH = 500
"""Maximum length of texts whose words are kept for further comparisons."""

_NEGATIONS = frozenset(
    list_words(
        """
        not no non never none neither nor without cannot
        nicht kein keine keinen keinem keiner keines nie niemals ohne
        pas sans jamais aucun aucune sin nunca ningún ninguna ninguno
        senza nessun nessuno nessuna não sem nenhum nenhuma niet geen zonder nooit
        """
    )
)
"""Words that negate in English, German, French, Spanish, Italian, Portuguese and Dutch."""
_NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non")
_MIN_PREFIXED_LETTERS = 4
"""Minimum length of a word that a prefix may negate: "valid" and "invalid", not "to" and "into"."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

_CASED = re.compile(r"\d\s*[^\W\d_]*[A-Z]|^[A-Z][a-z]$|^[a-z][A-Z]$|^(?:https?:|www\.).*[A-Z]")

_IDENTICAL: MatchResult = (True, 1.0, FULL_SIMILARITY, "")


def match_exact_text(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Matches texts exactly: score 1 if equal after normalisation, else 0."""
    if expected == predicted:
        return EQUAL
    first, second = normalise_spacing(expected, matching), normalise_spacing(predicted, matching)
    if first == second or (not matching.case_sensitive and is_same_but_for_case(first, second)):
        return EQUAL
    return UNEQUAL


def match_literal_text(
    expected: str, predicted: str, _: Matching, __: float | None = None
) -> MatchResult:
    """Matches texts by every character: score 1 if equal, else 0."""
    return EQUAL if expected == predicted else UNEQUAL


def is_same_but_for_case(first: str, second: str) -> bool:
    """Returns whether two texts differ at most in case, and are the same value."""
    return fold_case(first) == fold_case(second) and not differs_by_case(first, second)


def differs_by_case(first: str, second: str) -> bool:
    """Returns whether case tells two texts apart that are the same but for it.

    It does in units and formulas, in codes of mixed letters, and in paths, as in web addresses
    after the host.
    """
    if first != second and (is_cased_code(first) or is_cased_code(second)):
        return True
    return differs_in_unit(first, second) or differs_in_path(first, second)


def fold_harmless_case(text: str) -> str:
    """Returns a text in lower case where its case does not count."""
    is_word = len(text) <= MAX_CODE_LENGTH and " " not in text and not text.islower()
    if is_word and (is_cased_code(text) or is_cased_formula(text)):
        return text
    if not _CASED.search(text):
        return fold_case(text)
    return text if is_url(text) else fold_case_but_units(text)


def match_partial_text(
    expected: str, predicted: str, matching: Matching, _: float | None = None
) -> MatchResult:
    """Scores texts by the weighted mean of token F1, Levenshtein similarity and containment.

    The score is 0 if one text is the negation of the other, unless the settings ignore that.
    """
    if expected == predicted:
        return _IDENTICAL
    first, second = normalise_spacing(expected, matching), normalise_spacing(predicted, matching)
    if first == second:
        return _IDENTICAL
    if fold_case(first) == fold_case(second):
        if differs_by_case(first, second):
            return UNEQUAL
        return (not matching.case_sensitive, 1.0, FULL_SIMILARITY, "")
    first, second = fold_case(first), fold_case(second)
    similarity = compute_similarity(first, second)
    token_f1, edit_similarity, containment_score = similarity
    token_weight, edit_weight, containment_weight = (
        matching.token_weight,
        matching.levenshtein_weight,
        matching.containment_weight,
    )
    score = (
        token_weight * token_f1
        + edit_weight * edit_similarity
        + containment_weight * containment_score
    ) / (token_weight + edit_weight + containment_weight)
    # Tested last, since most texts that are compared in search of the best alignment differ anyway.
    if matching.negation and score >= matching.lenient and differ_in_negation(first, second):
        score = 0.0
    # Rounded, because floating-point sums may miss round thresholds by 1e-16.
    return False, round(score, 12), similarity, ""


def match_fuzzy_text(
    expected: str, predicted: str, matching: Matching, tolerance: float | None = None
) -> MatchResult:
    """Scores texts by Levenshtein similarity, or 1 if it reaches ``string_fuzzy_threshold``."""
    equal, score, similarity, _ = match_partial_text(expected, predicted, matching, tolerance)
    if similarity is None or score == 1.0:
        return equal, score, similarity, ""
    if matching.negation and similarity[1] >= matching.lenient:
        texts = [fold_case(normalise_spacing(text, matching)) for text in (expected, predicted)]
        if differ_in_negation(*texts):
            return False, 0.0, similarity, ""
    if similarity[1] >= matching.string_fuzzy_threshold:
        return accept_within(1.0, similarity)
    return False, similarity[1], similarity, ""


def differ_in_negation(first: str, second: str) -> bool:
    """Returns whether one of two similar texts in lower case is negated and the other is not."""
    words, is_negated, n_words = _read_negation(first)
    other_words, is_other_negated, n_other_words = _read_negation(second)
    if max(n_words, n_other_words) > MAX_NEGATED_WORDS:
        # In a long text, a negation may be about a part only.
        n_shared = len(words & other_words)
        if 2 * n_shared < MIN_SHARED_WORDS * (len(words) + len(other_words)):
            return False
    if is_negated != is_other_negated:
        return True
    only_first, only_second = words - other_words, other_words - words
    return _has_negated_word(only_first, only_second) or _has_negated_word(only_second, only_first)


def _has_negated_word(words: frozenset[str], others: frozenset[str]) -> bool:
    """Returns whether a word is the negation of another by its prefix."""
    return any(
        word.startswith(prefix)
        and len(word) >= len(prefix) + _MIN_PREFIXED_LETTERS
        and word[len(prefix) :] in others
        for word in words
        if word.startswith(_NEGATIVE_PREFIXES)
        for prefix in _NEGATIVE_PREFIXES
    )


def _read_negation(text: str) -> tuple[frozenset[str], bool, int]:
    """Reads a text; a short one is kept, since it is compared with many others."""
    is_short = len(text) <= MAX_KEPT_LENGTH
    return _find_negation(text) if is_short else _find_negation.__wrapped__(text)


@lru_cache(16_384)
def _find_negation(text: str) -> tuple[frozenset[str], bool, int]:
    """Returns the words of a text, whether one of them negates it, and their number."""
    words = _WORD.findall(text.replace("\u2019", "'"))
    is_negated = False
    for word, following in zip(words, [*words[1:], ""], strict=False):
        # "No. 5" is a number.
        is_number = word == "no" and any(map(str.isdecimal, following))
        is_negated |= (word in _NEGATIONS and not is_number) or word.endswith("n't")
    return frozenset(words), is_negated, len(words)


def compute_similarity(expected: str, predicted: str) -> Similarity:
    """Computes token F1, Levenshtein similarity and containment of two different, normalised texts.

    Tokens are separated by white space and compared as sets. Containment is 1 if the predicted text
    contains the expected one, the ratio of their lengths if the expected text contains the
    predicted one, else 0. If one text is empty, containment is 0.
    """
    expected_tokens, predicted_tokens = set(expected.split()), set(predicted.split())
    n_shared = len(expected_tokens & predicted_tokens)
    token_f1 = 2 * n_shared / (len(expected_tokens) + len(predicted_tokens)) if n_shared else 0.0
    longest = max(len(expected), len(predicted))
    edit_similarity = 1 - edit_distance(expected, predicted) / longest if longest else 1.0
    if not expected or not predicted:
        containment = 0.0
    elif expected in predicted:
        containment = 1.0
    elif predicted in expected:
        containment = len(predicted) / len(expected)
    else:
        containment = 0.0
    return token_f1, edit_similarity, containment


def edit_distance(expected: str, predicted: str) -> int:
    """Computes Levenshtein's distance; an upper bound for texts above ``MAX_EDIT_LENGTH``.

    The bound is the distance of the first ``MAX_EDIT_LENGTH`` characters, plus the length of the
    longer remainder if the remainders differ.
    """
    if len(expected) <= MAX_EDIT_LENGTH and len(predicted) <= MAX_EDIT_LENGTH:
        return Levenshtein.distance(expected, predicted)
    head_distance = Levenshtein.distance(expected[:MAX_EDIT_LENGTH], predicted[:MAX_EDIT_LENGTH])
    tails = expected[MAX_EDIT_LENGTH:], predicted[MAX_EDIT_LENGTH:]
    return head_distance + (0 if tails[0] == tails[1] else max(map(len, tails)))
