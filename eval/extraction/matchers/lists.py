"""Matches arrays of scalars: ordered, as sets, or as bags (multisets)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from rapidfuzz.distance import LCSseq

from eval.extraction.matchers.match_result import LENIENT_RULES, MatchResult

ElementKeys = Sequence[Hashable]
"""Elements converted by ``matchers.registry.to_canonical_value``: two are equal if and only if the
elements match."""

MAX_COMPARED_ELEMENTS = 10_000
"""Maximum number of pairs of unequal elements that are compared."""

_MAX_UNEQUAL_SCORE = 1 - 1e-4

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
        return True, 1.0, None, ""
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
    return False, round(lcs_length / union, 12), None, ""


def match_set(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as sets by Jaccard's index: shared elements / all elements."""
    first, second = set(expected), set(predicted)
    if first == second:
        return True, 1.0, None, ""
    return False, round(len(first & second) / len(first | second), 12), None, ""


def match_bag(expected: ElementKeys, predicted: ElementKeys) -> MatchResult:
    """Scores arrays as bags by Jaccard's index: sum of minimum counts / sum of maximum counts."""
    first, second = Counter(expected), Counter(predicted)
    if first == second:
        return True, 1.0, None, ""
    n_shared = sum((first & second).values())
    n_all = len(expected) + len(predicted) - n_shared
    return False, round(n_shared / n_all, 12), None, ""


class ListPair(NamedTuple):
    """An expected and a predicted array of scalars, with the keys of their elements."""

    expected: Sequence[Any]
    predicted: Sequence[Any]
    expected_keys: ElementKeys
    predicted_keys: ElementKeys


def align_elements(
    pair: ListPair,
    array_matcher: str,
    compare: Callable[[Any, Any], MatchResult],
    threshold: float,
) -> MatchResult | None:
    """Scores arrays whose elements are spelled differently, or are only similar.

    Equal elements are paired first, the others by the assignment with the greatest total score
    (in an array with order, only with the element at the same position of what is left). A pair
    counts by its score if the rules accept it or its Levenshtein similarity reaches ``threshold``.

    Returns:
        The sum of the scores of the pairs / (n + m − number of pairs); ``None`` if too many
        elements are left to compare them all.
    """
    left = _unpaired_elements(pair, is_set=array_matcher == "set")
    if not left[0] or not left[1]:
        return None
    if array_matcher == "list":
        if len(pair.expected) != len(pair.predicted):
            return None
        results = [compare(*values) for values in zip(pair.expected, pair.predicted, strict=True)]
        n_equal = 0
    else:
        if len(left[0]) * len(left[1]) > MAX_COMPARED_ELEMENTS:
            return None
        table = [[compare(first, second) for second in left[1]] for first in left[0]]
        gains = [[float(result[1] + result[0]) for result in row] for row in table]
        results = [table[i][j] for i, j in find_best_assignment(gains)]
        n_equal = _count_elements(pair.expected_keys, array_matcher) - len(left[0])
    pairs = [result for result in results if result[0] or _is_near(result, threshold)]
    n_compared = 2 * len(results) if array_matcher == "list" else sum(map(len, left))
    n_union = n_equal + n_compared - len(pairs)
    is_same = len(pairs) == n_union - n_equal and all(result[0] for result in pairs)
    score = (n_equal + sum(result[1] for result in pairs)) / n_union
    rule = _choose_rule([result[3] for result in pairs if result[3]]) if is_same else ""
    return is_same, 1.0 if is_same else round(min(score, _MAX_UNEQUAL_SCORE), 12), None, rule


def _choose_rule(rules: Sequence[str]) -> str:
    """Returns a lenient rule if there is one: an array is no more strictly right than its pairs."""
    lenient = (rule for rule in rules if rule in LENIENT_RULES)
    return next(lenient, rules[0] if rules else "sets")


def _is_near(result: MatchResult, threshold: float) -> bool:
    return result[2] is not None and result[2][1] >= threshold


def _unpaired_elements(pair: ListPair, *, is_set: bool) -> tuple[list[Any], list[Any]]:
    """Returns the elements of each side that have no equal on the other."""
    sides = []
    for values, keys, other_keys in (
        (pair.expected, pair.expected_keys, pair.predicted_keys),
        (pair.predicted, pair.predicted_keys, pair.expected_keys),
    ):
        counts = Counter(other_keys)
        seen: set[Hashable] = set()
        left = []
        for value, key in zip(values, keys, strict=True):
            if is_set:
                if key not in counts and key not in seen:
                    left.append(value)
                seen.add(key)
            elif counts[key] > 0:
                counts[key] -= 1
            else:
                left.append(value)
        sides.append(left)
    return sides[0], sides[1]


def _count_elements(keys: ElementKeys, array_matcher: str) -> int:
    return len(set(keys)) if array_matcher == "set" else len(keys)


def find_best_assignment(gains: list[list[float]]) -> list[tuple[int, int]]:
    """Finds the assignment with the highest total: pairs of row and column, by row."""
    rows, columns = len(gains), len(gains[0])
    if rows == 1:
        return [(0, max(range(columns), key=gains[0].__getitem__))]
    if columns == 1:
        return [(max(range(rows), key=lambda i: gains[i][0]), 0)]
    if rows == columns == 2:
        is_diagonal = gains[0][0] + gains[1][1] >= gains[0][1] + gains[1][0]
        return [(0, 0), (1, 1)] if is_diagonal else [(0, 1), (1, 0)]
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    assignment = linear_sum_assignment(np.array(gains), maximize=True)
    return list(zip(*(indexes.tolist() for indexes in assignment), strict=True))


def _count_common_prefix(first: ElementKeys, second: ElementKeys) -> int:
    """Returns the length of the common prefix."""
    count = 0
    for first_key, second_key in zip(first, second, strict=False):
        if first_key != second_key:
            break
        count += 1
    return count


MATCHERS = {"list": match_ordered, "set": match_set, "bag": match_bag}
