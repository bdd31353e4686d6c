"""Defines the aligned field, and what a pair of array elements adds to the total score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from eval.extraction.matchers.match_result import LENIENT_RULES, NEAR, MatchResult
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.matchers.value_comparison import compare_values
from eval.extraction.settings import Matching

_TIE_WEIGHT: Final = 1e-7
"""Weight of the tie-breaking terms: far below any real difference between total scores."""
_SCALARS: Final = frozenset({str, int, float, bool})
_EXACT_NUMBERS: Final = ("exact", "number")
_MAX_CACHED: Final = 100_000


class Mismatch(NamedTuple):
    """Different structures at the same path: an object against an array or a scalar."""

    expected: str
    """JSON type of the expected structure."""
    predicted: str
    """JSON type of the predicted structure."""


class Entry(NamedTuple):
    """One field of the aligned pair."""

    node: SchemaNode
    expected: Any
    """``None`` if it is spurious."""
    predicted: Any
    """``None`` if it is missed."""
    match: MatchResult | None
    """``None`` unless both sides have it."""
    mismatch: Mismatch | None = None
    """Set if it has no counterpart because the structures differ."""
    surplus: bool = False
    """Whether it belongs to a surplus array element."""
    owner: int = 0
    """Identity of the innermost object of the reply that the predicted value is a part of."""


_Gain = tuple[float, float, bool]
"""What a field adds to the total score and to the tie-breaker, and whether it is strictly equal."""


class PairScorer:
    """Scores pairs of elements of two arrays.

    The score of a field is averaged over both directions, so that the assignment does not change
    when expected and predicted are swapped. Ties are decided by the numbers of strictly equal,
    right, partial and lenient fields, of wholly equal elements and of identical values, and last by
    the distance of positions. The weights of these counts are irrational-looking numbers on
    purpose: different counts then practically never have equal sums.

    Args:
        matching: when two values count as the same.
        n_elements: number of elements of both arrays together.
    """

    def __init__(self, matching: Matching, n_elements: int) -> None:
        self._matching: Final = matching
        self._n_elements: Final = n_elements
        self._gains: Final[dict[tuple[int, str, str], _Gain]] = {}
        self._epsilon: Final = max(matching.epsilon, 1e-9)
        self._is_exact: Final = NEAR not in matching.rules

    def score_entries(self, entries: Iterable[Entry], distance: int) -> float:
        """Returns the gain of a pair from its aligned fields."""
        gains = [
            (0.0, 0.0, False) if match is None else self._rate(node, expected, predicted, match)
            for node, expected, predicted, match, *_ in entries
        ]
        return self._add_up(
            sum(gain[0] for gain in gains),
            sum(gain[1] for gain in gains),
            all(gain[2] for gain in gains),
            distance,
        )

    def score_rows(
        self, nodes: Sequence[SchemaNode], expected: list[Any], predicted: list[Any], distance: int
    ) -> float:
        """Returns the gain of a pair of flat objects, given the values of the declared keys."""
        total_score = tie_breaker = 0.0
        all_equal = True
        for node, left, right in zip(nodes, expected, predicted, strict=True):
            if left is None or right is None:
                all_equal = all_equal and left is right
                continue
            left_type = type(left)
            if left_type is type(right):
                if left == right:
                    total_score += 1.0
                    tie_breaker += _IDENTICAL_TIE
                    continue
                if left_type is str:
                    score, tie, is_equal = self._rate_texts(node, left, right)
                    total_score += score
                    tie_breaker += tie
                    all_equal = all_equal and is_equal
                    continue
                # Most unequal numbers differ by far more than the noise of floats.
                if (
                    left_type is not bool
                    and self._is_exact
                    and node.tolerance is None
                    and node.number_matcher in _EXACT_NUMBERS
                    and abs(left - right) > self._epsilon * abs(left)
                ):
                    tie_breaker += _UNEQUAL_TIE
                    all_equal = False
                    continue
            match = compare_values(node, left, right, self._matching)
            score, tie, is_equal = self._rate(node, left, right, match)
            total_score += score
            tie_breaker += tie
            all_equal = all_equal and is_equal
        return self._add_up(total_score, tie_breaker, all_equal, distance)

    def _rate_texts(self, node: SchemaNode, left: str, right: str) -> _Gain:
        # Cached, since the columns of a table repeat their values.
        key = id(node), left, right
        gain = self._gains.get(key)
        if gain is None:
            match = compare_values(node, left, right, self._matching)
            gain = self._rate(node, left, right, match)
            if len(self._gains) < _MAX_CACHED:
                self._gains[key] = gain
        return gain

    def _rate(self, node: SchemaNode, expected: Any, predicted: Any, match: MatchResult) -> _Gain:
        is_right, score, similarity, rule = match
        if is_right and rule not in LENIENT_RULES:
            # Scalars only: comparing nested values with == could exceed the recursion limit.
            is_identical = type(expected) in _SCALARS and expected == predicted
            return 1.0, _IDENTICAL_TIE if is_identical else _EQUAL_TIE, True
        matching = self._matching
        # The score of two texts depends on the direction only if their containment is not 0.
        if similarity is None or similarity[2]:
            score = (score + compare_values(node, predicted, expected, matching)[1]) / 2
        return (
            score,
            0.618034 * (score >= matching.exact)
            + 0.414214 * (score >= matching.partial)
            + 0.236068 * (score >= matching.lenient)
            + _UNEQUAL_TIE,
            False,
        )

    def _add_up(
        self, total_score: float, tie_breaker: float, all_equal: bool, distance: int
    ) -> float:
        return (
            total_score
            + _TIE_WEIGHT * (tie_breaker + all_equal)
            - 1e-4 * _TIE_WEIGHT * (distance / self._n_elements) ** 2
        )


_EQUAL_TIE: Final = 2.0
_IDENTICAL_TIE: Final = 2.057281
_UNEQUAL_TIE: Final = 0.090170
