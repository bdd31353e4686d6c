"""Matches arrays of scalars: ordered, as sets, or as bags (multisets)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import LCSseq

from eval.extraction.matchers.match_result import MatchResult

ElementKeys = Sequence[Hashable]
"""Elements converted by ``matchers.registry.to_canonical_value``: two are equal if and only if the
elements match."""

MAX_LIST_LENGTH = 5_000
"""Maximum number of elements per array whose order is compared, because the time to compute the
longest common subsequence is proportional to the product of the lengths."""


def match_ordered(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores ordered arrays by their longest common subsequence L: ``L / (n + m - L)``.

    Here n and m are the lengths of the arrays. For arrays without duplicates and in the same order,
    this is Jaccard's index, which the specification names for arrays. The common start and end of
    the arrays are always counted. In between, only the first ``MAX_LIST_LENGTH`` elements are
    compared, so the score of longer arrays is a lower bound.
    """
    if expected == predicted:
        return True, 1.0, None
    start = _count_common_prefix(expected, predicted)
    expected, predicted = expected[start:], predicted[start:]
    end = _count_common_prefix(expected[::-1], predicted[::-1])
    if end:
        expected, predicted = expected[:-end], predicted[:-end]
    # Elements are numbered, since rapidfuzz compares by hash, and hash(-1) == hash(-2) in Python.
    element_numbers: dict[Hashable, int] = {}
    first, second = (
        [element_numbers.setdefault(key, len(element_numbers)) for key in keys[:MAX_LIST_LENGTH]]
        for keys in (expected, predicted)
    )
    lcs_length = start + end + LCSseq.similarity(first, second)
    n_at_ends = start + end
    union = 2 * n_at_ends + len(expected) + len(predicted) - lcs_length
    return False, round(lcs_length / union, 12), None


def match_set(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as sets by Jaccard's index: shared elements / all elements."""
    first, second = set(expected), set(predicted)
    if first == second:
        return True, 1.0, None
    return False, round(len(first & second) / len(first | second), 12), None


def match_bag(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as bags by Jaccard's index: sum of minimum counts / sum of maximum counts."""
    first, second = Counter(expected), Counter(predicted)
    if first == second:
        return True, 1.0, None
    n_shared = sum((first & second).values())
    return False, round(n_shared / (len(expected) + len(predicted) - n_shared), 12), None


def _count_common_prefix(first: ElementKeys, second: ElementKeys) -> int:
    """Returns the length of the common prefix."""
    count = 0
    for first_key, second_key in zip(first, second, strict=False):
        if first_key != second_key:
            break
        count += 1
    return count


MATCHERS = {"list": match_ordered, "set": match_set, "bag": match_bag}
