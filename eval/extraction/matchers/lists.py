"""Matches arrays of scalars: ordered, as sets, or as bags (multisets)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import LCSseq

from eval.extraction.matchers.match_result import MatchResult

ElementKeys = Sequence[Hashable]
"""Elements converted by ``matchers.registry.canonical_value``: equal exactly if they match."""

MAX_LIST_LENGTH = 5_000
"""Number of elements per array for which order is compared. The longest common subsequence takes
time proportional to the product of the lengths."""


def match_ordered(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores ordered arrays by their longest common subsequence L: ``L / (n + m - L)``.

    For arrays without duplicates and in the same order this is Jaccard's index, which the
    specification names for arrays. For arrays of more than ``MAX_LIST_LENGTH`` elements it is a
    lower bound: equal heads and tails, and the longest common subsequence of the first
    ``MAX_LIST_LENGTH`` elements in between.
    """
    if expected == predicted:
        return True, 1.0, None
    start = _common_prefix_length(expected, predicted)
    expected, predicted = expected[start:], predicted[start:]
    end = _common_prefix_length(expected[::-1], predicted[::-1])
    if end:
        expected, predicted = expected[:-end], predicted[:-end]
    # Elements are numbered, since rapidfuzz compares by hash, and hash(-1) == hash(-2) in Python.
    names: dict[Hashable, int] = {}
    first, second = (
        [names.setdefault(key, len(names)) for key in keys[:MAX_LIST_LENGTH]]
        for keys in (expected, predicted)
    )
    shared = start + end + LCSseq.similarity(first, second)
    longest = start + end
    union = 2 * longest + len(expected) + len(predicted) - shared
    return False, round(shared / union, 12), None


def match_set(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as sets by Jaccard's index: shared elements / all elements."""
    first, second = set(expected), set(predicted)
    if first == second:
        return True, 1.0, None
    return False, round(len(first & second) / len(first | second), 12), None


def match_bag(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as bags by Jaccard's index with multiplicities: sum of minima / of maxima."""
    first, second = Counter(expected), Counter(predicted)
    if first == second:
        return True, 1.0, None
    shared = sum((first & second).values())
    return False, round(shared / (len(expected) + len(predicted) - shared), 12), None


def _common_prefix_length(first: ElementKeys, second: ElementKeys) -> int:
    """Returns the length of the common prefix."""
    count = 0
    for left, other in zip(first, second, strict=False):
        if left != other:
            break
        count += 1
    return count


MATCHERS = {"list": match_ordered, "set": match_set, "bag": match_bag}
