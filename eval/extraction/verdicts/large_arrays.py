"""Pairs the elements of arrays that are too large to compare each element with each.

Elements that have the same value in the same field are probably the same, the more so the fewer
elements have it. The time that this takes hardly grows faster than the arrays.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any, Final

from eval.extraction.matchers.rules import fold_value
from eval.extraction.matchers.schema_nodes import SchemaNode
from eval.extraction.settings import Matching
from eval.extraction.verdicts.alternatives import Alternatives

MAX_CANDIDATES: Final = 16
"""Maximum number of pairs of elements that are compared because they share a value, per value."""
_N_RAREST: Final = 5
"""Number of the rarest values of an element that are looked up, alone and two by two."""

_encode = json.JSONEncoder(sort_keys=True).encode

_Part = tuple[str, ...]
"""The keys that lead to a value of an element, and the folded value as JSON."""
_Parts = Sequence[frozenset[_Part]]
_Pairs = list[tuple[int, int]]
_Groups = dict[tuple[_Part, ...], tuple[list[int], list[int]]]
_Assign = Callable[[list[Any], list[Any]], Sequence[tuple[Any, ...]] | None]
"""Pairs elements of two arrays: indexes of both, and possibly what is known of the pair."""


def pair_large_arrays(
    element: SchemaNode,
    expected: list[Any],
    predicted: list[Any],
    matching: Matching,
    assign_by_score: _Assign,
) -> list[tuple[int, int, Any]]:
    """Pairs elements: equal ones first, then those that share rare values, then the others.

    Args:
        element: schema node of the elements.
        expected: the expected elements.
        predicted: the predicted ones.
        matching: when two values count as the same.
        assign_by_score: finds the best assignment of elements that share no rare value; ``None`` if
            there are too many. These are paired by frequent values, if they share any, and by
            position.

    Returns:
        Indexes (expected, predicted) in the order of the expected elements, and what
        ``assign_by_score`` knows of the pair, if anything; no element is in two pairs.
    """
    sides = expected, predicted
    folded = [[fold_value(value, matching) for value in side] for side in sides]
    parts = [[_list_parts(element, value, matching) for value in side] for side in sides]
    steps: tuple[tuple[Sequence[list[Any]], _Assign], ...] = (
        (sides, pair_equal_elements),
        (folded, pair_equal_elements),
        (parts, _pair_by_rare_parts),
        (sides, assign_by_score),
        (parts, _pair_by_frequent_parts),
        (sides, lambda *left: [(i, i) for i in range(min(map(len, left)))]),
    )
    pairs: list[tuple[int, int, Any]] = []
    rest = [list(range(len(side))) for side in sides]
    for values, assign in steps:
        left = [[values[side][index] for index in rest[side]] for side in (0, 1)]
        for i, j, *known in assign(*left) or ():
            pairs.append((rest[0][i], rest[1][j], known[0] if known else None))
        paired = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
        rest = [[i for i in rest[side] if i not in paired[side]] for side in (0, 1)]
        if not rest[0] or not rest[1]:
            break
    return sorted(pairs, key=lambda pair: pair[0])


def pair_equal_elements(expected: list[Any], predicted: list[Any]) -> _Pairs:
    """Pairs equal elements: the n-th occurrence on one side with the n-th on the other."""
    encoded = _encode_values(expected), _encode_values(predicted)
    if encoded[0] is None or encoded[1] is None:
        return []
    positions: dict[str, deque[int]] = defaultdict(deque)
    for j, text in enumerate(encoded[1]):
        positions[text].append(j)
    return [
        (i, positions[text].popleft()) for i, text in enumerate(encoded[0]) if positions.get(text)
    ]


def _encode_values(values: list[Any]) -> list[str] | None:
    """Encodes values as canonical JSON; returns ``None`` if they are nested too deeply."""
    try:
        return [_encode(value) for value in values]
    except RecursionError:
        return None


def sort_by_content(values: list[Any]) -> list[int]:
    """Returns the indexes of values sorted by their JSON text; unsorted if nested too deeply."""
    texts = _encode_values(values)
    indexes = range(len(values))
    return list(indexes) if texts is None else sorted(indexes, key=texts.__getitem__)


def _list_parts(element: SchemaNode, value: Any, matching: Matching) -> frozenset[_Part]:
    """Lists the values of an element, folded; an array is one, and each of several right values."""
    return frozenset(_iter_parts(element, value, (), matching))


def _iter_parts(
    node: SchemaNode, value: Any, keys: tuple[str, ...], matching: Matching
) -> Iterator[_Part]:
    if node.ignored:
        return
    if isinstance(value, Alternatives):
        for one in value:
            yield from _iter_parts(node, one, keys, matching)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _iter_parts(node.get_child(key), inner, (*keys, key), matching)
    else:
        texts = _encode_values([fold_value(value, matching)])
        if texts and texts[0] not in ("null", "[]"):
            yield (*keys, texts[0])


def _pair_by_rare_parts(expected: _Parts, predicted: _Parts) -> _Pairs:
    """Pairs elements that share a rare value, or two that are rare together.

    Those with most values in common are paired first.
    """
    counts = _count_pairs(expected, predicted)
    candidates = {
        pair
        for indexes in _group_by_parts(expected, predicted, counts).values()
        if len(indexes[0]) * len(indexes[1]) <= MAX_CANDIDATES
        for pair in product(*indexes)
    }

    def rank(pair: tuple[int, int]) -> tuple[int, ...]:
        shared = expected[pair[0]] & predicted[pair[1]]
        return -len(shared), min(counts[part] for part in shared), abs(pair[0] - pair[1]), *pair

    return _take_free(sorted(candidates, key=rank))


def _pair_by_frequent_parts(expected: _Parts, predicted: _Parts) -> _Pairs:
    """Pairs elements in groups that share values, two if possible: the first with the first."""
    groups = _group_by_parts(expected, predicted, _count_pairs(expected, predicted))
    ranked = sorted(
        groups, key=lambda key: (-len(key), len(groups[key][0]) * len(groups[key][1]), key)
    )
    paired: tuple[set[int], set[int]] = (set(), set())
    pairs: _Pairs = []
    for key in ranked:
        left = [[i for i in groups[key][side] if i not in paired[side]] for side in (0, 1)]
        for i, j in zip(*left, strict=False):
            pairs.append((i, j))
            paired[0].add(i)
            paired[1].add(j)
    return pairs


def _count_pairs(expected: _Parts, predicted: _Parts) -> dict[_Part, int]:
    """Counts how many pairs of elements share each value that both sides have."""
    first, second = (
        Counter(part for parts in side for part in parts) for side in (expected, predicted)
    )
    return {part: count * second[part] for part, count in first.items() if part in second}


def _group_by_parts(expected: _Parts, predicted: _Parts, counts: dict[_Part, int]) -> _Groups:
    """Groups elements by their rarest values that both sides have, and by each two of these."""
    groups: _Groups = defaultdict(lambda: ([], []))
    for side, elements in enumerate((expected, predicted)):
        for index, parts in enumerate(elements):
            shared = sorted((counts[part], part) for part in parts if part in counts)
            rarest = sorted(part for _, part in shared[:_N_RAREST])
            for key in (*combinations(rarest, 1), *combinations(rarest, 2)):
                groups[key][side].append(index)
    return {key: indexes for key, indexes in groups.items() if indexes[0] and indexes[1]}


def _take_free(pairs: Iterable[tuple[int, int]]) -> _Pairs:
    """Returns the pairs that share no index with one before them."""
    paired: tuple[set[int], set[int]] = (set(), set())
    found = []
    for i, j in pairs:
        if i not in paired[0] and j not in paired[1]:
            paired[0].add(i)
            paired[1].add(j)
            found.append((i, j))
    return found
